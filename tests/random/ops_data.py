"""Rows of results whose sizes only data tell, and of strings."""
import numpy as np

from graph import EVERY, TEXT, Unfit, broadcast

INDEX = np.int64


def told(g, *values, dtype=INDEX):
    return g.told(np.array(values, dtype))


def loosely(g, shape):
    """A shape that data tell."""
    for n in shape:
        g.loose(n)
    return shape


def count(g):
    """Range, OneHot's depth, ConstantOfShape: numbers become sizes."""
    n, kind = g.r.choice((0, 2, 3, 5)), g.r.choice(("Range", "ConstantOfShape", "NonZero"))
    g.loose(n)
    if kind == "Range":
        step = g.r.choice((1, 2, -1))
        g.add("Range", [g.told(np.array(v, INDEX)) for v in (1, 1 + n * step, step)], [(INDEX, (n,), True)])
    elif kind == "ConstantOfShape":
        g.add("ConstantOfShape", [told(g, 2, n)], [(np.float32, loosely(g, (2, n)), True)])
    else:
        flags = np.zeros((3, 4), np.float32)
        flags.reshape(-1)[g.np.permutation(12)[:n]] = 1
        g.add("NonZero", [g.told(flags)], [(INDEX, (2, n), True)])


def chosen(g):
    """Compress and Unique."""
    x = g.pick(EVERY, 1, 3)
    axis, written = g.axis(x)
    keep = g.np.integers(0, 2, x.shape[axis]).astype(bool)
    n = int(keep.sum())
    g.loose(n)
    picked = g.add("Compress", [x, g.told(keep)], [(x.dtype, x.shape[:axis] + (n,) + x.shape[axis + 1:], x.exact)], axis=written)
    if g.opset >= 11 and g.r.random() < 0.4:
        array = g.draw(g.r.choice((np.float32, np.int64)), (g.r.randint(2, 6),))
        unique = np.unique(array)
        g.loose(len(unique))
        g.add("Unique", [g.told(array)], [(array.dtype.type, unique.shape, True), (INDEX, unique.shape, True), (INDEX, array.shape, True), (INDEX, unique.shape, True)])
    return picked


def moved(g):
    """Slice, Expand, Tile, Reshape, Pad whose numbers are data."""
    x = g.pick(EVERY, 1, 3)
    kind = g.r.choice(("Slice", "Expand", "Tile", "Reshape", "Pad"))
    if kind == "Slice":
        axis, written = g.axis(x)
        n = x.shape[axis]
        start, step = g.r.randint(-n - 1, n), g.r.choice((1, 2))
        end = g.r.randint(-n - 1, n + 1)
        left = len(range(n)[start:end:step])
        shape = x.shape[:axis] + (left,) + x.shape[axis + 1:]
        g.loose(left)
        g.add("Slice", [x, told(g, start), told(g, end), g.fixed(np.array([written])), told(g, step)], [(x.dtype, shape, x.exact)])
    elif kind == "Expand":
        to = tuple(n if n != 1 else g.r.choice((2, 3)) for n in x.shape)
        asked = (2,) + to if g.r.random() < 0.5 else to
        g.add("Expand", [x, told(g, *asked)], [(x.dtype, loosely(g, broadcast(x.shape, asked)), x.exact)])
    elif kind == "Tile":
        times = [g.r.choice((0, 1, 2, 3)) for _ in x.shape]
        g.add("Tile", [x, told(g, *times)], [(x.dtype, loosely(g, tuple(n * t for n, t in zip(x.shape, times))), x.exact)])
    elif kind == "Reshape":
        if x.size == 0:
            raise Unfit
        to = (x.size // x.shape[-1], x.shape[-1])
        written = (-1, x.shape[-1]) if g.r.random() < 0.5 else to
        g.add("Reshape", [x, told(g, *written)], [(x.dtype, loosely(g, to), x.exact)])
    else:
        low, high = ([g.r.choice((0, 1, 2)) for _ in x.shape] for _ in "ab")
        g.add("Pad", [x, told(g, *low, *high)], [(x.dtype, loosely(g, tuple(n + a + b for n, a, b in zip(x.shape, low, high))), x.exact)])


def words(g):
    """Strings joined, normalised, matched, made of numbers and back."""
    x = g.pick((TEXT,), 0, 3)
    kind = g.r.choice(("StringConcat", "StringNormalizer", "RegexFullMatch", "StringSplit"))
    if kind == "StringConcat":
        y = g.partner(x)
        g.add(kind, [x, y], [(TEXT, broadcast(x.shape, y.shape), True)])
    elif kind == "StringNormalizer":
        if x.rank != 1 or x.size == 0:
            raise Unfit
        g.add(kind, [x], [(TEXT, x.shape, True)], case_change_action=g.r.choice(("UPPER", "LOWER", "NONE")))
    elif kind == "RegexFullMatch":
        g.add(kind, [x], [(np.bool_, x.shape, True)], pattern=g.r.choice(("a|b", "[a-z ]*", ".*w.*", "x{40}")))
    else:
        n = 3
        text = np.array(["a b c", "one", "", " x  y "], dtype=object)
        g.add(kind, [g.told(text)], [(TEXT, (4, n), True), (INDEX, (4,), True)])
        g.loose(n)


ROWS = [(count, 1), (chosen, 1), (moved, 3), (words, 1)]
