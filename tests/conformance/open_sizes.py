#!/usr/bin/env python3
"""Write the suite's cases (make_cases.py) again with every size of their inputs left open.

  open_sizes.py --cases DIR -o DIR [--wrong-outputs]

Each dimension of an input becomes a symbol of its own, sizes of outputs and of values between are taken out; what the
model computes and the recorded data stay. So one generated source has to do for every size, and to find out from the
data alone what broadcasts and what fits. Left as they are:
- lists of integers (rank 1, int32 or int64): their length may be the rank of another value, which generated C fixes;
- the cases in KEPT, for the reason given there.

With --wrong-outputs the inputs keep their sizes, and outputs and values between are declared one larger than they are in
each dimension.
"""
import argparse
import json
import os
import shutil
from pathlib import Path

import onnx
from onnx import TensorProto

LISTS = (TensorProto.INT32, TensorProto.INT64)
# Sums of up to eight bfloat16 values are rounded after each addition as the recorded outputs were; sums of open length once.
KEPT = {f"test_attention_{name}{expanded}" for expanded in ("", "_expanded") for name in (
    "3d_causal_bf16", "4d_causal_bf16", "4d_causal_padded_kv_bf16", "4d_padded_kv_bf16")}


def tensor_type(value):
    kind = value.type.WhichOneof("value")
    return getattr(value.type, kind) if kind in ("tensor_type", "sparse_tensor_type") else None


def open_sizes(model):
    stored = {t.name for t in model.graph.initializer}
    for value in model.graph.input:
        t = tensor_type(value)
        if t is None or value.name in stored or (len(t.shape.dim) == 1 and t.elem_type in LISTS):
            continue
        for k, dim in enumerate(t.shape.dim):
            dim.Clear()
            dim.dim_param = f"{value.name}_{k}"
    for value in model.graph.output:
        t = tensor_type(value)
        for dim in t.shape.dim if t is not None else ():
            dim.Clear()
    del model.graph.value_info[:]


def wrong_outputs(model):
    for value in [*model.graph.output, *model.graph.value_info]:
        t = tensor_type(value)
        for dim in t.shape.dim if t is not None else ():
            if dim.HasField("dim_value"):
                dim.dim_value += 1


def write_case(source, folder, change):
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name != "model.onnx":
            os.symlink(entry.resolve(), folder / entry.name)
    model = onnx.load(source / "model.onnx", load_external_data=False)
    change(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cases", type=Path, required=True, help="folder written by make_cases.py")
    p.add_argument("-o", "--output", type=Path, required=True)
    p.add_argument("--wrong-outputs", action="store_true")
    options = p.parse_args()
    change = wrong_outputs if options.wrong_outputs else open_sizes
    cases = [c for c in json.loads((options.cases / "index.json").read_text()) if change is wrong_outputs or c["name"] not in KEPT]
    shutil.rmtree(options.output, ignore_errors=True)
    for case in cases:
        write_case(options.cases / case["kind"] / case["name"], options.output / case["kind"] / case["name"], change)
    (options.output / "index.json").write_text(json.dumps(cases))
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
