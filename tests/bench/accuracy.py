#!/usr/bin/env python3
"""How far float32 results of castnet and of ONNX Runtime lie from the same model computed in float64.

usage: accuracy.py --castnet BIN [MODEL...] [--set networks|...|shared] [--target T] [--limit N]

A MODEL is as of run.py, and so are its inputs. The float64 model is the same graph with every float widened, run by castnet's plain kernels
for f64 (target c99, no tiles, no blocks). An error is the root of the mean square of the differences, over that of the float64
results, of the output where castnet's is largest in units of ONNX Runtime's. Ends with 1 where it is more than --limit times that.
Needs onnx, numpy, onnxruntime.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

import engines
import feed
import run

FLOAT, DOUBLE = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
LEAST = 2.0**-26  # relative: about what rounding the results alone costs
NARROW = {"RNN", "GRU", "LSTM"}  # compute in f32 whatever their type (docs/NUMERICS.md): nothing to judge by
KEPT = {"Resize": (1, 2), "Upsample": (1,)}  # operands that are f32 whatever the type


# ---- the model in float64 ----
def widened(tensor):
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name) if tensor.data_type == FLOAT else tensor


def widen_type(kind):
    if kind.HasField("tensor_type") and kind.tensor_type.elem_type == FLOAT:
        kind.tensor_type.elem_type = DOUBLE
    elif kind.HasField("sequence_type"):
        widen_type(kind.sequence_type.elem_type)


def widen_node(node):
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
    for a in node.attribute:
        if a.type == onnx.AttributeProto.TENSOR:
            a.t.CopyFrom(widened(a.t))
        elif node.op_type == "Constant" and a.name in ("value_float", "value_floats"):
            value = numpy_helper.from_array(np.array(a.f if a.name == "value_float" else list(a.floats)))
            a.CopyFrom(onnx.helper.make_attribute("value", value))
        elif a.name in ("to", "dtype") and a.i == FLOAT:
            a.i = DOUBLE


def widen(model):
    graphs = list(feed.graphs(model.graph))
    kept = {node.input[k] for g in graphs for node in g.node for k in KEPT.get(node.op_type, ()) if k < len(node.input)}
    for g in graphs:
        for t in g.initializer:
            if t.name not in kept:
                t.CopyFrom(widened(t))
        for value in [*g.input, *g.output]:
            widen_type(value.type)
        del g.value_info[:]
        for node in g.node:
            if not kept & set(node.output):
                widen_node(node)
    return model


def wide_case(case, work):
    """The same sizes and inputs as those of case."""
    folder = Path(work) / "float64" / case.name
    (folder / "test_data_set_0").mkdir(parents=True)
    onnx.save(widen(onnx.load(str(case.model))), str(folder / "model.onnx"))
    for f in case.data_set.glob("input_*.pb"):
        (folder / "test_data_set_0" / f.name).write_bytes(widened(onnx.load_tensor(str(f))).SerializeToString())
    (Path(work) / "wide").mkdir()
    return feed.Case(folder / "model.onnx", Path(work) / "wide")


# ---- errors ----
def outputs_of(options, case, name, command):
    path = case.folder / f"outputs of {name}"
    run.Worker(name, command(path), options.threads).close()
    return feed.read_outputs(case, path)


def rms(a):
    return float(np.sqrt(np.mean(np.square(a)))) if a.size else 0.0


def errors(case, exact, own, peer):
    """[(output, its error, the peer's, their ratio)], of outputs of float32"""
    found = []
    for name, ref in exact.items():
        if name in case.random or not isinstance(ref, np.ndarray) or ref.dtype != np.float64 or own[name].shape != ref.shape or not np.isfinite(ref).all():
            continue
        unit = rms(ref) or 1.0
        a, b = (rms(x[name].astype(np.float64) - ref) / unit for x in (own, peer))
        found.append((name, a, b, a / max(b, LEAST)))
    return found


def judge(options, model, work):
    work.mkdir()
    case = feed.Case(model, work)
    if case.ops & NARROW:
        raise engines.Missing("recurrent layers of f64 compute in f32")
    target = lambda c, t: lambda path: engines.castnet_command(options, c, options.cc, t, path, 1)
    own = outputs_of(options, case, "castnet", target(case, options.target))
    peer = outputs_of(options, case, "onnxruntime", lambda path: engines.ort_command(options, case, work, path))
    wide = wide_case(case, work)
    exact = outputs_of(options, wide, "float64", target(wide, "c99"))
    found = errors(case, exact, own, peer)
    if not found:
        raise engines.Missing("no output to compare")
    return max(found, key=lambda row: row[3])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="*")
    p.add_argument("--castnet", required=True)
    p.add_argument("--set", default="networks", choices=[*sorted(run.SETS), "shared"])
    p.add_argument("--models", type=Path, default=Path("build/bench-models"))
    p.add_argument("--shared", type=Path, default=run.HERE.parents[2] / "shared" / "models")
    p.add_argument("--target", default="x86-64-v4")
    p.add_argument("--cc", default="gcc")
    p.add_argument("--cflags")
    p.add_argument("--limit", type=float, default=4.0)
    options = p.parse_args()
    options.threads = 1
    worst = 0.0
    print(f"{'model':22} {'castnet':>10} {'onnxruntime':>12} {'ratio':>7}  output")
    for model in run.find_models(options):
        with tempfile.TemporaryDirectory() as work:
            try:
                name, own, peer, ratio = judge(options, model, Path(work) / "w")
            except (engines.Missing, ValueError) as why:
                print(f"{model}: not judged: {why}")
                continue
        worst = max(worst, ratio)
        label = model.parent.name if model.stem == "model" else model.stem
        print(f"{label:22} {own:10.2e} {peer:12.2e} {ratio:7.2f}  {name}", flush=True)
    return 1 if worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
