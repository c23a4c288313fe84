#!/usr/bin/env python3
"""Gradients by castnet against differences of onnx's reference evaluation.

  run.py --castnet build/compiler/castnet [--filter NAME]

Each row of MODELS is a function of float64 tensors in ONNX's text form and the shapes of its variables. A Gradient node behind it gives
the gradient of the sum of its result; the oracle is the central difference of that sum, one element at a time, in float64.
"""
import argparse
import fnmatch
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

STEP, RTOL, ATOL = 1e-5, 1e-5, 1e-7
ROUGH = {"gelu": 1e-3}  # rtol where the reference itself rounds to float32
MODELS = {  # name: (variables and shapes, constants, body); the last line makes y
    "arithmetic": ({"a": (2, 3), "b": (3,)}, {}, "c = Mul(a, b) d = Sub(c, a) e = Div(d, b) y = Add(e, c)"),
    "functions": ({"a": (4,)}, {}, "b = Sigmoid(a) c = Tanh(a) d = Exp(b) e = Atan(c) f = Mul(d, e) g = Softplus(f) h = Sin(g) i = Sqrt(d) y = Mul(h, i)"),
    "clipped": ({"a": (7,)}, {"lo": np.float64(-0.6), "hi": np.float64(0.6)}, "b = Relu(a) c = Clip(a, lo, hi) d = Abs(a) e = LeakyRelu(a) f = Add(b, c) g = Mul(f, d) y = Add(g, e)"),
    "power": ({"a": (3,), "b": (3,)}, {}, "c = Exp(a) y = Pow(c, b)"),
    "product": ({"a": (2, 3, 4), "b": (4, 5)}, {}, "c = MatMul(a, b) y = Mul(c, c)"),
    "gemm": ({"a": (4, 3), "b": (5, 4), "c": (5,)}, {}, "d = Gemm<transA = 1, transB = 1, alpha = 0.5>(a, b, c) y = Mul(d, d)"),
    "einsum": ({"a": (2, 3, 4), "b": (2, 4, 5)}, {}, 'c = Einsum<equation = "bij,bjk->bik">(a, b) y = Exp(c)'),
    "softmax": ({"a": (3, 5), "w": (3, 5)}, {}, "b = Softmax<axis = 1>(a) c = LogSoftmax<axis = 0>(w) d = Mul(b, w) y = Add(d, c)"),
    "norm": ({"a": (3, 6), "s": (6,), "b": (6,)}, {}, "c = LayerNormalization(a, s, b) y = Mul(c, c)"),
    "conv": ({"x": (2, 4, 6, 5), "w": (6, 2, 3, 3), "b": (6,)}, {},
             "c = Conv<group = 2, pads = [1, 1, 1, 0], strides = [2, 1]>(x, w, b) y = Tanh(c)"),
    "conv_transpose": ({"x": (1, 2, 3, 4), "w": (2, 3, 3, 3)}, {}, "c = ConvTranspose<strides = [2, 2], pads = [1, 0, 0, 1]>(x, w) y = Tanh(c)"),
    "pools": ({"x": (1, 2, 6, 6)}, {}, "a = MaxPool<kernel_shape = [3, 2], strides = [2, 2]>(x) b = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x) "
              "c = Exp(b) d = GlobalAveragePool(c) e = ReduceSum(a) y = Mul(d, e)"),
    "movement": ({"x": (2, 3, 4)}, {"starts": np.array([1, -1]), "ends": np.array([3, -5]), "axes": np.array([1, 2]), "steps": np.array([1, -2]),
                                    "flat": np.array([-1]), "pads": np.array([1, 0, 0, 2]), "i": np.array([0, 2, 2, -1])},
                 "a = Transpose<perm = [2, 0, 1]>(x) b = Slice(x, starts, ends, axes, steps) c = Reshape(a, flat) d = Reshape(b, flat) e = Concat<axis = 0>(c, d) "
                 "f = Gather(e, i) g = Expand(e, wide_e) h = Pad(g, pads) k = Mul(h, h) l = ReduceSum(k) y = Mul(f, l)"),
    "reductions": ({"x": (3, 4)}, {"one": np.array([1]), "last": np.array(1)}, "a = ReduceMax(x, one) b = ReduceProd(x, one) c = ReduceMean(x, one) d = ReduceL2(x, one) e = Mul(a, b) "
                   "f = Mul(c, d) g = CumSum(x, last) h = ReduceLogSumExp(g, one) i = Add(e, f) y = Mul(i, h)"),
    "where": ({"a": (3, 4), "b": (4,)}, {}, "c = Greater(a, b) d = Where(c, a, b) y = Mul(d, d)"),
    "scatter": ({"x": (4, 2), "u": (2, 2)}, {"i": np.array([[1], [3]])}, "a = ScatterND(x, i, u) b = Mul(a, a) c = GatherND(b, i) y = Mul(c, u)"),
    "gelu": ({"a": (5,)}, {}, 'b = Gelu(a) c = Gelu<approximate = "tanh">(a) d = Mish(a) e = Mul(b, c) y = Add(e, d)'),
}
MODELS["movement"][1]["wide_e"] = np.array([2, 32])


def model_of(name, with_gradient):
    variables, constants, body = MODELS[name]
    types = ", ".join(f"double[{','.join(map(str, shape))}] {v}" for v, shape in variables.items())
    text = f'<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>\ng ({types}) => (double y) {{ {body} }}'
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    model.graph.output[0].type.tensor_type.ClearField("shape")
    if with_gradient:
        model.graph.node.append(helper.make_node("Gradient", list(variables), [f"d_{v}" for v in variables], domain="ai.onnx.preview.training",
                                                 xs=list(variables), y="y"))
        model.graph.output.extend(helper.make_tensor_value_info(f"d_{v}", onnx.TensorProto.DOUBLE, s) for v, s in variables.items())
    return model


def differences(evaluator, values):
    """Central differences of the sum of y, element by element of every variable."""
    found = []
    for name, value in values.items():
        slope = np.zeros_like(value)
        for at in np.ndindex(value.shape):
            sums = []
            for step in (STEP, -STEP):
                moved = value.copy()
                moved[at] += step
                sums.append(evaluator.run(None, {**values, name: moved})[0].sum())
            slope[at] = (sums[0] - sums[1]) / (2 * STEP)
        found.append(slope)
    return found


def judge(castnet, name, folder):
    rng = np.random.default_rng(7)
    values = {v: rng.uniform(-1, 1, shape) for v, shape in MODELS[name][0].items()}
    evaluator = ReferenceEvaluator(model_of(name, False))
    outputs = evaluator.run(None, values) + differences(evaluator, values)
    data = folder / "test_data_set_0"
    data.mkdir()
    onnx.save(model_of(name, True), folder / "model.onnx")
    for side, arrays in (("input", values.values()), ("output", outputs)):
        for i, array in enumerate(arrays):
            (data / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    done = subprocess.run([castnet, "check", folder / "model.onnx", "--rtol", str(ROUGH.get(name, RTOL)), "--atol", str(ATOL)], capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--castnet", required=True, type=Path)
    options.add_argument("--filter", default="*")
    args = options.parse_args()
    failed = passed = 0
    for name in MODELS:
        if not fnmatch.fnmatch(name, args.filter):
            continue
        with tempfile.TemporaryDirectory() as folder:
            ok, said = judge(args.castnet.resolve(), name, Path(folder))
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print(f"FAIL {name}\n{said}again: tests/gradient/run.py --castnet {args.castnet} --filter {name}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
