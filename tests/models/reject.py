#!/usr/bin/env python3
"""The models that ONNX Runtime refuses to load (shared/models/reject): each is right where the standard allows it, or refused by name.

  reject.py --castnet build/compiler/castnet [--models DIR]

Files of old versions are rewritten here as opset 13, which ONNX Runtime evaluates; `castnet check` compares the original with that.
Operators of others' domains have no meaning in the standard: both domain and operator are named, and nothing is written.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
OLD = ("mnist_softmax_tf", "super_resolution")
FOREIGN = {"espcn_quant": "onnx.brevitas::Quant", "tree_custom_ext": "onnx_extended.ortops.optim.cpu::TreeEnsembleRegressor"}
OPSET = 13


def typed(attribute):
    """IR version 1 told an attribute's type by the field that it fills."""
    if attribute.type:
        return
    for field, kind in (("ints", AttributeProto.INTS), ("floats", AttributeProto.FLOATS), ("s", AttributeProto.STRING), ("f", AttributeProto.FLOAT)):
        if attribute.HasField(field) if field in "sf" else len(getattr(attribute, field)):
            attribute.type = kind
            return
    attribute.type = AttributeProto.INT


def attribute_of(node, name):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), None)


def modern(model):
    """The model at OPSET: broadcasting by rank, shapes as inputs, constants that are no inputs."""
    graph, nodes = model.graph, []
    for tensor in graph.initializer:  # a tensor's type was a default, too
        tensor.data_type = tensor.data_type or onnx.TensorProto.FLOAT
    shapes = {t.name: list(t.dims) for t in graph.initializer}
    constants = list(graph.initializer)
    for i, node in enumerate(graph.node):
        for attribute in node.attribute:
            typed(attribute)
        kept = [a for a in node.attribute if a.name not in ("broadcast", "axis", "shape")]
        inputs = list(node.input)
        if node.op_type == "Add" and attribute_of(node, "axis") == 1:  # [C] over [N][C][H][W]
            constants.append(numpy_helper.from_array(np.array([*shapes[inputs[1]], 1, 1], np.int64), f"shape_{i}"))
            nodes.append(helper.make_node("Reshape", [inputs[1], f"shape_{i}"], [f"wide_{i}"]))
            inputs[1] = f"wide_{i}"
        if node.op_type == "Reshape":
            constants.append(numpy_helper.from_array(np.array(attribute_of(node, "shape"), np.int64), f"shape_{i}"))
            inputs.append(f"shape_{i}")
        new = helper.make_node(node.op_type, inputs, list(node.output))
        new.attribute.extend(kept)
        nodes.append(new)
    given = [info for info in graph.input if info.name not in shapes]
    made = helper.make_graph(nodes, "modern", given, list(graph.output), constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def write(folder, side, arrays):
    folder.mkdir(exist_ok=True)
    for i, array in enumerate(arrays):
        (folder / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def judge_old(castnet, path, scratch):
    model = modern(onnx.load(path))
    shape = [d.dim_value if d.dim_value > 0 else 3 for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(1).uniform(0, 1, shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    write(scratch / "data", "input", [x])
    write(scratch / "data", "output", session.run(None, {model.graph.input[0].name: x}))
    done = subprocess.run([castnet, "check", path, scratch / "data"], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def judge_foreign(castnet, path, scratch, name):
    done = subprocess.run([castnet, "compile", path, "-o", scratch / "out"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    return done.returncode == 1 and "error E0301" in said and name in said and not (scratch / "out").exists(), said


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--castnet", required=True, type=Path)
    options.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    args = options.parse_args()
    castnet, folder = args.castnet.resolve(), args.models.resolve() / "reject"
    if not folder.exists():
        print("no refused models: nothing checked (--models DIR)\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for name in (*OLD, *FOREIGN):
        with tempfile.TemporaryDirectory() as scratch:
            path = folder / name / "model.onnx"
            ok, said = judge_old(castnet, path, Path(scratch)) if name in OLD else judge_foreign(castnet, path, Path(scratch), FOREIGN[name])
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print(f"FAIL {name}\n{said}again: tests/models/reject.py --castnet {args.castnet}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
