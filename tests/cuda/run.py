#!/usr/bin/env python3
"""Target cuda on the emulated GPU, or on a real one with --cc nvcc.

  run.py --castnet build/compiler/castnet [--models DIR] [--cc tests/cuda/emulated_nvcc]

- The order of threads and blocks changes no bit of any result: forward, backward and shuffled runs of small models and, where
  they are at hand, recorded ones. (On a GPU: three runs.)
- An index out of range is CASTNET_ERR_INDEX from N_status, in a plain kernel and between the barriers of a reduction.
- Weights reach the device in every form; what is not printed is refused with its node's name.
Ends with `N passed, N failed, N skipped`.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.parser

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
MODELS = {  # name: text, inputs
    "softmax": ("agraph (float[3,n] x) => (float[3,n] y) { y = Softmax<axis = 1>(x) }", {"x": (3, 700)}),
    "product": ("agraph (float[b,70,130] x, float[130,67] w) => (float[b,70,67] y) { t = MatMul(x, w)\n y = Relu(t) }",
                {"x": (3, 70, 130), "w": (130, 67)}),
    "conv": ("agraph (float[2,8,15,17] x, float[10,4,3,3] w, float[10] b) => (float[2,10,15,17] y) "
             "{ t = Conv<pads = [1,1,1,1], group = 2>(x, w, b)\n y = Tanh(t) }", {"x": (2, 8, 15, 17), "w": (10, 4, 3, 3), "b": (10,)}),
    "pool": ("agraph (float[1,4,13,13] x) => (float[1,4,6,6] y) { y = MaxPool<kernel_shape = [3,3], strides = [2,2]>(x) }", {"x": (1, 4, 13, 13)}),
    "scan": ("agraph (float[9,40] x) => (float[9,40] y) <int64 a = {1}> { y = CumSum(x, a) }", {"x": (9, 40)}),
    "reduce": ("agraph (float[5,33,9] x) => (float[5,9] y) <int64[1] a = {1}> { y = ReduceL2<keepdims = 0>(x, a) }",
               {"x": (5, 33, 9)}),
}
RECORDED = ("mnist_cntk", "micro_kws_qop", "byte_bilstm")
ORDERS = ("forward", "backward", "shuffled")
GATHER = "agraph (float[6,90] x, int64[4] i) => (float[4,90] y) { y = Gather(x, i) }"
GATHER_SUM = "agraph (float[6,90] x, int64[4] i) => (float[4] y) <int64[1] a = {1}> { t = Gather(x, i)\n y = ReduceSum<keepdims = 0>(t, a) }"
WEIGHTS = "agraph (float[3] x) => (float[3] y) <float[3] w = {1.5, -2.0, 4.0}> { y = Mul(x, w) }"
REFUSED = "agraph (float[7] x, int64[1] n) => (float[m] y) { y = Expand(x, n) }"


class Test:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        self.castnet = harness.castnet_path(options.castnet)
        self.passed = self.failed = 0
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}

    def judge(self, what, why):
        self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
        if why:
            print(f"FAIL {what}: {why}")

    def model(self, name, text):
        path = self.folder / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(HEAD + text), path)
        return path

    def inputs(self, arrays):
        """--input options for {name: array}."""
        words = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            words += ["--input", f"{name}={self.folder / name}.npy"]
        return words

    def run(self, model, words, order="forward", *more):
        """(outcome, {file: bytes})"""
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            env = {**self.env, "CASTNET_EMULATION_ORDER": order}
            outcome = harness.run([self.castnet, "run", model, *words, "--target", "cuda", "--cc", self.options.cc, "--output-dir", out,
                                   "--timeout", 300, *more], 900, env=env)
            return outcome, {p.name: p.read_bytes() for p in Path(out).iterdir()}

    def orders(self, name, model, words):
        first = None
        for order in ORDERS:
            outcome, files = self.run(model, words, order)
            if outcome.status or not files:
                return self.judge(f"{name} {order}", outcome.err or outcome.out or "no outputs")
            first = first or files
            if files != first:
                return self.judge(f"{name} {order}", "other bits than forward")
        return self.judge(name, "")

    def made(self):
        random = np.random.default_rng(1)
        for name, (text, shapes) in MODELS.items():
            arrays = {n: random.standard_normal(shape, dtype=np.float32) for n, shape in shapes.items()}
            self.orders(name, self.model(name, text), self.inputs(arrays))

    def recorded(self):
        for name in RECORDED:
            root = self.options.models / name
            if not root.exists():
                continue
            graph = onnx.load(root / "model.onnx", load_external_data=False).graph
            held = {t.name for t in graph.initializer}
            names = [i.name for i in graph.input if i.name not in held]
            words = [w for k, n in enumerate(names) for w in ("--input", f"{n}={root}/test_data_set_0/input_{k}.pb")]
            self.orders(name, root / "model.onnx", words)

    def errors(self):
        x = np.arange(540, dtype=np.float32).reshape(6, 90)
        for name, text in (("gather", GATHER), ("gather_sum", GATHER_SUM)):
            model = self.model(name, text)
            outcome, files = self.run(model, self.inputs({"x": x, "i": np.array([0, -6, 5, 2])}))
            self.judge(name, outcome.err if outcome.status or not files else "")
            for bad in (6, -7, 2**40):
                outcome, _ = self.run(model, self.inputs({"x": x, "i": np.array([0, 1, bad, 2])}))
                self.judge(f"{name} {bad}", "" if "CASTNET_ERR_INDEX" in outcome.err else f"no CASTNET_ERR_INDEX: {outcome.err}")

    def weights(self):
        model, words = self.model("weights", WEIGHTS), self.inputs({"x": np.array([2, 3, 5], dtype=np.float32)})
        for form in ("c", "asm", "bin"):
            outcome, files = self.run(model, words, "forward", "--weights", form)
            good = files.get("y.npy", b"").endswith(np.array([3, -6, 20], dtype=np.float32).tobytes())
            self.judge(f"--weights={form}", "" if good else outcome.err or "wrong result")

    def refusals(self):
        outcome = harness.run([self.castnet, "compile", self.model("refused", REFUSED), "-o", self.folder, "--target", "cuda"], 60)
        self.judge("refusal", "" if outcome.status == 1 and "(Expand): error E0306" in outcome.err else outcome.err or "not refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--cc", default=str(HERE / "emulated_nvcc"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(options, folder)
        for part in (test.made, test.recorded, test.errors, test.weights, test.refusals):
            part()
    return harness.totals(test.passed, test.failed, 0)


if __name__ == "__main__":
    sys.exit(main())
