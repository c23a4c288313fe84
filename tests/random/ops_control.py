"""Rows of control flow: If, Loop and Scan with bodies that other rows fill, which see the values about them."""
import numpy as np
from onnx import helper

import ops_move
import ops_nn
import ops_simple
from graph import Graph, Unfit, Value

ROWS_OF_BODIES = ops_simple.ROWS + ops_move.ROWS + ops_nn.ROWS
ONE = np.float32


class Body(Graph):
    """A graph within a graph: names go on from the outer one's, and what would be an input is a constant."""

    def __init__(self, outer, parameters):
        self.outer, self.r, self.np = outer, outer.r, outer.np
        self.opset, self.symbolic, self.sizes, self.functions = outer.opset, outer.symbolic, outer.sizes, outer.functions
        self.pool, self.nodes, self.constants = outer.pool[-4:] + parameters, [], []
        self.parameters, self.seen = parameters, len(self.pool)

    def fresh(self, stem):
        return self.outer.fresh(stem)

    def input(self, array, static=False):
        return Value(self.fixed(array), array.dtype.type, array.shape)

    def fill(self, count):
        """Some nodes; what does not fit is left out."""
        functions, weights = zip(*ROWS_OF_BODIES)
        for _ in range(count):
            mark = len(self.nodes), len(self.pool), len(self.constants), len(self.functions)
            try:
                self.r.choices(functions, weights)[0](self)
            except (Unfit, IndexError, ValueError):
                del self.nodes[mark[0]:], self.pool[mark[1]:], self.constants[mark[2]:], self.functions[mark[3]:]

    def like(self, value):
        """A value of this body with another one's type and shape, bounded."""
        fits = [v for v in self.pool if v.dtype is value.dtype and v.shape == value.shape]
        return self.add("Tanh", [self.r.choice(fits[-3:])], [(value.dtype, value.shape, False)])

    def graph(self, outputs):
        return helper.make_graph(self.nodes, self.fresh("body"), [info(v) for v in self.parameters], [info(v) for v in outputs], self.constants)


def info(value):
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype)), [None] * value.rank)


def choice(g):
    """If: both branches give the same type and shape."""
    x = g.pick((ONE,))
    branches = []
    for _ in range(2):
        body = Body(g, [])
        body.pool.append(x)
        body.fill(g.r.randint(0, 4))
        branches.append(body.graph([body.like(x)]))
    condition = [v for v in g.pool if v.dtype is np.bool_ and v.shape == ()]
    condition = g.r.choice(condition) if condition else g.input(np.array(g.r.random() < 0.5))
    g.add("If", [condition], [(ONE, x.shape, False)], then_branch=branches[0], else_branch=branches[1])


def loop(g):
    """A state that is bounded in every round, and what a round saw; some loops end themselves."""
    x, rounds = g.pick((ONE,)), g.r.randint(1, 4)
    step, go, state = Value(g.fresh("i"), np.int64, ()), Value(g.fresh("go"), np.bool_, ()), Value(g.fresh("s"), ONE, x.shape, False)
    body = Body(g, [step, go, state])
    body.fill(g.r.randint(1, 5))
    seen = g.r.choice([v for v in body.pool if v.dtype is ONE])
    shown = body.add("Identity", [seen], [(seen.dtype, seen.shape, False)])
    ends = g.r.randint(0, 3) if g.r.random() < 0.3 else None
    if ends is None:
        on = body.add("Identity", [go], [(np.bool_, (), True)])
    else:
        on = body.add("Less", [step, body.fixed(np.array(ends, np.int64))], [(np.bool_, (), True)])
        rounds = min(rounds, ends + 1)
    body = body.graph([on, body.like(state), shown])
    most = g.constant(np.array(rounds if ends is None else 4, np.int64)) if ends is None or g.r.random() < 0.5 else ""
    if ends is not None:
        rounds = min(ends + 1, 4) if most else ends + 1
    g.add("Loop", [most, g.constant(np.array(True)), x], [(ONE, x.shape, False), (ONE, (rounds,) + seen.shape, False)], body=body)


def scan(g):
    """Over the first axis, or another one; at times backwards."""
    x = g.pick((ONE,), 1, 4, test=lambda v: 0 not in v.shape)
    axis = g.r.randrange(x.rank)
    part = x.shape[:axis] + x.shape[axis + 1:]
    state, element = Value(g.fresh("s"), ONE, part, False), Value(g.fresh("e"), ONE, part, x.exact)
    body = Body(g, [state, element])
    moved = body.add("Add", [state, element], [(ONE, part, False)])
    body.fill(g.r.randint(0, 4))
    body = body.graph([body.like(moved), body.like(element)])
    start = g.constant(g.draw(ONE, part))
    g.add("Scan", [start, x], [(ONE, part, False), (ONE, (x.shape[axis],) + part, False)], body=body, num_scan_inputs=1,
          scan_input_axes=[axis], scan_input_directions=[g.r.randint(0, 1)], scan_output_directions=[g.r.randint(0, 1)])


ROWS = [(choice, 2), (loop, 2), (scan, 1)]
