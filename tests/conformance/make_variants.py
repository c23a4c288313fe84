#!/usr/bin/env python3
"""Write the suite's cases (make_cases.py) again in a form that asks more of a compiler, with the same recorded outputs.

  make_variants.py --cases DIR --form FORM -o DIR

open            Each dimension of an input is a symbol of its own; sizes of outputs and of values between are taken out. So
                one generated source has to do for every size, and to find out from the data alone what broadcasts and
                what fits. Where the length of a list is the rank of a result, the declared rank says it.
wrong_outputs   Outputs and values between are declared one larger than they are in each dimension.
constants       All inputs are constants: the compiler has to compute the model.
first_constant  The first input is a constant.
rest_constant   All inputs but the first are constants.

Left out are the cases in LEFT_OUT, for the reason given there, and those that the form does not change.
"""
import argparse
import json
import os
import shutil
from pathlib import Path

import onnx
from onnx import TensorProto

# Sums of up to eight bfloat16 values are rounded after each addition as the recorded outputs were; sums of open length once.
SHORT_SUMS = [f"test_attention_{name}{expanded}" for expanded in ("", "_expanded") for name in (
    "3d_causal_bf16", "4d_causal_bf16", "4d_causal_padded_kv_bf16", "4d_padded_kv_bf16")]
LEFT_OUT = {"open": SHORT_SUMS}


def tensor_type(value):
    kind = value.type.WhichOneof("value")
    return getattr(value.type, kind) if kind in ("tensor_type", "sparse_tensor_type") else None


def open_sizes(model, _data):
    stored = {t.name for t in model.graph.initializer}
    for value in model.graph.input:
        t = tensor_type(value)
        if t is None or value.name in stored:
            continue
        for k, dim in enumerate(t.shape.dim):
            dim.Clear()
            dim.dim_param = f"{value.name}_{k}"
    for value in model.graph.output:
        t = tensor_type(value)
        for dim in t.shape.dim if t is not None else ():
            dim.Clear()
    del model.graph.value_info[:]
    return True


def wrong_outputs(model, _data):
    for value in [*model.graph.output, *model.graph.value_info]:
        t = tensor_type(value)
        for dim in t.shape.dim if t is not None else ():
            if dim.HasField("dim_value"):
                dim.dim_value += 1
    return True


def constants(model, data, which):
    """Moves the tensors among the inputs that `which` picks by position into the model, out of the data set."""
    stored = {t.name for t in model.graph.initializer}
    kept, moved = [], 0
    for k, value in enumerate(list(model.graph.input)):
        path = data / f"input_{k}.pb"
        if which(k) and value.type.HasField("tensor_type") and value.name not in stored and path.exists():
            tensor = TensorProto.FromString(path.read_bytes())
            tensor.name = value.name
            model.graph.initializer.append(tensor)
            model.graph.input.remove(value)
            path.unlink()
            moved += 1
        else:
            kept.append(path)
    for k, path in enumerate(kept):
        if path.exists():
            path.rename(data / f"input_{k}.pb")
    return moved > 0


FORMS = {
    "open": open_sizes,
    "wrong_outputs": wrong_outputs,
    "constants": lambda model, data: constants(model, data, lambda k: True),
    "first_constant": lambda model, data: constants(model, data, lambda k: k == 0),
    "rest_constant": lambda model, data: constants(model, data, lambda k: k > 0),
}


def copy_files(source, folder, n_sets):
    """The case's files but for the model, as links; its first n_sets data sets."""
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.is_dir():
            if int(entry.name.rpartition("_")[2]) < n_sets:
                copy_files(entry, folder / entry.name, n_sets)
        elif entry.name != "model.onnx":
            os.symlink(entry.resolve(), folder / entry.name)


def write_case(source, folder, form):
    copy_files(source, folder, 1 if "constant" in form else 1000)
    model = onnx.load(source / "model.onnx", load_external_data=False)
    if not FORMS[form](model, folder / "test_data_set_0"):
        shutil.rmtree(folder)
        return False
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--cases", type=Path, required=True, help="folder written by make_cases.py")
    p.add_argument("--form", choices=FORMS, required=True)
    p.add_argument("-o", "--output", type=Path, required=True)
    options = p.parse_args()
    cases = [c for c in json.loads((options.cases / "index.json").read_text()) if c["name"] not in LEFT_OUT.get(options.form, ())]
    shutil.rmtree(options.output, ignore_errors=True)
    made = [c for c in cases if write_case(options.cases / c["kind"] / c["name"], options.output / c["kind"] / c["name"], options.form)]
    (options.output / "index.json").write_text(json.dumps(made))
    print(f"{len(made)} cases")


if __name__ == "__main__":
    main()
