"""Rows of control flow: If, Loop and Scan with bodies that other rows fill, in each other, which see the values about them.

What only data decide (conditions, numbers of trips, sizes that change from round to round) comes from inputs whose content the generator knows.
"""
import numpy as np
from onnx import helper

import ops_data
import ops_functions
import ops_move
import ops_nn
import ops_simple
from graph import FLOATS, SIGNED, TEXT, UNSIGNED, Graph, Unfit, Value

ROWS_OF_BODIES = ops_simple.ROWS + ops_move.ROWS + ops_nn.ROWS + ops_functions.ROWS + ops_data.ROWS
ONE = np.float32
DEEPEST = 2  # a body within a body
CARRIED = (ONE,) * 6 + (np.float64, np.float16, np.int64, np.int32, np.uint8, np.bool_, TEXT)  # types of states


class Body(Graph):
    """A graph within a graph: names go on from the outer one's, and what would be an input is a constant, or the outermost graph's input."""

    def __init__(self, outer, parameters, seqs=()):
        self.outer, self.r, self.np, self.depth, self.known = outer, outer.r, outer.np, outer.depth + 1, outer.known
        self.opset, self.symbolic, self.sizes, self.functions = outer.opset, outer.symbolic, outer.sizes, outer.functions
        seen = outer.pool[-3:] + self.r.sample(outer.pool[:-3], min(2, len(outer.pool[:-3])))
        self.pool, self.nodes, self.constants, self.options = seen + parameters, [], [], []
        self.seqs = outer.seqs[-2:] + list(seqs)
        self.parameters, self.states = parameters, list(seqs)

    def fresh(self, stem):
        return self.outer.fresh(stem)

    def input(self, array, static=False):
        return Value(self.fixed(array), array.dtype.type, array.shape)

    def told(self, array):
        return self.outer.told(array)

    def loose(self, n):
        self.outer.loose(2)
        return super().loose(n)

    def fill(self, count):
        """Some nodes; what does not fit is left out."""
        rows = ROWS_OF_BODIES + (ROWS if self.depth < DEEPEST else [])
        functions, weights = zip(*rows)
        for _ in range(count):
            mark = self.mark()
            try:
                self.r.choices(functions, weights)[0](self)
            except (Unfit, IndexError, ValueError):
                self.back_to(mark)

    def like(self, value):
        """A value of this body with another one's type and shape, bounded."""
        fits = [v for v in self.pool if v.dtype is value.dtype and v.shape == value.shape]
        chosen = [self.r.choice(fits[-3:])]
        if value.dtype in FLOATS:
            op = "Tanh"
        elif value.dtype in SIGNED + UNSIGNED:
            op = "Clip"
            chosen += [self.fixed(np.array(n, value.dtype)) for n in (0, 5)]
        else:
            op = "Identity"
        return self.add(op, chosen, [(value.dtype, value.shape, value.dtype not in FLOATS)])

    def graph(self, outputs):
        parameters = [info(v) for v in self.parameters + self.states]
        graph = helper.make_graph(self.nodes, self.fresh("body"), parameters, [info(v) for v in outputs], self.constants)
        self.shadow(graph)
        return graph

    def shadow(self, graph):
        """Some parameters take names of outer values that this body does not read."""
        free = {v.name for v in self.outer.pool} - names_in(graph)
        if self.outer.depth:
            free -= {v.name for v in self.outer.parameters}
        for parameter in graph.input:
            if free and self.r.random() < 0.15:
                name = self.r.choice(sorted(free))
                free.remove(name)
                rename(graph, {parameter.name: name})


def bodies_of(node):
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def names_in(graph):
    """All names that a graph or one within it reads or makes."""
    names = {v.name for part in (graph.input, graph.output, graph.initializer) for v in part}
    for node in graph.node:
        names |= {*node.input, *node.output}
        for body in bodies_of(node):
            names |= names_in(body)
    return names


def rename(graph, to):
    for part in (graph.input, graph.output, graph.initializer):
        for item in part:
            item.name = to.get(item.name, item.name)
    for node in graph.node:
        node.input[:] = [to.get(name, name) for name in node.input]
        node.output[:] = [to.get(name, name) for name in node.output]
        for body in bodies_of(node):
            rename(body, to)


def info(value):
    element = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    tensor = helper.make_tensor_type_proto(element, [None] * value.rank)
    return helper.make_value_info(value.name, helper.make_sequence_type_proto(tensor) if hasattr(value, "shapes") else tensor)


def parameters(g):
    """The number of a round, and the condition, of a body."""
    return Value(g.fresh("i"), np.int64, ()), Value(g.fresh("go"), np.bool_, ())


def number(g, n):
    """An operand that is the number n, mostly for who looks at the data."""
    kind = g.r.random()
    if kind < 0.3 and g.opset >= 10:
        return g.add("Sub", [g.told(np.array(n + 2, np.int64)), g.fixed(np.array(2, np.int64))], [(np.int64, (), True)])
    if kind < 0.5:
        fits = [(v, k) for v in g.pool for k, size in enumerate(v.shape) if size == n]
        if fits:
            value, axis = g.r.choice(fits)
            shape = g.add("Shape", [value], [(np.int64, (value.rank,), True)])
            return g.add("Gather", [shape, g.fixed(np.array(axis, np.int64))], [(np.int64, (), True)])
    return g.told(np.array(n, np.int64))


def on(body, go):
    return body.add("Identity", [go], [(np.bool_, (), True)])


def hold_sizes(rounds, seen):
    """What no round stacks has no elements, of sizes that the standard leaves open."""
    if not rounds and seen.rank:
        raise Unfit


def carried(g, low=0, high=6):
    dtypes = {g.r.choice(CARRIED)}
    return g.pick(tuple(dtypes), low, high)


def choice(g):
    """If: both branches give the same type and shape; they may use the same names."""
    x = carried(g)
    branches = []
    for _ in range(2):
        body = Body(g, [])
        body.pool.append(x)
        body.fill(g.r.randint(0, 4))
        branches.append((body.graph([body.like(x)]), [o for n in body.nodes for o in n.output]))
    (first, names), (second, others) = branches
    if g.r.random() < 0.3:
        rename(second, dict(zip(others, names)))
    condition = [v for v in g.pool if v.dtype is np.bool_ and v.shape == ()]
    condition = g.r.choice(condition) if condition and g.r.random() < 0.7 else g.flag()[0]
    g.add("If", [condition], [(x.dtype, x.shape, x.dtype not in FLOATS)], then_branch=first, else_branch=second)


def choice_of_sizes(g):
    """If: the branches' results differ in their sizes."""
    x = carried(g, 1, 4)
    if g.opset < 11:  # the checker wants the same sizes of both branches
        raise Unfit
    condition, truth = g.flag()
    axis = g.r.randrange(x.rank)
    branches, sizes = [], []
    for _ in range(2):
        body = Body(g, [])
        kind = g.r.choice(("all", "twice", "part"))
        if kind == "all":
            result, n = body.add("Identity", [x], [(x.dtype, x.shape, x.exact)]), x.shape[axis]
        elif kind == "twice":
            n = 2 * x.shape[axis]
            result = body.add("Concat", [x, x], [(x.dtype, x.shape[:axis] + (n,) + x.shape[axis + 1:], x.exact)], axis=axis)
        else:
            n = min(x.shape[axis], 2)
            given = [body.fixed(np.array([v], np.int64)) for v in (0, 2, axis)]
            result = body.add("Slice", [x, *given], [(x.dtype, x.shape[:axis] + (n,) + x.shape[axis + 1:], x.exact)])
        branches.append(body.graph([result]))
        sizes.append(n)
    n = sizes[0 if truth else 1]
    if sizes[0] != sizes[1]:
        g.loose(n)
    g.add("If", [condition], [(x.dtype, x.shape[:axis] + (n,) + x.shape[axis + 1:], x.exact)], then_branch=branches[0], else_branch=branches[1])


def loop(g):
    """A state that is bounded in every round, and what a round saw; some loops end themselves, some only data end, some never run."""
    x, rounds = carried(g), g.r.choice((0, 1, 2, 3, 4, 2, 3))
    step, go = parameters(g)
    state = Value(g.fresh("s"), x.dtype, x.shape, x.dtype not in FLOATS)
    body = Body(g, [step, go, state])
    body.fill(g.r.randint(1, 5))
    seen = g.r.choice([v for v in body.pool if v.dtype in CARRIED and v.dtype is not TEXT])  # ONNX Runtime loses strings that it stacks
    shown = body.add("Identity", [seen], [(seen.dtype, seen.shape, seen.exact)])
    ends = g.r.randint(0, 3) if g.r.random() < 0.4 else None
    if ends is None:
        more = on(body, go)
    else:
        more = body.add("Less", [step, g.told(np.array(ends, np.int64))], [(np.bool_, (), True)])
    inner = body.graph([more, body.like(state), shown])
    bounded = ends is None or g.r.random() < 0.5
    most = (number(g, rounds) if g.r.random() < 0.5 else g.constant(np.array(rounds, np.int64))) if bounded else ""
    starts, start = ("", True) if g.r.random() < 0.2 else (g.constant(np.array(True)), True) if g.r.random() < 0.8 else g.flag()
    real = 0 if not start else min(rounds if bounded else 9, 9 if ends is None else ends + 1)
    hold_sizes(real, seen)
    g.loose(real)
    g.add("Loop", [most, starts, x], [(x.dtype, x.shape, x.dtype not in FLOATS), (seen.dtype, (real,) + seen.shape, seen.exact)], body=inner)


def growing(g):
    """A state that every round makes longer, until data say that it is enough."""
    x = carried(g, 1, 4)
    axis, rounds = g.r.randrange(x.rank), g.r.randint(0, 4)
    fits = [v for v in g.pool if v.dtype is x.dtype and v.rank == x.rank and v.shape[:axis] == x.shape[:axis] and v.shape[axis + 1:] == x.shape[axis + 1:]]
    piece = g.r.choice(fits)
    step, go = parameters(g)
    state = Value(g.fresh("s"), x.dtype, x.shape, x.exact)
    body = Body(g, [step, go])
    body.parameters = [step, go, state]
    last = state
    if x.dtype in FLOATS and g.r.random() < 0.5:
        last = body.node("Tanh", [state], 1)[0]
    longer = body.node("Concat", [last, piece] if g.r.random() < 0.5 else [piece, last], 1, axis=axis)[0]
    size = body.node("Size", [longer], 1)[0]
    shown = Value(size, np.int64, ())
    other = x.shape[:axis] + x.shape[axis + 1:]
    final = x.shape[axis] + rounds * piece.shape[axis]
    if g.r.random() < 0.4 and g.opset >= 9 and rounds:
        bound = (x.shape[axis] + (rounds - 1) * piece.shape[axis]) * int(np.prod(other)) + 1
        if piece.size == 0:
            raise Unfit
        more, most = body.add("Less", [shown, g.told(np.array(bound, np.int64))], [(np.bool_, (), True)]), ""
    else:
        more, most = on(body, go), number(g, rounds)
    inner = body.graph([more, Value(longer, x.dtype, x.shape), shown])
    g.loose(final)
    g.loose(rounds)
    g.add("Loop", [most, "", x], [(x.dtype, x.shape[:axis] + (final,) + x.shape[axis + 1:], x.exact and piece.exact and last is state),
                                  (np.int64, (rounds,), True)], body=inner)


def halving(g):
    """A state that every round cuts, as long as data allow."""
    x = g.pick((ONE, np.int64), 1, 3, test=lambda v: v.shape[0] > 2)
    if g.opset < 10:
        raise Unfit
    least = g.r.randint(2, x.shape[0])
    step, go = parameters(g)
    state = Value(g.fresh("s"), x.dtype, x.shape, x.exact)
    body = Body(g, [step, go])
    body.parameters = [step, go, state]
    zero, one, two = (body.fixed(np.array([v], np.int64)) for v in (0, 1, 2))
    n = body.node("Gather", [body.node("Shape", [state], 1)[0], zero], 1)[0]
    half = body.node("Div", [body.node("Add", [n, one], 1)[0], two], 1)[0]
    cut = body.node("Slice", [state, zero, half, zero], 1)[0]
    more = body.node("Greater", [body.node("Squeeze", [half, zero], 1)[0], g.told(np.array(least, np.int64))], 1)[0]
    inner = body.graph([Value(more, np.bool_, ()), Value(cut, x.dtype, x.shape), Value(half, np.int64, (1,))])
    size, rounds = x.shape[0], 0
    while not rounds or size > least:
        size, rounds = (size + 1) // 2, rounds + 1
    g.loose(size)
    g.loose(rounds)
    g.add("Loop", ["", "", x], [(x.dtype, (size,) + x.shape[1:], x.exact), (np.int64, (rounds, 1), True)], body=inner)


def triangle(g):
    """The inner loop runs as often as the outer one has: what it stacks has another length in each round."""
    x, rounds = g.pick((ONE,), 0, 3), g.r.randint(0, 4)
    hold_sizes(rounds, x)
    step, go = parameters(g)
    state = Value(g.fresh("s"), ONE, x.shape, False)
    outer = Body(g, [step, go, state])
    inner_step, inner_go = parameters(g)
    inner_state = Value(g.fresh("s"), ONE, x.shape, False)
    inner = Body(outer, [inner_step, inner_go, inner_state])
    moved = inner.add("Sub" if g.r.random() < 0.5 else "Add", [inner_state, x], [(ONE, x.shape, False)])
    inner.pool += [state]
    inner.fill(g.r.randint(0, 2))
    inner_graph = inner.graph([on(inner, inner_go), inner.add("Tanh", [moved], [(ONE, x.shape, False)]), inner.like(state)])
    trips = outer.node("Add", [step, outer.fixed(np.array(1, np.int64))], 1)[0]
    last, stack = outer.node("Loop", [trips, "", state], 2, body=inner_graph)
    total = outer.node("ReduceSum", [stack, outer.fixed(np.array([0], np.int64))], 1, keepdims=0)[0]
    mixed = outer.add("Add", [Value(last, ONE, x.shape), Value(total, ONE, x.shape)], [(ONE, x.shape, False)])
    inner_graph = outer.graph([on(outer, go), outer.add("Tanh", [mixed], [(ONE, x.shape, False)]), mixed])
    g.loose(rounds)
    g.add("Loop", [number(g, rounds), "", x], [(ONE, x.shape, False), (ONE, (rounds,) + x.shape, False)], body=inner_graph)


def scan(g):
    """Over one axis of one or two values; at times backwards, at times without a state."""
    if g.opset < 9:
        raise Unfit
    x = g.pick((ONE, ONE, np.int64, np.float64), 1, 4)
    axis = g.r.randrange(x.rank)
    part = x.shape[:axis] + x.shape[axis + 1:]
    hold_sizes(x.shape[axis], Value("", x.dtype, part))
    element = Value(g.fresh("e"), x.dtype, part, x.exact)
    scanned, axes, elements = [x], [axis], [element]
    others = [(v, k) for v in g.pool if v.dtype in CARRIED for k, n in enumerate(v.shape) if n == x.shape[axis]]
    if g.r.random() < 0.4:
        other, k = g.r.choice(others)
        scanned, axes = [x, other], [axis, k]
        elements.append(Value(g.fresh("e"), other.dtype, other.shape[:k] + other.shape[k + 1:], other.exact))
    has_state = g.r.random() < 0.8
    state = [Value(g.fresh("s"), x.dtype, part, x.exact and x.dtype not in FLOATS)] if has_state else []
    body = Body(g, state + elements)
    moved = [body.add("Add", [state[0], element], [(x.dtype, part, False)])] if has_state else []
    body.fill(g.r.randint(0, 4))
    inner = body.graph([body.like(m) for m in moved] + [body.like(element)])
    starts = [g.constant(g.draw(x.dtype, part))] if has_state else []
    whole = x.dtype not in FLOATS
    g.add("Scan", starts + scanned, [(x.dtype, part, whole)] * has_state + [(x.dtype, (x.shape[axis],) + part, whole)], body=inner,
          num_scan_inputs=len(scanned), scan_input_axes=axes, scan_input_directions=[g.r.randint(0, 1) for _ in axes],
          scan_output_directions=[g.r.randint(0, 1)])


ROWS = [(choice, 2), (choice_of_sizes, 1), (loop, 3), (growing, 1), (halving, 1), (triangle, 1), (scan, 2)]
