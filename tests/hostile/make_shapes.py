#!/usr/bin/env python3
"""Write the suite's cases of single operators again with one axis of one input longer, shorter or empty, as users err.

  make_shapes.py --cases DIR -o DIR

Whether such a model is refused, returns an error code or computes something is not judged (`tests/conformance/run.py --any-verdict`): no
compiler or generated code may crash or touch memory that is not its own. One case an operator; every axis of every input, by four lengths;
declared as it is, and with all sizes left open.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance"))
import make_cases as suite  # noqa: E402


def read(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def plain(values):
    return all(v.type.WhichOneof("value") == "tensor_type" for v in values)


def inputs_of(model, folder):
    """[(value, array)] of a case whose inputs are tensors of numbers; [] of others."""
    stored = {t.name for t in model.graph.initializer}
    values = [v for v in model.graph.input if v.name not in stored]
    if not plain(values) or not plain(model.graph.output):
        return []
    arrays = [read(folder / "test_data_set_0" / f"input_{k}.pb") for k in range(len(values))]
    return list(zip(values, arrays)) if all(a.dtype.kind in "fiub" for a in arrays) else []


def resized(array, axis, length):
    shape = [*array.shape[:axis], length, *array.shape[axis + 1:]]
    return np.resize(array, shape) if array.size and 0 not in shape else np.zeros(shape, array.dtype)


def declared(model, name, axis, length, left_open):
    """A copy of the model with that size, or with no sizes at all."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    stored = {t.name for t in model.graph.initializer}
    for value in copy.graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name == name and not left_open:
            dims[axis].dim_value = length
        for k, dim in enumerate(dims if left_open and value.name not in stored else ()):
            dim.Clear()
            dim.dim_param = f"{value.name}_{k}"
    for value in copy.graph.output:
        value.type.tensor_type.ClearField("shape")
    return copy


def mutants(inputs):
    """(input's number, axis, length)."""
    for k, (_, array) in enumerate(inputs):
        for axis, now in enumerate(array.shape):
            for length in sorted({now - 1, now + 1, now + 3, 0} - {now, -1}):
                yield k, axis, length


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    index, seen = [], set()
    for case in json.loads((options.cases / "index.json").read_text()):
        if case["kind"] != "node" or case["op"] in seen or "_expanded" in case["name"]:
            continue
        source = options.cases / "node" / case["name"]
        model = onnx.load(source / "model.onnx")
        inputs = inputs_of(model, source)
        if not inputs:
            continue
        seen.add(case["op"])
        recorded = [read(path) for path in sorted((source / "test_data_set_0").glob("output_*.pb"), key=lambda p: int(p.stem[7:]))]
        for (k, axis, length), form in ((m, form) for m in mutants(inputs) for form in ("told", "open")):
            name = f"{case['name']}_{form}_{k}_{axis}_{length}"
            folder = options.out / "shapes" / name
            folder.mkdir(parents=True)
            changed = declared(model, inputs[k][0].name, axis, length, form == "open")
            suite.write_message(folder / "model.onnx", changed)
            arrays = [resized(a, axis, length) if i == k else a for i, (_, a) in enumerate(inputs)]
            suite.write_data_set(folder / "test_data_set_0", changed.graph, arrays, recorded)
            index.append({"kind": "shapes", "name": name, "rtol": 1e-3, "atol": 1e-5, "op": case["op"], "ops": case["ops"]})
    (options.out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
