#!/usr/bin/env python3
"""Write a case for every type that ONNX's schemas allow an operator.

  make_type_cases.py -o DIR --cases OFFICIAL --versions VERSIONS [--newest]

DIR/single/index.json lists cases of one node each, DIR/batched the same nodes side by side in one model an operator and version, which is quicker
to run; DIR/recurrent recurrent layers of any attributes; all in the suite's layout, for tests/conformance/run.py. DIR/pairs.json says by which case each
pair of pairs.py is shown. What is listed in expected_failures.txt stays alone among the batches, too.
"""
import argparse
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import compose, helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "versions"), str(HERE.parent / "conformance"), str(HERE.parent / "lib")]
import by_template  # noqa: E402
import derive  # noqa: E402
import harness  # noqa: E402
import judge  # noqa: E402
import make_cases as suite  # noqa: E402
import make_version_cases as versions  # noqa: E402
import material  # noqa: E402
import operands  # noqa: E402
import pairs  # noqa: E402
import recast  # noqa: E402
import recurrent  # noqa: E402

BATCH = 40  # nodes in one model
FEW = 8  # with sequences, each of a size of its own at run time: a workspace's offset is a sum of at most 128 terms
LARGE = {"Pad": 4}  # whose code is large: pads known at run time alone make 81 parts of a result of four axes
TRIES = 6  # materials asked before a pair is given up


class Refused(Exception):
    """Why a material shows nothing of a pair."""


def retyped(source, schema, variable, kind):
    """(node, inputs, {variable: element type}) of a material with one type variable changed."""
    kinds = source.kinds(schema)
    kinds[variable] = kind
    for other, name in kinds.items():
        allowed = pairs.constraints(schema).get(other)
        if allowed and f"tensor({name})" not in allowed and other != variable:
            kinds[other] = next((t for t in ("float", "int64", kind) if f"tensor({t})" in allowed), name)
    node = operands.typed_node(source, schema, kinds)
    inputs = []
    for k, value in enumerate(source.inputs):
        operand = pairs.formal(schema.inputs, k)
        inputs.append(value if value is None or operand.type_str not in kinds else operands.typed_value(source, schema, k, value, kinds[operand.type_str], kind))
    return node, inputs, kinds


def lacks(source, schema, variable):
    """Whether no operand of a material has the variable. (LinearAttention's state has a type of its own, which only a past state tells.)"""
    return variable not in source.kinds(schema) or schema.name == "LinearAttention" and source.inputs[3:4] in ([], [None])


def refuse_newer(schema, node, inputs):
    """Raises Refused where a later version is the first to allow such operands."""
    since, is_newer = derive.NOT_YET.get(schema.name, (0, None))
    if schema.since_version < since and is_newer(inputs, {a.name: helper.get_attribute_value(a) for a in node.attribute}):
        raise Refused("not allowed by that version")


def from_material(source, schema, variable, kind):
    """A Case of a pair from a material. Raises Refused."""
    original = source
    if lacks(source, schema, variable):
        source = operands.with_variable(source, schema, "S" if schema.name == "LinearAttention" else variable)
        if source is None:
            raise Refused("no material has this operand")
    same = source is original and source.kinds(schema).get(variable) == kind
    if same and (kind != "double" or source.name.endswith("_double")):
        refuse_newer(schema, source.node, source.inputs)
        return by_template.Case(source.node, source.opset, source.inputs, source.outputs, f"case {source.name}", source.rtol, source.atol, source.random)
    node, inputs, kinds = retyped(source, schema, variable, kind)
    refuse_newer(schema, node, inputs)
    outputs = [kinds.get(pairs.formal(schema.outputs, k).type_str, element_of(schema, k)) for k in range(len(node.output))]
    if schema.name in ("Cast", "CastLike"):
        inputs[0] = operands.castable(inputs[0], outputs[0])
    if schema.name in operands.POSITIVE and kind in recast.INTS and not all(v is None or v.size for v in inputs):
        raise Refused("the logarithm of nothing is no integer")
    if source.random or (schema.name == "Dropout" and schema.since_version < 12 and len(node.output) > 1):  # a mask that means nothing without training
        values = [None if v is None else np.zeros(v.shape, recast.dtype_of(name)) for v, name in zip(source.outputs, outputs)]
        return by_template.Case(node, source.opset, inputs, values, "type and shape only", 0.0, 0.0, True)
    try:
        values, oracle, rtol, atol = judge.judge(node, schema, source.opset, inputs, outputs, variable, kind)
    except judge.NoOracle as why:
        if kind not in ("double", "float16"):
            raise Refused(str(why)) from why
        values, oracle = [None if v is None else judge.rounded(v, name) for v, name in zip(source.outputs, outputs)], f"case {source.name}, rounded"
        rtol, atol = judge.distances(node, judge.present(node, outputs), True)
    return by_template.Case(node, source.opset, inputs, values, oracle, rtol, atol)


def element_of(schema, k):
    return recast.element(pairs.formal(schema.outputs, k).type_str)


class Writer:
    """Cases under `out`, and what they show."""

    def __init__(self, out):
        self.out, self.single, self.batched, self.shown = out, [], [], {}
        self.listed = harness.read_list(HERE / "expected_failures.txt")

    def write(self, form, index, name, model, inputs, outputs, judged, oracle, random):
        folder = self.out / form / "types" / name
        folder.mkdir(parents=True)
        suite.write_message(folder / "model.onnx", model)
        versions.write_data_set(folder / "test_data_set_0", model.graph, inputs, outputs)
        ops = sorted(suite.operators(model.graph.node, set()))
        index.append({"kind": "types", "name": name, "rtol": 0.0, "atol": 0.0, "outputs": judged, "op": ops[0] if len(ops) == 1 else "(several)", "ops": ops,
                      "random": random, "oracle": oracle})

    def add(self, schema, some):
        """The cases of one version: [(pair, Case)]."""
        batches = {}
        for pair, case in some:
            name = case_name(pair)
            self.shown.setdefault(pair, f"types/{name}")
            model = case.model(schema)
            if not schema.deprecated:
                onnx.checker.check_model(model)
            values = [v for v in case.inputs if v is not None], [v for v in case.outputs if v is not None]
            self.write("single", self.single, name, model, *values, judged_outputs(model.graph, case), case.oracle, random_outputs(model.graph, case))
            if f"types/{name}" in self.listed or schema.name == "Gradient":  # whose attributes name values of the graph
                self.write("batched", self.batched, name, model, *values, judged_outputs(model.graph, case), case.oracle, random_outputs(model.graph, case))
            else:
                batches.setdefault((case.opset, model.ir_version, is_tensors(model.graph)), []).append((model, *values, case))
        for k, (key, batch) in enumerate(sorted(batches.items())):
            most = LARGE.get(schema.name, BATCH if key[2] else FEW)
            for part in range(0, len(batch), most):
                self.add_batch(schema, f"{k}_{part}", batch[part:part + most])

    def add_batch(self, schema, number, batch):
        graphs = [compose.add_prefix_graph(model.graph, f"n{k}_") for k, (model, _, _, _) in enumerate(batch)]
        first = batch[0][0]
        graph = helper.make_graph([n for g in graphs for n in g.node], first.graph.name, [i for g in graphs for i in g.input], [o for g in graphs for o in g.output],
                                  [t for g in graphs for t in g.initializer])
        model = helper.make_model(graph, opset_imports=first.opset_import, ir_version=first.ir_version, producer_name="castnet-tests")
        name = f"{prefix_of(schema)}{schema.name.lower()}_v{schema.since_version}_{number}"
        judged = {name: near for g, b in zip(graphs, batch) for name, near in judged_outputs(g, b[3]).items()}
        random = [name for g, b in zip(graphs, batch) for name in random_outputs(g, b[3])]
        self.write("batched", self.batched, name, model, [v for b in batch for v in b[1]], [v for b in batch for v in b[2]], judged, "", random)


def is_tensors(graph):
    return all(info.type.WhichOneof("value") == "tensor_type" for info in (*graph.input, *graph.output))


def judged_outputs(graph, case):
    return {o.name: {"rtol": case.rtol, "atol": case.atol} for o in graph.output}


def random_outputs(graph, case):
    return [o.name for o in graph.output] if case.random else []


def prefix_of(schema):
    return {"": "", "ai.onnx.ml": "ml_", "ai.onnx.preview": "preview_", "ai.onnx.preview.training": "training_"}[schema.domain]


def case_name(pair):
    kind = "".join(ch if ch.isalnum() else "_" for ch in pair.type.replace("tensor", "")).strip("_").replace("__", "_")
    prefix = {"": "", "ai.onnx.ml": "ml_", "ai.onnx.preview": "preview_", "ai.onnx.preview.training": "training_"}[pair.domain]
    return f"{prefix}{pair.op.lower()}_v{pair.version}_{pair.variable.lower()}_{kind}"


def case_of(found, schema, pair, why):
    case = by_template.case(schema, pair)
    if case:
        return case
    kind = recast.element(pair.type)
    if kind is None:
        why.append(f"{pair}: no template")
        return None
    said = []
    for source in material.candidates(found, schema, pair.variable, kind)[:TRIES]:
        try:
            return from_material(source, schema, pair.variable, kind)
        except Refused as error:
            said.append(str(error))
    why.append(f"{pair}: {said[0] if said else 'no material'}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--cases", required=True, type=Path)
    parser.add_argument("--versions", required=True, type=Path)
    parser.add_argument("--newest", action="store_true", help="only the newest version of each operator")
    parser.add_argument("--only", default="", help="only these operators, commas between; what is there of others is lost")
    parser.add_argument("--kind", default="", help="only these types, commas between: double,seq(tensor(int4))")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    found = material.read([options.cases, options.versions], set(options.only.split(",")) - {""})
    writer, why, rows = Writer(options.output), [], []
    for schema, some in pairs.wanted(options.newest):
        if not options.only or schema.name in options.only.split(","):
            some = [p for p in some if not options.kind or (recast.element(p.type) or p.type) in options.kind.split(",")]
            cases = [(pair, case_of(found, schema, pair, why)) for pair in some]
            writer.add(schema, [(pair, case) for pair, case in cases if case])
            rows += some
    table = [[p.domain, p.op, p.version, p.variable, p.type, writer.shown.get(p)] for p in rows]
    (options.output / "pairs.json").write_text(json.dumps(table, indent=0) + "\n")
    for form, index in (("single", writer.single), ("batched", writer.batched)):
        (options.output / form).mkdir(exist_ok=True)
        (options.output / form / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    recurrent.write(options.output / "recurrent")
    for line in why:
        print(f"  without a case: {line[:300]}")
    print(f"{len(writer.single)} cases of {len(rows)} pairs in {options.output}, {len(writer.batched)} models when batched")
    return 0


if __name__ == "__main__":
    sys.exit(main())
