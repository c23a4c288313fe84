"""Rows of sequences and optionals: made, split, changed at places that data tell, mapped, carried by loops, chosen by branches."""
import numpy as np
from onnx import helper

from graph import REALS, TEXT, Seq, Unfit, Value
from ops_control import Body, info, number, on, parameters

HELD = (np.float32,) * 5 + (np.int64, np.float64, np.int32, np.bool_, TEXT, np.uint8)


def some(g):
    """A type that a sequence may hold here."""
    dtype = g.r.choice(HELD)
    return g.pick((dtype,), 0, 4)


def made(g, op, inputs, kind, shapes, rank, exact, **attributes):
    name = g.node(op, inputs, 1, **attributes)[0]
    seq = Seq(name, kind, [tuple(int(n) for n in s) for s in shapes], rank, exact)
    g.seqs.append(seq)
    return seq


def alike(g, dtype, rank):
    return [v for v in g.pool if v.dtype is dtype and v.rank == rank]


def construct(g):
    x = some(g)
    items = [x] + [g.r.choice(alike(g, x.dtype, x.rank)) for _ in range(g.r.randint(0, 3))]
    g.r.shuffle(items)
    made(g, "SequenceConstruct", items, x.dtype, [v.shape for v in items], x.rank, all(v.exact for v in items))


def empty(g):
    x = some(g)
    seq = made(g, "SequenceEmpty", [], x.dtype, [], x.rank, True, dtype=helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)))
    if g.r.random() < 0.7:
        made(g, "SequenceInsert", [seq, x], x.dtype, [x.shape], x.rank, x.exact)


def split(g):
    x = g.pick((np.float32, np.int64, np.int32, np.float64, TEXT), 1, 4)
    axis, written = g.axis(x)
    n, kind = x.shape[axis], g.r.choice(("each", "flat", "by", "sizes"))
    rest = x.shape[:axis], x.shape[axis + 1:]
    sizes, operands, attributes = [1] * n, [x], {}
    if kind == "by":
        by = g.r.randint(1, 3)
        sizes = [min(by, n - at) for at in range(0, n, by)]
        operands.append(g.told(np.array(by, np.int64)))
    elif kind == "sizes":
        cut = g.r.randint(0, n)
        sizes = [cut, n - cut]
        operands.append(g.told(np.array(sizes, np.int64)))
    elif kind == "flat":
        attributes["keepdims"] = 0
    shapes = [rest[0] + (() if kind == "flat" else (size,)) + rest[1] for size in sizes]
    made(g, "SplitToSequence", operands, x.dtype, shapes, x.rank - (kind == "flat"), x.exact, axis=written, **attributes)


def sequence(g, test=None):
    fits = [s for s in g.seqs if not test or test(s)]
    if not fits:
        raise Unfit
    return g.r.choice(fits[-4:])


def place(g, n):
    """(index from the front, operand) of a place among n."""
    at = g.r.randint(-n, n - 1)
    array = np.array(at, g.r.choice((np.int64, np.int32)))
    return at % n, (g.told(array) if g.r.random() < 0.6 else g.constant(array))


def insert(g):
    s = sequence(g)
    fits = alike(g, s.dtype, s.rank)
    x = g.r.choice(fits)
    shapes, operands = list(s.shapes), [s, x]
    if shapes and g.r.random() < 0.6:
        at, operand = place(g, len(shapes))
        shapes.insert(at, x.shape)
        operands.append(operand)
    else:
        shapes.append(x.shape)
    made(g, "SequenceInsert", operands, s.dtype, shapes, s.rank, s.exact and x.exact)


def erase(g):
    s = sequence(g, lambda s: s.shapes)
    shapes, operands, at = list(s.shapes), [s], len(s.shapes) - 1
    if g.r.random() < 0.6:
        at, operand = place(g, len(shapes))
        operands.append(operand)
    del shapes[at]
    made(g, "SequenceErase", operands, s.dtype, shapes, s.rank, s.exact)


def taken(g, shape):
    """Sizes of what comes out of a sequence: only data know them."""
    for n in shape:
        g.loose(n)
    return shape


def at(g):
    s = sequence(g, lambda s: s.shapes)
    k, operand = place(g, len(s.shapes))
    g.add("SequenceAt", [s, operand], [(s.dtype, taken(g, s.shapes[k]), s.exact)])


def length(g):
    g.add("SequenceLength", [sequence(g)], [(np.int64, (), True)])


def concat(g):
    s = sequence(g, lambda s: s.shapes and s.rank < 4)
    first = s.shapes[0]
    if all(shape == first for shape in s.shapes) and g.r.random() < 0.4:
        axis = g.r.randint(0, s.rank)
        shape = first[:axis] + (len(s.shapes),) + first[axis:]
        g.add("ConcatFromSequence", [s], [(s.dtype, taken(g, shape), s.exact)], axis=axis, new_axis=1)
        return
    axes = [k for k in range(s.rank) if len({shape[:k] + shape[k + 1:] for shape in s.shapes}) == 1]
    axis = g.r.choice(axes)
    shape = first[:axis] + (sum(shape[axis] for shape in s.shapes),) + first[axis + 1:]
    g.add("ConcatFromSequence", [s], [(s.dtype, taken(g, shape), s.exact)], axis=axis)


def mapped(g):
    """SequenceMap, with one more operand that is a sequence as well or the same tensor in every round."""
    s = sequence(g, lambda s: s.dtype is np.float32)
    item = Value(g.fresh("e"), s.dtype, tuple(3 for _ in range(s.rank)), s.exact)
    others = [v for v in g.pool if v.dtype is np.float32 and v.shape == ()] if g.r.random() < 0.5 else []
    body = Body(g, [item])
    more = []
    if others:
        more = [g.r.choice(others)]
        body.parameters = [item, Value(g.fresh("e"), np.float32, (), False)]
    out = body.node(g.r.choice(("Neg", "Relu", "Tanh", "Abs")), [item], 1)[0]
    if more:
        out = body.node(g.r.choice(("Add", "Mul")), [out, body.parameters[1]], 1)[0]
    size = body.node("Size", [item], 1)[0]
    inner = body.graph([Value(out, s.dtype, item.shape), Value(size, np.int64, ())])
    names = g.node("SequenceMap", [s, *more], 2, body=inner)
    g.seqs += [Seq(names[0], s.dtype, s.shapes, s.rank, False), Seq(names[1], np.int64, [() for _ in s.shapes], 0, True)]


def gathered(g):
    """A loop that carries a sequence and puts something in it in every round; at times it takes something out, too."""
    x = some(g)
    fits = [s for s in g.seqs if s.dtype is x.dtype and s.rank == x.rank]
    start = g.r.choice(fits) if fits and g.r.random() < 0.6 else made(g, "SequenceEmpty", [], x.dtype, [], x.rank, True,
                                                                     dtype=helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)))
    rounds = g.r.randint(0, 4)
    step, go = parameters(g)
    state = Seq(g.fresh("q"), x.dtype, [], x.rank, False)
    body = Body(g, [step, go], [state])
    body.seqs = []
    body.pool.append(x)
    body.fill(g.r.randint(0, 3))
    item = g.r.choice(alike(body, x.dtype, x.rank))
    front, erased = g.r.random() < 0.4, g.r.random() < 0.3
    shapes = list(start.shapes)
    for _ in range(rounds):
        shapes.insert(0 if front and shapes else len(shapes), item.shape)
        if erased and len(shapes) > 1:
            shapes.pop()
    if erased and not start.shapes:
        raise Unfit  # the first round would take out what it put in
    if front and not start.shapes:
        raise Unfit
    longer = body.node("SequenceInsert", [state, item] + ([body.fixed(np.array(0, np.int64))] if front else []), 1)[0]
    longer = Seq(longer, x.dtype, [], x.rank, False)
    if erased:
        longer = Seq(body.node("SequenceErase", [longer], 1)[0], x.dtype, [], x.rank, False)
    count = Value(body.node("SequenceLength", [longer], 1)[0], np.int64, ())
    inner = body.graph([on(body, go), longer, count])
    g.loose(rounds)
    names = g.node("Loop", [number(g, rounds), "", start], 2, body=inner)
    g.seqs.append(Seq(names[0], x.dtype, shapes, x.rank, start.exact and item.exact))
    g.pool.append(Value(names[1], np.int64, (rounds,)))


def chosen(g):
    """If: one sequence or another one."""
    s = sequence(g)
    fits = [t for t in g.seqs if t.dtype is s.dtype and t.rank == s.rank]
    both = [s, g.r.choice(fits)]
    condition, truth = g.flag()
    branches = []
    for one in both:
        body = Body(g, [])
        name = body.node("Identity", [one], 1)[0]
        branches.append(body.graph([Seq(name, s.dtype, one.shapes, s.rank)]))
    name = g.node("If", [condition], 1, then_branch=branches[0], else_branch=branches[1])[0]
    g.seqs.append(Seq(name, s.dtype, both[0 if truth else 1].shapes, s.rank, all(b.exact for b in both)))


def given(g):
    """A sequence that the caller passes."""
    dtype, rank = g.r.choice(HELD), g.r.randint(0, 3)
    items = [g.draw(dtype, tuple(g.r.choice((0, 1, 2, 3, 4)) for _ in range(rank))) for _ in range(g.r.randint(0, 3))]
    if g.depth:
        raise Unfit
    seq = Seq(g.fresh("x"), dtype, [i.shape for i in items], rank)
    g.inputs.append(seq)
    g.data.append([np.asarray(i) for i in items])
    g.seqs.append(seq)


def optional(g):
    """An optional of a tensor: asked, and opened; at times the caller's."""
    if g.opset < 16 or g.depth:
        raise Unfit
    if g.r.random() < 0.5:
        x = some(g)
        held = Seq(g.node("Optional", [x], 1)[0], x.dtype, [x.shape], x.rank, x.exact, wrapper="optional({})")
        there = True
    else:
        dtype, rank, there = g.r.choice(HELD), g.r.randint(0, 3), g.r.random() < 0.6
        array = g.draw(dtype, tuple(g.r.choice((2, 3, 4)) for _ in range(rank)))
        held = Seq(g.fresh("x"), dtype, [array.shape], rank, wrapper="optional({})")
        g.inputs.append(held)
        g.data.append(array if there else None)
    g.options.append(held)
    has = g.add("OptionalHasElement", [held], [(np.bool_, (), True)])
    if there and g.r.random() < 0.8:
        g.add("OptionalGetElement", [held], [(held.dtype, taken(g, held.shapes[0]), held.exact)])
    elif not there and held.rank == 1 and held.dtype is np.float32:
        filled(g, has, held)


def filled(g, has, held):
    """What an optional holds, or something else where it holds nothing."""
    full, other = Body(g, []), Body(g, [])
    name = full.node("OptionalGetElement", [held], 1)[0]
    array = g.draw(held.dtype, (2,))
    value = Value(other.node("Identity", [Value(other.fixed(array), held.dtype, (2,))], 1)[0], held.dtype, (2,))
    g.loose(2)
    g.add("If", [has], [(held.dtype, (2,), True)], then_branch=full.graph([Value(name, held.dtype, (2,))]), else_branch=other.graph([value]))


ROWS = [(construct, 2), (empty, 1), (split, 2), (insert, 2), (erase, 1), (at, 3), (length, 1), (concat, 2), (mapped, 1), (gathered, 2), (chosen, 1),
        (given, 1), (optional, 1)]
