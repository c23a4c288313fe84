"""Changes of models with control flow: what bodies compute, how often they run, what they see, what is nested in what.

A mutation picks its place by chance and raises Unfit where it finds none. It keeps names unique, and need not ask whether the model stays
valid: the checker and the oracle are asked afterwards, and what they refuse is drawn again.
"""
import copy
import random

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE)
FAMILIES = [("Add", "Sub", "Mul", "Max", "Min"), ("Less", "Greater"), ("Relu", "Neg", "Abs", "Identity", "Tanh"), ("And", "Or"),
            ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean")]
LOCAL = "castnet.mutants"  # the domain of functions that segments become


class Unfit(Exception):
    """No place for this mutation here."""


def bodies_of(node):
    """Graphs that a node holds."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g


def walk(graph, outer=()):
    """(graph, names seen about it), this one and all within."""
    yield graph, list(outer)
    seen = [*outer, *(i.name for i in graph.input), *(t.name for t in graph.initializer)]
    for node in graph.node:
        for body in bodies_of(node):
            yield from walk(body, seen)
        seen += [name for name in node.output if name]


def made(nodes):
    """Names that nodes define, those within their bodies too."""
    names = {name for node in nodes for name in node.output if name}
    for node in nodes:
        for body in bodies_of(node):
            names |= {i.name for i in body.input} | {t.name for t in body.initializer} | made(body.node)
    return names


def used(nodes):
    names = {name for node in nodes for name in node.input if name}
    for node in nodes:
        for body in bodies_of(node):
            names |= used(body.node) | {o.name for o in body.output}
    return names


def rename(nodes, to):
    for node in nodes:
        node.input[:] = [to.get(name, name) for name in node.input]
        node.output[:] = [to.get(name, name) for name in node.output]
        for body in bodies_of(node):
            for part in (body.input, body.output, body.initializer):
                for item in part:
                    item.name = to.get(item.name, item.name)
            rename(body.node, to)


class Mutant:
    """A model, the inputs of one call by name, and the luck that changes them."""

    def __init__(self, seed, model, feeds):
        self.r, self.np = random.Random(seed), np.random.default_rng(seed)
        self.model, self.feeds, self.count = copy.deepcopy(model), dict(feeds), 0
        self.done = []
        self.learn()

    def fresh(self, stem="m"):
        self.count += 1
        return f"{stem}_{self.count}"

    def learn(self):
        """Types of all values, as far as onnx knows them."""
        self.types = {}
        for graph, _ in walk(onnx.shape_inference.infer_shapes(self.model).graph):
            for info in [*graph.input, *graph.output, *graph.value_info]:
                self.types[info.name] = info.type
            for t in graph.initializer:
                self.types[t.name] = helper.make_tensor_type_proto(t.data_type, t.dims)
            for node in graph.node:
                if node.op_type == "Constant" and node.attribute[0].type == AttributeProto.TENSOR:
                    t = node.attribute[0].t
                    self.types[node.output[0]] = helper.make_tensor_type_proto(t.data_type, t.dims)

    def element(self, name):
        """Element type of a tensor, else 0."""
        kind = self.types.get(name)
        return kind.tensor_type.elem_type if kind is not None and kind.HasField("tensor_type") else 0

    def rank(self, name):
        kind = self.types[name].tensor_type
        return len(kind.shape.dim) if kind.HasField("shape") else -1

    def hold_ranks(self):
        """States that change their rank on the way are not of interest."""
        for graph, _ in walk(self.model.graph):
            for node in graph.node:
                if node.op_type == "Loop":
                    states = zip(node.input[2:], next(bodies_of(node)).output[1:])
                    if any(self.element(a) and self.element(b.name) and -1 < self.rank(a) != self.rank(b.name) > -1 for a, b in states):
                        raise Unfit

    def places(self, inner=True):
        """Graphs to change, those within others first of all."""
        graphs = [place for place in walk(self.model.graph) if place[0].node]
        within = graphs[1:]
        return within if inner and within else graphs

    def place(self, inner=True):
        return self.r.choice(self.places(inner))

    def declare(self, name, shaped=False):
        """A body's parameter or result with what is known of its type; sizes are left open."""
        if name not in self.types:
            raise Unfit
        info = onnx.ValueInfoProto(name=name)
        info.type.CopyFrom(self.types[name])
        if not shaped and info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
        return info

    def constant(self, graph, at, array, stem="k"):
        name = self.fresh(stem)
        graph.node.insert(at, helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array))))
        return name

    def draw(self, dtype, shape):
        if dtype.kind == "f":
            return np.asarray(self.np.integers(-8, 9, shape) / 8, dtype)
        return np.asarray(self.np.integers(0, 2 if dtype.kind == "b" else 5, shape), dtype)


# ---- what bodies compute ----
def other_operator(m):
    graph, _ = m.place()
    nodes = [(n, family) for n in graph.node for family in FAMILIES if n.op_type in family]
    if not nodes:
        raise Unfit
    node, family = m.r.choice(nodes)
    if m.element(node.output[0]) not in FLOATS and family[0] in ("Relu", "Add"):
        family = ("Neg", "Abs", "Identity") if family[0] == "Relu" else family[:3]
    if m.element(node.output[0]) == TensorProto.BOOL and family[0] == "Neg":
        family = ("Identity", "Not")
    node.op_type = m.r.choice([op for op in family if op != node.op_type])


def more_steps(m):
    """One more function on what a node gives, before others read it."""
    graph, _ = m.place()
    targets = [(k, n) for k, n in enumerate(graph.node) if any(m.element(o) in (*FLOATS, TensorProto.INT64, TensorProto.BOOL) for o in n.output)]
    if not targets:
        raise Unfit
    at, node = m.r.choice(targets)
    slot = m.r.choice([i for i, o in enumerate(node.output) if m.element(o) in (*FLOATS, TensorProto.INT64, TensorProto.BOOL)])
    name, before, kind = node.output[slot], m.fresh(), m.element(node.output[slot])
    node.output[slot] = before
    ops = ("Neg", "Abs", "Relu", "Tanh", "Identity") if kind in FLOATS else ("Identity", "Not") if kind == TensorProto.BOOL else ("Identity", "Abs")
    graph.node.insert(at + 1, helper.make_node(m.r.choice(ops), [before], [name]))


def other_constants(m):
    graph, _ = m.place()
    places = {name for n in graph.node if n.op_type.startswith("Gather") for name in n.input[1:]}
    tensors = [n.attribute[0].t for n in graph.node if n.op_type == "Constant" and n.attribute[0].type == AttributeProto.TENSOR and
               n.output[0] not in places]
    tensors += list(graph.initializer)
    if not tensors:
        raise Unfit
    tensor = m.r.choice(tensors)
    array = numpy_helper.to_array(tensor)
    changed = m.draw(array.dtype, array.shape) if array.dtype.kind in "fb" else array + np.asarray(m.r.choice((-1, 1)), array.dtype)
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(changed, array.dtype), tensor.name))


# ---- what they see ----
def captured(m):
    """An operand joined with a value from outside."""
    graph, outer = m.place()
    pairs = [(k, slot, o) for k, n in enumerate(graph.node) for slot, name in enumerate(n.input) if m.element(name) in FLOATS
             for o in outer if o != name and m.element(o) == m.element(name) and 0 <= m.rank(o) <= m.rank(name)]
    if not pairs:
        raise Unfit
    at, slot, other = m.r.choice(pairs)
    name, node = m.fresh(), graph.node[at]
    operands = [node.input[slot], other]
    node.input[slot] = name
    graph.node.insert(at, helper.make_node(m.r.choice(("Add", "Sub", "Mul")), operands, [name]))


def other_capture(m):
    """Another value from outside in the place of one."""
    graph, outer = m.place()
    pairs = [(n, slot, o) for n in graph.node for slot, name in enumerate(n.input) if name in outer
             for o in outer if o != name and m.element(o) and m.element(o) == m.element(name) and m.rank(o) == m.rank(name)]
    if not pairs:
        raise Unfit
    node, slot, other = m.r.choice(pairs)
    node.input[slot] = other


def outer_as_result(m):
    """A body gives a value from outside as it is."""
    graph, outer = m.place()
    pairs = [(o, name) for o in graph.output for name in outer if m.element(name) and m.element(name) == m.element(o.name) and m.rank(name) == m.rank(o.name)]
    if not pairs:
        raise Unfit
    result, name = m.r.choice(pairs)
    for node in graph.node:
        node.output[:] = [m.fresh("unused") if o == result.name else o for o in node.output]
    graph.node.append(helper.make_node("Identity", [name], [result.name]))


# ---- how often they run ----
def loops(m, op="Loop"):
    found = [(graph, k, n) for graph, _ in walk(m.model.graph) for k, n in enumerate(graph.node) if n.op_type == op]
    if not found:
        raise Unfit
    return m.r.choice(found)


def other_trips(m):
    graph, at, node = loops(m)
    node.input[0] = m.constant(graph, at, np.array(m.r.randint(0, 4), np.int64), "trips")


def ends_early(m):
    """The body's condition falls after some iterations."""
    _, _, node = loops(m)
    body = next(bodies_of(node))
    condition = body.output[0].name
    for n in body.node:
        n.output[:] = [m.fresh("unused") if o == condition else o for o in n.output]
    limit = m.constant(body, len(body.node), np.array(m.r.randint(0, 3), np.int64))
    body.node.append(helper.make_node("Less", [body.input[0].name, limit], [condition]))
    if m.r.random() < 0.3:
        node.input[0] = ""


def other_direction(m):
    _, _, node = loops(m, "Scan")
    if any(i == "" for i in node.input):  # Scan-8
        raise Unfit
    inputs = next(a.i for a in node.attribute if a.name == "num_scan_inputs")
    results = len(node.output) - (len(node.input) - inputs)
    name, count = m.r.choice((("scan_input_directions", inputs), ("scan_output_directions", results)))
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, [m.r.randint(0, 1) for _ in range(count)])])


# ---- what is nested in what ----
def segment(m, inner=None):
    """(graph, its nodes, first, end, names that come from before, names read after) of some nodes in a row."""
    graph, _ = m.place(m.r.random() < 0.6 if inner is None else inner)
    if len(graph.node) > 40:
        raise Unfit
    first = m.r.randrange(len(graph.node))
    end = m.r.randint(first + 1, len(graph.node))
    if m.r.random() < 0.3:
        first, end = 0, len(graph.node)
    nodes = list(graph.node)[first:end]
    own = made(nodes)
    after = used(list(graph.node)[end:]) | {o.name for o in graph.output}
    results = [name for n in nodes for name in n.output if name in after]
    if not results or any(name not in m.types for name in results):
        raise Unfit
    return graph, nodes, first, end, sorted(used(nodes) - own), results


def replace(graph, first, end, nodes):
    kept = list(graph.node)
    rest = [copy.deepcopy(n) for n in [*kept[:first], *nodes, *kept[end:]]]
    del graph.node[:]
    graph.node.extend(rest)


def renamed(m, nodes, more=()):
    """A copy with names of its own, and which became which."""
    nodes = [copy.deepcopy(n) for n in nodes]
    to = {name: m.fresh() for name in sorted(made(nodes))} | dict(more)
    rename(nodes, to)
    return nodes, to


def as_body(m, nodes, parameters, results, to):
    """results: (name before the renaming) to declare."""
    infos = []
    for name in results:
        info = m.declare(name)
        info.name = to[name]
        infos.append(info)
    return helper.make_graph(nodes, m.fresh("body"), parameters, infos)


def condition_for(m, graph):
    """A truth value: of the model's input, a constant, or the iteration's number against a limit."""
    kind = m.r.choice(("input", "constant", "iteration"))
    numbers = [i.name for i in graph.input if m.element(i.name) == TensorProto.INT64 and m.rank(i.name) == 0]
    name = m.fresh("choice")
    if kind == "iteration" and numbers:
        limit = m.fresh()
        return name, [helper.make_node("Constant", [], [limit], value=numpy_helper.from_array(np.array(m.r.randint(0, 3), np.int64))),
                      helper.make_node("Less", [numbers[0], limit], [name])]
    if kind == "constant":
        return name, [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(m.r.random() < 0.5)))]
    m.model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.BOOL, []))
    m.feeds[name] = np.array(m.r.random() < 0.5)
    return name, []


def in_branch(m):
    """Nodes become a branch; the other one is a copy of them, changed or not."""
    graph, nodes, first, end, _, results = segment(m)
    condition, before = condition_for(m, graph)
    branches = []
    for _ in range(2):
        copied, to = renamed(m, nodes)
        for node in copied:
            family = [f for f in FAMILIES[:1] if node.op_type in f]
            if family and m.r.random() < 0.5:
                node.op_type = m.r.choice(family[0][:3])
        branches.append(as_body(m, copied, [], results, to))
    replace(graph, first, end, [*before, helper.make_node("If", [condition], results, then_branch=branches[0], else_branch=branches[1])])


def last_of(m, stacked, name):
    at = m.fresh()
    return [helper.make_node("Constant", [], [at], value=numpy_helper.from_array(np.array(-1, np.int64))),
            helper.make_node("Gather", [stacked, at], [name], axis=0)]


def in_loop(m):
    """Nodes run some times: an operand that has a result's type becomes a state, other results are stacked, and the last is taken."""
    graph, nodes, first, end, operands, results = segment(m)
    tensors = [name for name in results if m.element(name)]
    if len(tensors) != len(results):
        raise Unfit
    states = {}
    for name in results:
        fits = [o for o in operands if o not in states.values() and m.element(o) == m.element(name) and m.rank(o) == m.rank(name)]
        if fits and m.r.random() < 0.7:
            states[name] = m.r.choice(fits)
    number, go, on, trips = m.fresh("number"), m.fresh("go"), m.fresh("on"), m.fresh("trips")
    parameters = [helper.make_tensor_value_info(number, TensorProto.INT64, []), helper.make_tensor_value_info(go, TensorProto.BOOL, [])]
    to = {}
    for name, operand in states.items():
        info = m.declare(operand)
        info.name = to[operand] = m.fresh("state")
        parameters.append(info)
    copied, to = renamed(m, nodes, to)
    others = [name for name in results if name not in states]
    copied.append(helper.make_node("Identity", [go], [on]))
    body = as_body(m, copied, parameters, [*states, *others], to)
    body.output.insert(0, helper.make_tensor_value_info(on, TensorProto.BOOL, []))
    stacked = {name: m.fresh() for name in others}
    times = m.r.randint(1 if others else 0, 3)
    loop = helper.make_node("Loop", [trips, "", *states.values()], [*states, *stacked.values()], body=body)
    head = helper.make_node("Constant", [], [trips], value=numpy_helper.from_array(np.array(times, np.int64)))
    replace(graph, first, end, [head, loop, *(n for name in others for n in last_of(m, stacked[name], name))])


def in_scan(m):
    """Nodes run over copies of one of their operands, which are stacked in front."""
    graph, nodes, first, end, operands, results = segment(m)
    given = [o for o in operands if m.element(o) in FLOATS]
    if not given or any(not m.element(name) for name in results):
        raise Unfit
    given, flat, stacked, axis = m.r.choice(given), m.fresh(), m.fresh(), m.fresh()
    element = m.declare(given)
    element.name = m.fresh("element")
    copied, to = renamed(m, nodes, {given: element.name})
    body = as_body(m, copied, [element], results, to)
    outputs = {name: m.fresh() for name in results}
    version = next(o.version for o in m.model.opset_import if not o.domain)
    if version < 9:
        raise Unfit
    unsqueeze = [helper.make_node("Unsqueeze", [given], [flat], axes=[0])] if version < 13 else \
        [helper.make_node("Constant", [], [axis], value=numpy_helper.from_array(np.array([0], np.int64))),
         helper.make_node("Unsqueeze", [given, axis], [flat])]
    scan = helper.make_node("Scan", [stacked], list(outputs.values()), body=body, num_scan_inputs=1, scan_input_directions=[m.r.randint(0, 1)],
                            scan_output_directions=[m.r.randint(0, 1) for _ in outputs])
    replace(graph, first, end, [*unsqueeze, helper.make_node("Concat", [flat] * m.r.randint(1, 3), [stacked], axis=0), scan,
                                *(n for name in results for n in last_of(m, outputs[name], name))])


def in_function(m):
    """Nodes become a function of the model's own."""
    graph, nodes, first, end, operands, results = segment(m)
    if any(o.domain == LOCAL for o in m.model.opset_import) and m.r.random() < 0.5:
        raise Unfit
    copied, to = renamed(m, nodes, {name: m.fresh("p") for name in operands})
    name = m.fresh("Segment")
    imports = [helper.make_opsetid(o.domain, o.version) for o in m.model.opset_import]
    if not any(o.domain == LOCAL for o in imports):
        m.model.opset_import.append(helper.make_opsetid(LOCAL, 1))
        imports.append(helper.make_opsetid(LOCAL, 1))
    m.model.functions.append(helper.make_function(LOCAL, name, [to[o] for o in operands], [to[r] for r in results], copied, imports))
    m.model.ir_version = max(m.model.ir_version, 8)
    replace(graph, first, end, [helper.make_node(name, operands, results, domain=LOCAL)])


def another_case(m, other):
    """The whole of another case within a body; what it computes joins an operand there. `other` is (model, feeds)."""
    model, feeds = other
    if {(o.domain, o.version) for o in model.opset_import} != {(o.domain, o.version) for o in m.model.opset_import} or model.functions:
        raise Unfit
    if any(not isinstance(v, (np.ndarray, np.generic)) for v in feeds.values()) or len(model.graph.node) > 30:
        raise Unfit
    graph, _ = m.place()
    slots = [(k, slot) for k, n in enumerate(graph.node) for slot, name in enumerate(n.input) if m.element(name) == TensorProto.FLOAT]
    given = [o.name for o in model.graph.output if o.type.tensor_type.elem_type == TensorProto.FLOAT]
    if not slots or not given:
        raise Unfit
    at, slot = m.r.choice(slots)
    names = {i.name: m.fresh("given") for i in model.graph.input} | {t.name: m.fresh("given") for t in model.graph.initializer}
    nodes, to = renamed(m, model.graph.node, names)
    values = {**{t.name: numpy_helper.to_array(t) for t in model.graph.initializer}, **feeds}
    before = [helper.make_node("Constant", [], [names[k]], value=numpy_helper.from_array(np.asarray(v))) for k, v in values.items()]
    number, joined = m.fresh(), m.fresh()
    operand = graph.node[at].input[slot]
    graph.node[at].input[slot] = joined
    join = [helper.make_node("ReduceMax", [to[m.r.choice(given)]], [number], keepdims=0), helper.make_node("Add", [operand, number], [joined])]
    replace(graph, at, at, [*before, *nodes, *join])


def forget_shapes(m):
    """Bodies say nothing of sizes, or not even of ranks."""
    forget_sizes(m.model, ranks=m.r.random() < 0.5)


def forget_sizes(model, ranks=False):
    for graph, _ in list(walk(model.graph))[1:]:
        del graph.value_info[:]
        for info in [*graph.input, *graph.output]:
            if ranks and info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
            for size in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else []:
                size.Clear()


MUTATIONS = [(other_operator, 3), (more_steps, 2), (other_constants, 2), (captured, 3), (other_capture, 2), (outer_as_result, 1), (other_trips, 2),
             (ends_early, 2), (other_direction, 1), (in_branch, 4), (in_loop, 4), (in_scan, 3), (in_function, 2), (another_case, 4), (forget_shapes, 2)]
