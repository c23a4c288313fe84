#!/usr/bin/env python3
"""Sequences and optionals: models made here, their results from Python's own lists, judged by `castnet check`.

  run.py --castnet build/compiler/castnet [--count 40] [--seed 1] [--filter 'loop*'] [--sanitize]

A case gives nodes, inputs, constants and expected outputs by name; a list is a sequence, a Maybe an optional. Besides those written out
(CASES), programs of random operators are drawn. FAULTS ends every case that data make wrong with the error that the call returns.
"""
import argparse
import fnmatch
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

CASES, FAULTS = {}, {}


class Maybe:
    """An optional: `value` a tensor, a list or None; `like` says of what, where it is None."""
    def __init__(self, value, like=None):
        self.value = value
        self.like = value if like is None else like


class Case:
    """ranks: of items of inputs and of outputs, as declared; nothing is declared of others."""
    def __init__(self, nodes, inputs, outputs, constants=None, ranks=None):
        self.nodes, self.inputs, self.outputs, self.constants, self.ranks = nodes, inputs, outputs, constants or {}, ranks or {}


def case(function):
    CASES[function.__name__] = function
    return function


def fault(error):
    def add(function):
        FAULTS[function.__name__] = (function, error)
        return function
    return add


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(",") if inputs else [], outputs.split(","), **attributes)


def f32(*shape, start=0):
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def text(*values):
    a = np.empty(len(values), dtype=object)
    a[:] = [v.encode() for v in values]
    return a


def scalar(v, dtype=np.int64):
    return np.array(v, dtype)


# ---- written out ----
@case
def insert_everywhere():
    x = [f32(2), f32(3, start=10)]
    return Case([node("SequenceInsert", "x,t,front", "a"), node("SequenceInsert", "a,t,back", "b"), node("SequenceInsert", "b,t", "c"),
                 node("SequenceLength", "c", "n")],
                {"x": x, "t": f32(4, start=20), "front": scalar(0), "back": scalar(-1, np.int32)},
                {"c": [f32(4, start=20), x[0], f32(4, start=20), x[1], f32(4, start=20)], "n": scalar(5)})


@case
def strings():
    x = [text("a", "", "grün"), text("z" * 100)]
    return Case([node("SequenceErase", "x,zero", "a"), node("SequenceInsert", "a,t,zero", "b"), node("ConcatFromSequence", "b", "y", axis=0),
                 node("SequenceAt", "b,zero", "first")],
                {"x": x, "t": text("new", ""), "zero": scalar(0)},
                {"b": [text("new", ""), x[1]], "y": text("new", "", "z" * 100), "first": text("new", "")}, ranks={"x": 1})


@case
def empty_tensors():
    x = [f32(0, 3), f32(2, 0, start=1), f32(0)]
    return Case([node("SequenceInsert", "x,t", "y"), node("SequenceLength", "y", "n")], {"x": x, "t": f32(0, 0)}, {"y": [*x, f32(0, 0)], "n": scalar(4)})


@case
def empty_sequences():
    return Case([node("SequenceEmpty", "", "e"), node("SequenceLength", "e", "n"), node("SequenceLength", "x", "m"),
                 node("Identity", "x", "y")], {"x": []}, {"e": [], "n": scalar(0), "m": scalar(0), "y": []})


@case
def erase_to_nothing():
    return Case([node("SequenceErase", "x,p", "a"), node("SequenceErase", "a", "y")], {"x": [f32(3), f32(5)], "p": scalar(-2)}, {"y": []})


@case
def many_ranks():
    x = [f32(), f32(2, 3), f32(*[1] * 7, 2), f32(*[1] * 15, 2)]
    return Case([node("SequenceInsert", "x,t,one", "y"), node("SequenceAt", "y,two", "z")], {"x": x, "t": f32(2), "one": scalar(1), "two": scalar(2)},
                {"y": [x[0], f32(2), *x[1:]], "z": x[1]}, ranks={"z": 2})


@case
def dtypes():
    kinds = [np.float64, np.float16, np.int8, np.uint16, np.bool_, np.complex64, np.complex128, np.uint64]
    nodes, inputs, outputs = [], {}, {}
    for i, k in enumerate(kinds):
        a, b = np.arange(5).astype(k), np.arange(2).astype(k)
        nodes += [node("SequenceConstruct", f"a{i},b{i}", f"s{i}"), node("SequenceAt", f"s{i},p", f"y{i}")]
        inputs |= {f"a{i}": a, f"b{i}": b}
        outputs |= {f"s{i}": [a, b], f"y{i}": b}
    return Case(nodes, inputs | {"p": scalar(1)}, outputs)


@case
def split_at_run_time():
    x = f32(7, 2)
    return Case([node("SplitToSequence", "x,size", "a", axis=0), node("SplitToSequence", "x,sizes", "b", axis=-2), node("SplitToSequence", "x", "c", axis=1, keepdims=0),
                 node("SplitToSequence", "x", "d", axis=1), node("ConcatFromSequence", "a", "y", axis=0), node("ConcatFromSequence", "c", "z", axis=1, new_axis=1),
                 node("SequenceAt", "b,one", "w")],
                {"x": x, "size": scalar(3), "sizes": np.array([0, 5, 2]), "one": scalar(1)},
                {"a": [x[:3], x[3:6], x[6:]], "b": [x[:0], x[:5], x[5:]], "c": [x[:, 0], x[:, 1]], "d": [x[:, :1], x[:, 1:]], "y": x, "z": x, "w": x[:5]})


@case
def optionals():
    t = f32(2, 2)
    return Case([node("Optional", "t", "a"), node("OptionalHasElement", "a", "has"), node("OptionalGetElement", "a", "y"),
                 node("OptionalHasElement", "none", "no"), node("OptionalHasElement", "o", "yes"), node("OptionalGetElement", "o", "s"),
                 node("OptionalHasElement", "nothing", "not_one"), node("SequenceInsert", "s,t", "more"), node("Optional", "more", "b"),
                 node("Identity", "none", "still_none"), node("Identity", "nothing", "still_nothing")],
                {"t": t, "none": Maybe(None, f32(2)), "nothing": Maybe(None, [f32(2)]), "o": Maybe([f32(3)])},
                {"a": Maybe(t), "has": np.array(True), "y": t, "no": np.array(False), "yes": np.array(True), "s": [f32(3)], "not_one": np.array(False),
                 "b": Maybe([f32(3), t]), "still_none": Maybe(None, f32(2)), "still_nothing": Maybe(None, [f32(2)])})


def body(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, "body", [info(n, v) for n, v in inputs.items()], [info(n, v) for n, v in outputs.items()],
                             [tensor(n, v) for n, v in (constants or {}).items()])


@case
def loop_queue():
    """A queue of at most three: the last ones of all, and their sum after each."""
    b = body([node("Gather", "xs,i", "x", axis=0), node("SequenceInsert", "q,x", "q1"), node("SequenceLength", "q1", "n"), node("Greater", "n,three", "full"),
              helper.make_node("If", ["full"], ["q2"], then_branch=body([node("SequenceErase", "q1,zero", "t")], {}, {"t": [f32(2)]}),
                               else_branch=body([node("Identity", "q1", "e")], {}, {"e": [f32(2)]})),
              node("ConcatFromSequence", "q2", "stack", axis=0, new_axis=1), node("ReduceSum", "stack", "sum", keepdims=0), node("Identity", "c", "c1")],
             {"i": scalar(0), "c": np.array(True), "q": [f32(2)]}, {"c1": np.array(True), "q2": [f32(2)], "sum": f32()}, {"three": scalar(3), "zero": scalar(0)})
    xs = f32(8, 2)
    return Case([node("SequenceEmpty", "", "empty"), helper.make_node("Loop", ["trips", "", "empty"], ["last", "sums"], body=b)], {"xs": xs, "trips": scalar(8)},
                {"last": [xs[5], xs[6], xs[7]], "sums": np.array([xs[max(0, i - 2):i + 1].sum() for i in range(8)], np.float32)})


@case
def loop_growing():
    """Items of a size that each iteration changes, taken out again."""
    b = body([node("Add", "i,one", "n"), node("Unsqueeze", "n,axes", "end"), node("Slice", "x,start,end", "part"), node("SequenceInsert", "s,part,front", "s1"),
              node("SequenceAt", "s1,minus", "first"), node("Shape", "first", "size"), node("Identity", "c", "c1")],
             {"i": scalar(0), "c": np.array(True), "s": [f32(1)]}, {"c1": np.array(True), "s1": [f32(1)], "size": np.array([1])},
             {"one": scalar(1), "axes": np.array([0]), "start": np.array([0]), "front": scalar(0), "minus": scalar(-1)})
    x = f32(5)
    return Case([helper.make_node("Loop", ["trips", "", "s0"], ["s", "sizes"], body=b)], {"x": x, "trips": scalar(5), "s0": []},
                {"s": [x[:5], x[:4], x[:3], x[:2], x[:1]], "sizes": np.full((5, 1), 1)})


@case
def nested_loops():
    inner = body([node("SequenceInsert", "t,y", "t1"), node("Identity", "d", "d1")], {"j": scalar(0), "d": np.array(True), "t": [f32(2)]}, {"d1": np.array(True), "t1": [f32(2)]})
    outer = body([node("SequenceAt", "x,i", "y"), helper.make_node("Loop", ["i", "", "s"], ["s1"], body=inner), node("Identity", "c", "c1")],
                 {"i": scalar(0), "c": np.array(True), "s": [f32(2)]}, {"c1": np.array(True), "s1": [f32(2)]})
    x = [f32(2), f32(3, start=5), f32(1, start=9)]
    return Case([node("SequenceEmpty", "", "none"), node("SequenceLength", "x", "n"), helper.make_node("Loop", ["n", "", "none"], ["y"], body=outer)], {"x": x},
                {"y": [x[1], x[2], x[2]]}, ranks={"x": 1})


@case
def branches_in_a_loop():
    """Each branch makes an item of a size that only it knows; what follows reads the list that either made."""
    def branch(k):
        return body([node("SequenceAt", "x,i", f"a{k}"), node("Shape", f"a{k}", f"z{k}"), node("SequenceInsert", f"s,z{k}", f"t{k}")], {}, {f"t{k}": [scalar(0).reshape(1)]})
    b = body([helper.make_node("If", ["c"], ["t"], then_branch=branch(1), else_branch=branch(2)), node("Identity", "go", "on")],
             {"i": scalar(0), "go": np.array(True), "s": [scalar(0).reshape(1)]}, {"on": np.array(True), "t": [scalar(0).reshape(1)]})
    x = [f32(2), f32(0), f32(3)]
    return Case([node("SequenceEmpty", "", "none", dtype=TensorProto.INT64), helper.make_node("Loop", ["n", "", "none"], ["y"], body=b)],
                {"x": x, "c": np.array(False), "n": scalar(3)}, {"y": [np.array([2]), np.array([0]), np.array([3])]}, ranks={"x": 1})


@case
def map_of_two():
    x, y = [f32(2), f32(0), f32(3)], [f32(1), f32(2), f32(4)]
    b = body([node("Concat", "p,q", "r", axis=0), node("Mul", "r,k", "o0"), node("Size", "p", "o1")], {"p": f32(1), "k": f32(), "q": f32(1)}, {"o0": f32(1), "o1": scalar(0)})
    return Case([helper.make_node("SequenceMap", ["x", "k", "y"], ["a", "b"], body=b)], {"x": x, "k": np.float32(2), "y": y}, {"a": [np.concatenate([p, q]) * 2 for p, q in zip(x, y)], "b": [scalar(2), scalar(0), scalar(3)]}, ranks={"x": 1, "y": 1})


# ---- what only data can show ----
def faulty(op, inputs, *values, **attributes):
    names = inputs.split(",")
    return Case([node(op, inputs, "y", **attributes)], dict(zip(names, values)), {"y": f32(2)}, ranks={"x": 1})


@fault("INDEX")
def at_behind_the_end():
    return faulty("SequenceAt", "x,p", [f32(2)], scalar(1))


@fault("INDEX")
def at_before_the_start():
    return faulty("SequenceAt", "x,p", [f32(2)], scalar(-2))


@fault("INDEX")
def at_of_nothing():
    return faulty("SequenceAt", "x,p", [], scalar(0))


@fault("INDEX")
def at_far_away():
    return faulty("SequenceAt", "x,p", [f32(2)], scalar(-2**63))


@fault("INDEX")
def insert_behind_the_end():
    return Case([node("SequenceInsert", "x,t,p", "y")], {"x": [f32(2)], "t": f32(2), "p": scalar(2)}, {"y": [f32(2)]})


@fault("INDEX")
def erase_of_nothing():
    return Case([node("SequenceErase", "x", "y")], {"x": []}, {"y": []})


@fault("INDEX")
def constant_place_out_of_range():
    return Case([node("SequenceConstruct", "t", "x"), node("SequenceAt", "x,p", "y")], {"t": f32(2)}, {"y": f32(2)}, {"p": scalar(3)})


@fault("OP")
def concat_of_nothing():
    return faulty("ConcatFromSequence", "x", [], axis=0)


@fault("DIM")
def concat_of_different():
    return Case([node("ConcatFromSequence", "x", "y", axis=0)], {"x": [f32(2, 3), f32(2, 2)]}, {"y": f32(2, 3)}, ranks={"x": 2})


@fault("DIM")
def rank_not_as_declared():
    return faulty("SequenceAt", "x,p", [f32(2, 2)], scalar(0))


@fault("DIM")
def split_not_all():
    return Case([node("SplitToSequence", "x,s", "y")], {"x": f32(5), "s": np.array([2, 2])}, {"y": [f32(2)]})


@fault("DIM")
def split_negative():
    return Case([node("SplitToSequence", "x,s", "y")], {"x": f32(5), "s": np.array([6, -1])}, {"y": [f32(2)]})


@fault("DIM")
def split_zero():
    return Case([node("SplitToSequence", "x,s", "y")], {"x": f32(5), "s": scalar(0)}, {"y": [f32(2)]})


@fault("OP")
def optional_without_tensor():
    return Case([node("OptionalGetElement", "x", "y")], {"x": Maybe(None, f32(2))}, {"y": f32(2)}, ranks={"x": 1})


@fault("OP")
def optional_without_sequence():
    return Case([node("OptionalGetElement", "x", "s"), node("SequenceLength", "s", "y")], {"x": Maybe(None, [f32(2)])}, {"y": scalar(0)})


@fault("DIM")
def map_of_different_lengths():
    b = body([node("Add", "p,q", "o")], {"p": f32(1), "q": f32(1)}, {"o": f32(1)})
    return Case([helper.make_node("SequenceMap", ["x", "z"], ["y"], body=b)], {"x": [f32(2)], "z": [f32(2), f32(2)]}, {"y": [f32(2)]}, ranks={"x": 1, "z": 1})


# ---- random programs ----
class Program:
    """Operators drawn one after the other; what they compute is kept beside them."""
    def __init__(self, rng):
        self.rng, self.nodes, self.inputs, self.constants, self.n = rng, [], {}, {}, 0
        self.sequences, self.tensors = {}, {}
        for _ in range(2):
            self.tensors[self.given(self.draw())] = None
        self.tensors = {k: self.inputs[k] for k in self.inputs}
        self.ranks = {}
        if rng.random() < 0.6:
            name = self.name()
            self.inputs[name] = self.sequences[name] = [self.draw() for _ in range(rng.integers(0, 4))]
            self.ranks[name] = 2

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def draw(self):
        return self.rng.integers(-9, 9, (self.rng.integers(0, 5), 3)).astype(np.float32)

    def given(self, value):
        name = self.name()
        self.inputs[name] = value
        return name

    def place(self, n):
        """An operand in [-n, n), a constant or an input."""
        v = int(self.rng.integers(-n, n))
        value = np.array(v if self.rng.random() < 0.7 else [v], np.int64 if self.rng.random() < 0.7 else np.int32)
        name = self.given(value) if self.rng.random() < 0.5 else self.name()
        if name not in self.inputs:
            self.constants[name] = value
        return v % n, name

    def add(self, op, inputs, value, **attributes):
        name = self.name()
        self.nodes.append(node(op, ",".join(inputs), name, **attributes))
        (self.sequences if isinstance(value, list) else self.tensors)[name] = value
        return name

    def pick(self, of):
        names = sorted(of)
        return names[self.rng.integers(len(names))]

    def step(self):
        kind = self.rng.integers(7)
        tensors = {k: v for k, v in self.tensors.items() if v.ndim == 2 and v.shape[1] == 3}
        if kind == 0 or not self.sequences:
            chosen = [self.pick(tensors) for _ in range(self.rng.integers(1, 4))]
            self.add("SequenceConstruct", chosen, [tensors[k] for k in chosen])
            return
        s = self.pick(self.sequences)
        items = self.sequences[s]
        if kind in (1, 2):
            t, at, operand = self.pick(tensors), len(items), []
            if items and self.rng.random() < 0.7:
                at, name = self.place(len(items))
                operand = [name]
            self.add("SequenceInsert", [s, t, *operand], items[:at] + [tensors[t]] + items[at:])
        elif kind == 3 and items:
            at, name = self.place(len(items))
            self.add("SequenceErase", [s, name], items[:at] + items[at + 1:])
        elif kind == 4 and items:
            at, name = self.place(len(items))
            self.add("SequenceAt", [s, name], items[at])
        elif kind == 5 and items:
            self.add("ConcatFromSequence", [s], np.concatenate(items), axis=0)
        elif kind == 6:
            t = self.pick(tensors)
            size = int(self.rng.integers(1, 4))
            rows = tensors[t].shape[0]
            name = self.given(scalar(size)) if self.rng.random() < 0.5 else self.name()
            if name not in self.inputs:
                self.constants[name] = scalar(size)
            self.add("SplitToSequence", [t, name], [tensors[t][i:i + size] for i in range(0, rows, size)], axis=0)


def random_case(seed):
    p = Program(np.random.default_rng(seed))
    while len(p.nodes) < 3 + seed % 6:
        p.step()
    made = [o for n in p.nodes for o in n.output]
    return Case(p.nodes, p.inputs, {k: (p.sequences | p.tensors)[k] for k in made}, p.constants, p.ranks)


# ---- files ----
def element_type(v):
    return TensorProto.STRING if v.dtype == object else helper.np_dtype_to_tensor_dtype(v.dtype)


def tensor(name, value):
    value = np.asarray(value)
    if value.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, value.shape, [bytes(v) for v in value.reshape(-1)])
    return numpy_helper.from_array(value, name)


def type_of(v, rank=None, shape=None):
    if isinstance(v, Maybe):
        return helper.make_optional_type_proto(type_of(v.like, rank, None if rank is None else [None] * rank))
    if isinstance(v, list):
        element = element_type(v[0]) if v else TensorProto.FLOAT
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(element, None if rank is None else [None] * rank))
    return helper.make_tensor_type_proto(element_type(np.asarray(v)), shape)


def info(name, v):
    """As bodies declare: nothing of sizes."""
    return helper.make_value_info(name, type_of(v) if isinstance(v, list) else type_of(v, shape=[None] * np.asarray(v).ndim))


def data(name, v):
    if isinstance(v, Maybe):
        kind = onnx.OptionalProto.SEQUENCE if isinstance(v.like, list) else onnx.OptionalProto.TENSOR
        o = onnx.OptionalProto(name=name, elem_type=kind if v.value is not None else onnx.OptionalProto.UNDEFINED)
        if isinstance(v.value, list):
            o.sequence_value.CopyFrom(data("", v.value))
        elif v.value is not None:
            o.tensor_value.CopyFrom(tensor("", v.value))
        return o
    if isinstance(v, list):
        return onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.TENSOR, tensor_values=[tensor("", x) for x in v])
    return tensor(name, v)


def write(folder, c):
    inputs = [helper.make_value_info(n, type_of(v, rank=c.ranks.get(n), shape=None if isinstance(v, (list, Maybe)) else np.asarray(v).shape)) for n, v in c.inputs.items()]
    graph = helper.make_graph(c.nodes, "sequences", inputs, [helper.make_value_info(n, type_of(v, shape=[None] * c.ranks[n] if n in c.ranks else None)) for n, v in c.outputs.items()],
                              [tensor(n, v) for n, v in c.constants.items()])
    folder = folder / "test_data_set_0"
    folder.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), folder.parent / "model.onnx")
    for what, values in (("input", c.inputs), ("output", c.outputs)):
        for i, (name, value) in enumerate(values.items()):
            (folder / f"{what}_{i}.pb").write_bytes(data(name, value).SerializeToString())
    return str(folder.parent / "model.onnx")


def check(options, work, cases):
    """{name: what `castnet check` found}"""
    models = {write(work / name, c): name for name, c in cases.items()}
    (work / "list.json").write_text(json.dumps([{"model": m} for m in models]))
    command = [options.castnet, "check", "--batch", work / "list.json", "--json", *(["--sanitize"] if options.sanitize else [])]
    outcome = harness.run(command, 900)
    records = {r.get("model"): r for r in harness.json_lines(outcome.out)}
    return {name: records.get(m, {"said": outcome.err}) for m, name in models.items()}


def check_tools(options, work):
    """What `castnet check` says without data, and of data that are wrong: [(name, what it said)] of those that fail."""
    c = Case([node("SequenceConstruct", "x,x", "s"), node("Optional", "s", "y")], {"x": f32(2, 3)}, {"y": Maybe([f32(2, 3), f32(2, 3)]), "s": [f32(2, 3)]})
    model = Path(write(work / "wrong", c))
    with_data = harness.run([options.castnet, "check", model, "--bisect"], 120)
    alone = Path(write(work / "alone", c)).rename(work / "alone.onnx")
    without = harness.run([options.castnet, "check", alone], 120)
    outcomes = [("bisect", with_data, with_data.status == 3 and "bisect:" in with_data.err), ("without_data", without, without.status == 0)]
    return [(name, o.out + o.err) for name, o, ok in outcomes if not ok]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--count", type=int, default=40, help="random programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", action="append", help="only cases whose names match")
    parser.add_argument("--sanitize", action="store_true")
    options = parser.parse_args()
    options.castnet = harness.castnet_path(options.castnet)
    cases = {n: f() for n, f in CASES.items()} | {n: f() for n, (f, _) in FAULTS.items()}
    cases |= {f"random_{s}": random_case(s) for s in range(options.seed, options.seed + options.count)}
    cases = {n: c for n, c in cases.items() if not options.filter or any(fnmatch.fnmatch(n, f) for f in options.filter)}
    with tempfile.TemporaryDirectory() as work:
        records = check(options, Path(work), cases)
        bad_tools = [] if options.filter else check_tools(options, Path(work))
    for name, said in bad_tools:
        print(f"FAIL {name}: {said}")
    failed = len(bad_tools)
    for name, record in records.items():
        said = json.dumps(record)
        wanted = f"CASTNET_ERR_{FAULTS[name][1]}" if name in FAULTS else None
        if (wanted in said) if wanted else record.get("verdict") == "pass":
            continue
        failed += 1
        print(f"FAIL {name}: {'wanted ' + wanted + '; ' if wanted else ''}{said[:600]}")
    return harness.totals(len(records) + (0 if options.filter else 2) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
