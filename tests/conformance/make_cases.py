#!/usr/bin/env python3
"""Write the ONNX backend test suite (the 2,036 cases of the pinned onnx package) as files.

  make_cases.py -o DIR

DIR/<kind>/<name>/model.onnx with test_data_set_<k>/{input,output}_<i>.pb beside it, and DIR/index.json, a list of
{kind, name, rtol, atol, op, ops}: `op` is the operator a case is about, `ops` all that its model uses (function bodies
and subgraphs included). The same package versions give the same bytes.

Where the cases come from: `node` and some of `simple` exist only as Python in the package; the others lie there as
files, except that the inputs of `real` are a rule (a ramp from 0 to 1), applied here.
"""
import argparse
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case.model import collect_testcases as model_cases

N_EXPECTED = 2036


def value_proto(value, info):
    """A case's value as the message that its declared type asks for."""
    kind = info.type.WhichOneof("value")
    if isinstance(value, onnx.TensorProto):
        return value
    if kind == "sequence_type":
        return numpy_helper.from_list(list(value), info.name)
    if kind == "optional_type":
        held = value if value is None or isinstance(value, (list, dict)) else np.asarray(value)
        return numpy_helper.from_optional(held, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def write_message(path, message):
    path.write_bytes(message.SerializeToString(deterministic=True))


def write_data_set(folder, graph, inputs, outputs):
    folder.mkdir(parents=True)
    for side, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        if len(values) > len(infos):
            raise ValueError(f"{len(values)} {side} values for {len(infos)} declared")
        for i, value in enumerate(values):
            write_message(folder / f"{side}_{i}.pb", value_proto(value, infos[i]))


def write_python_case(folder, case):
    folder.mkdir(parents=True)
    write_message(folder / "model.onnx", case.model)
    for k, (inputs, outputs) in enumerate(case.data_sets):
        write_data_set(folder / f"test_data_set_{k}", case.model.graph, inputs, outputs)


def write_real_case(folder, case):
    """The package keeps these models without their weights (constants instead) and without inputs."""
    light = Path(loader.DATA_DIR) / "light"
    stem = f"light_{case.model_name}"
    model = onnx.load(light / f"{stem}.onnx")
    constant = {t.name for t in model.graph.initializer}
    inputs = []
    for info in model.graph.input:
        if info.name not in constant:
            dims = [d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim]
            count = int(np.prod(dims))
            inputs.append((info, (np.arange(count).reshape(dims) / count).astype(np.float32)))
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    shutil.copyfile(light / f"{stem}.onnx", folder / "model.onnx")
    for i, (info, ramp) in enumerate(inputs):
        write_message(data / f"input_{i}.pb", numpy_helper.from_array(ramp, info.name))
    for i in range(len(model.graph.output)):
        shutil.copyfile(light / f"{stem}_output_{i}.pb", data / f"output_{i}.pb")


def copy_stored_case(folder, case):
    for source in sorted(p for p in Path(case.model_dir).rglob("*") if p.is_file()):
        if source.suffix in (".onnx", ".pb"):
            target = folder / source.relative_to(case.model_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def qualified(node):
    return f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def operators(nodes, found):
    """Every operator of these nodes and of the graphs in their attributes."""
    for node in nodes:
        found.add(qualified(node))
        for attribute in node.attribute:
            for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                operators(graph.node, found)
    return found


def collect():
    """(kind, case, writer) of every case."""
    for case in loader.load_model_tests(kind="node"):
        yield "node", case, write_python_case
    stored = set()
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in loader.load_model_tests(kind=kind):
            stored.add((kind, case.name))
            yield kind, case, copy_stored_case
    for case in model_cases():
        if case.kind == "simple" and ("simple", case.name) not in stored:
            yield "simple", case, write_python_case
    for case in loader.load_model_tests(kind="real"):
        yield "real", case, write_real_case


def case_operator(name, graph, op_of):
    """What a case is about: its only node, or for an expanded function body the function it expands."""
    base = name.split("_expanded")[0]
    if base != name and base in op_of:
        return op_of[base]
    ops = {qualified(node) for node in graph.node if node.op_type != "Constant"}
    return ops.pop() if len(ops) == 1 else "(several)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    out = parser.parse_args().output
    warnings.filterwarnings("ignore")
    if (out / "index.json").exists():
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)

    index, op_of = [], {}
    for kind, case, write in collect():
        folder = out / kind / case.name
        write(folder, case)
        model = case.model or onnx.load(folder / "model.onnx")
        ops = sorted(operators(model.graph.node, set()))
        op = case_operator(case.name, model.graph, op_of)
        op_of.setdefault(case.name, op)
        index.append({"kind": kind, "name": case.name, "rtol": case.rtol, "atol": case.atol, "op": op, "ops": ops})
    index.sort(key=lambda row: (row["kind"], row["name"]))
    (out / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    print(f"{len(index)} cases in {out}")
    if len(index) != N_EXPECTED:
        print(f"expected {N_EXPECTED}: is this the pinned version of onnx?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
