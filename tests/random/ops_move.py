"""Rows of operators that move data, choose places, count, and reduce."""
import numpy as np

from graph import ANY, EVERY, FLOATS, Unfit, broadcast

MOVED = EVERY
SUMMED = (np.float32, np.float64, np.int64, np.int32)


def ints(*values):
    return np.array(values, np.int64)


def transpose(g):
    x = g.pick(MOVED, 1)
    perm = list(range(x.rank))
    g.r.shuffle(perm)
    if g.r.random() < 0.2:
        g.add("Transpose", [x], [(x.dtype, x.shape[::-1], x.exact)])
    else:
        g.add("Transpose", [x], [(x.dtype, [x.shape[p] for p in perm], x.exact)], perm=perm)


def factors(g, n):
    """A shape with n elements."""
    shape = []
    while n > 1 and len(shape) < 4:
        divisors = [d for d in range(2, n + 1) if n % d == 0]
        shape.append(g.r.choice(divisors))
        n //= shape[-1]
    return shape + ([n] if n != 1 else []) or [1]


def reshape(g):
    x = g.pick(MOVED)
    if x.size == 0:
        raise Unfit
    to = factors(g, x.size)
    g.r.shuffle(to)
    written = list(to)
    if g.r.random() < 0.4:
        written[g.r.randrange(len(to))] = -1
    g.add("Reshape", [x, g.fixed(ints(*written))], [(x.dtype, to, x.exact)])


def reshape_by_shape(g):
    """A size computed from another tensor's shape, as exporters write it."""
    x = g.pick((np.float32,), 2, 4)
    rows = g.add("Gather", [g.add("Shape", [x], [(np.int64, (x.rank,), True)]), g.fixed(ints(0))], [(np.int64, (1,), True)])
    to = g.add("Concat", [rows, g.fixed(ints(-1))], [(np.int64, (2,), True)], axis=0)
    if x.size == 0:
        raise Unfit
    g.add("Reshape", [x, to], [(x.dtype, (x.shape[0], x.size // x.shape[0]), x.exact)])


def flatten(g):
    x = g.pick(MOVED, 1)
    axis = g.r.randint(-x.rank, x.rank)
    at = axis + x.rank if axis < 0 else axis
    g.add("Flatten", [x], [(x.dtype, (np.prod(x.shape[:at]), np.prod(x.shape[at:])), x.exact)], axis=axis)


def squeeze(g):
    if g.r.random() < 0.5:
        x = g.pick(MOVED, 1, test=lambda v: 1 in v.shape)
        axes = [k for k, n in enumerate(x.shape) if n == 1 and (g.symbolic or g.r.random() < 0.7)]
        g.add("Squeeze", [x, g.fixed(ints(*axes))] if axes else [x],
              [(x.dtype, [n for k, n in enumerate(x.shape) if (k not in axes if axes else n != 1)], x.exact)])
    else:
        x = g.pick(MOVED, 0, 4)
        axis = g.r.randint(0, x.rank)
        g.add("Unsqueeze", [x, g.fixed(ints(axis))], [(x.dtype, x.shape[:axis] + (1,) + x.shape[axis:], x.exact)])


def expand(g):
    x = g.pick(MOVED, 0, 3)
    to = tuple(n if n != 1 else g.r.choice((1, 2, 3)) for n in x.shape)
    if g.r.random() < 0.5:
        to = (g.r.choice((1, 2)),) + to
    asked = tuple(1 if g.r.random() < 0.2 else n for n in to)
    g.add("Expand", [x, g.fixed(ints(*asked))], [(x.dtype, broadcast(x.shape, asked), x.exact)])


def tile(g):
    x = g.pick(MOVED, 1, 4)
    times = [g.r.choice((1, 1, 2, 3)) for _ in x.shape]
    g.add("Tile", [x, g.fixed(ints(*times))], [(x.dtype, [n * t for n, t in zip(x.shape, times)], x.exact)])


def concat(g):
    x = g.pick(MOVED, 1)
    axis, written = g.axis(x)
    parts = [x]
    for _ in range(g.r.randint(1, 2)):
        fits = [v for v in g.pool if v.dtype is x.dtype and v.rank == x.rank and
                all(a == b for k, (a, b) in enumerate(zip(v.shape, x.shape)) if k != axis)]
        parts.append(g.r.choice(fits))
    g.r.shuffle(parts)
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    g.add("Concat", parts, [(x.dtype, shape, all(p.exact for p in parts))], axis=written)


def split(g):
    x = g.pick(MOVED, 1, test=lambda v: max(v.shape) > 1)
    axis = g.r.choice([k for k, n in enumerate(x.shape) if n > 1])
    cut = g.r.randint(1, x.shape[axis] - 1)
    shapes = [x.shape[:axis] + (g.cut(x.shape[axis], n),) + x.shape[axis + 1:] for n in (cut, x.shape[axis] - cut)]
    g.add("Split", [x, g.fixed(ints(cut, x.shape[axis] - cut))], [(x.dtype, s, x.exact) for s in shapes], axis=axis)


def slices(g):
    x = g.pick(MOVED, 1)
    axis, written = g.axis(x)
    n = x.shape[axis]
    step = g.r.choice((1, 1, 1, 2, -1, -2))
    start, end = g.r.randint(-n - 1, n), g.r.choice((g.r.randint(-n - 1, n), 2**62 if step > 0 else -2**62))
    shape = list(x.shape)
    shape[axis] = len(range(n)[start:end:step])
    if step < 0:
        at = min(max(start + n if start < 0 else start, 0), n - 1) if n else -1
        stop = min(max(end + n if end < 0 else end, -1), n - 1)
        shape[axis] = max(0, -(-(stop - at) // step)) if n else 0
    g.cut(n, shape[axis])
    given = [ints(start), ints(end), ints(written), ints(step)]
    g.add("Slice", [x, *map(g.fixed, given)], [(x.dtype, shape, x.exact)])


def pad(g):
    x = g.pick(ANY, 1, 4)
    mode = g.r.choice(("constant", "reflect", "edge"))
    low, high = ([g.r.choice((0, 0, 1, 2, -1)) for _ in x.shape] for _ in "ab")
    if mode != "constant":
        low, high = ([min(max(p, 0), n - 1) for p, n in zip(some, x.shape)] for some in (low, high))
    if any(n == 0 or n + a + b < 1 or n + min(a, 0) + min(b, 0) < 1 for n, a, b in zip(x.shape, low, high)):
        raise Unfit
    operands = [x, g.fixed(ints(*low, *high))] + ([g.constant(np.array(2, x.dtype))] if mode == "constant" and g.r.random() < 0.5 else [])
    g.add("Pad", operands, [(x.dtype, [n + a + b for n, a, b in zip(x.shape, low, high)], x.exact)], mode=mode)


def places(g, shape, n):
    """Indices below n, some counted from the end."""
    return np.asarray(g.np.integers(-n, n, shape), dtype=g.r.choice((np.int64, np.int32)))


def gather(g):
    x = g.pick(MOVED, 1, 4)
    axis, written = g.axis(x)
    n = x.shape[axis]
    if n == 0:
        raise Unfit
    if g.r.random() < 0.6:
        index = np.asarray(places(g, g.shape(0, 2), n))
        g.add("Gather", [x, g.constant(index)], [(x.dtype, x.shape[:axis] + index.shape + x.shape[axis + 1:], x.exact)], axis=written)
    else:
        shape = tuple(g.r.randint(1, m) if k != axis else g.r.randint(1, 4) for k, m in enumerate(x.shape)) if 0 not in x.shape else x.shape
        g.add("GatherElements", [x, g.constant(places(g, shape, n))], [(x.dtype, shape, x.exact)], axis=written)


def gather_nd(g):
    x = g.pick(MOVED, 2, 4)
    depth = g.r.randint(1, x.rank)
    if 0 in x.shape:
        raise Unfit
    rows = g.r.randint(1, 4)
    index = np.stack([g.np.integers(-n, n, rows) for n in x.shape[:depth]], -1).astype(np.int64)
    g.add("GatherND", [x, g.constant(index)], [(x.dtype, (rows,) + x.shape[depth:], x.exact)])


def scatter(g):
    x = g.pick((np.float32, np.int64), 1, 3, test=lambda v: 0 not in v.shape)
    axis, written = g.axis(x)
    shape = tuple(g.r.randint(1, n) for n in x.shape)
    rows = np.stack([g.np.permutation(x.shape[axis])[:shape[axis]] for _ in range(int(np.prod(shape)) // shape[axis])])
    index = np.moveaxis(rows.reshape([n for k, n in enumerate(shape) if k != axis] + [shape[axis]]), -1, axis).astype(np.int64)
    updates = g.constant(g.draw(x.dtype, shape))
    known = (None,) if g.opset < 16 else (None, "add", "mul") if g.opset < 18 else (None, "add", "mul", "max", "min")
    reduction = g.r.choice(known) if x.dtype is np.float32 else None
    g.add("ScatterElements", [x, g.constant(index), updates], [(x.dtype, x.shape, x.exact and reduction is None)], axis=written, reduction=reduction)


def one_hot(g):
    x = g.pick((np.int64,), 1, 3)
    depth = g.r.randint(2, 5)
    values = g.constant(np.array([0, 1], np.float32))
    g.add("OneHot", [x, g.fixed(np.array(depth, np.int64)), values], [(np.float32, x.shape + (depth,), True)])


def reduce(g):
    op = g.r.choice(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"))
    x = g.pick((np.float32,) if op in ("ReduceL2", "ReduceLogSumExp", "ReduceProd") else (np.float32, np.int32) if op != "ReduceMean" else (np.float32,), 1,
               test=lambda v: 0 not in v.shape)
    axes = sorted(g.r.sample(range(x.rank), g.r.randint(1, x.rank)))
    keep = g.r.randint(0, 1)
    everything = g.r.random() < 0.15
    dims = [1 if k in axes or everything else n for k, n in enumerate(x.shape) if keep or not (k in axes or everything)]
    written = ints(*(a - x.rank if g.r.random() < 0.3 else a for a in axes))
    exact = x.exact and (op in ("ReduceMax", "ReduceMin") or x.dtype is np.int32)
    if g.opset < 18 and op != "ReduceSum":
        g.add(op, [x], [(x.dtype, dims, exact)], keepdims=keep, axes=None if everything else written.tolist())
    else:
        g.add(op, [x] if everything else [x, g.fixed(written)], [(x.dtype, dims, exact)], keepdims=keep)


def arg(g):
    x = g.pick((np.float32, np.int32), 1, exact=True, test=lambda v: 0 not in v.shape)
    axis, written = g.axis(x)
    keep = g.r.randint(0, 1)
    dims = [1 if k == axis else n for k, n in enumerate(x.shape) if keep or k != axis]
    g.add(g.r.choice(("ArgMax", "ArgMin")), [x], [(np.int64, dims, True)], axis=written, keepdims=keep, select_last_index=g.r.randint(0, 1))


def cumulative(g):
    x = g.pick(SUMMED, 1)
    axis, written = g.axis(x)
    g.add("CumSum", [x, g.constant(np.array(written, np.int64))], [(x.dtype, x.shape, x.exact and x.dtype not in FLOATS)],
          exclusive=g.r.randint(0, 1), reverse=g.r.randint(0, 1))


def top_k(g):
    x = g.pick((np.float32,), 1, exact=True, test=lambda v: 0 not in v.shape)
    axis, written = g.axis(x)
    k = g.r.randint(1, x.shape[axis])
    shape = x.shape[:axis] + (k,) + x.shape[axis + 1:]
    g.add("TopK", [x, g.fixed(ints(k))], [(x.dtype, shape, True), (np.int64, shape, True)], axis=written, largest=g.r.randint(0, 1))


def triangle(g):
    x = g.pick(MOVED, 2, 4)
    g.add("Trilu", [x, g.constant(np.array(g.r.randint(-2, 2), np.int64))], [(x.dtype, x.shape, x.exact)], upper=g.r.randint(0, 1))


def sizes(g):
    x = g.pick(ANY)
    if g.r.random() < 0.5:
        g.add("Size", [x], [(np.int64, (), True)])
    else:
        shape = g.add("Shape", [x], [(np.int64, (x.rank,), True)])
        if x.rank and g.r.random() < 0.6:
            g.add("ConstantOfShape", [shape], [(np.float32, x.shape, True)])


ROWS = [(transpose, 3), (reshape, 3), (reshape_by_shape, 1), (flatten, 1), (squeeze, 2), (expand, 1), (tile, 1), (concat, 3), (split, 2),
        (slices, 3), (pad, 2), (gather, 3), (gather_nd, 1), (scatter, 2), (one_hot, 1), (reduce, 4), (arg, 1), (cumulative, 1), (top_k, 1),
        (triangle, 1), (sizes, 1)]
