#!/usr/bin/env python3
"""What compiling costs, printed and bounded: castnet's time and memory, compilers' time and .text of what it writes.

  run.py --castnet build/compiler/castnet [--models DIR] [--target x86-64-v3]

Of large graphs: recorded models where they are at hand, DenseNet-121 with random weights, and a file of 100 MB. Times are the
processor's, so that busy neighbours do not count.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

RECORDED = ("gpt2_past", "gtcrn_simple")
MADE = ("densenet121", "large")
CASTNET_SECONDS, COMPILER_SECONDS, TEXT_BYTES = 1.0, 30.0, 1_500_000
MEMORY_BYTES, MEMORY_TIMES = 64 << 20, 4  # of castnet: so much, and so many times the file


class Failed(Exception):
    """What is wrong."""


# ---- models ----
class Graph:
    def __init__(self, seed):
        import numpy as np
        self.np, self.rng, self.nodes, self.held = np, np.random.default_rng(seed), [], []

    def constant(self, *shape, least=None):
        from onnx import numpy_helper
        values = self.rng.standard_normal(shape) / max(1, self.np.prod(shape[1:])) ** 0.5
        name = f"w{len(self.held)}"
        self.held.append(numpy_helper.from_array((abs(values) + least if least else values).astype(self.np.float32), name))
        return name

    def add(self, op, *inputs, **attributes):
        from onnx import helper
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def save(self, path, shape, result):
        from onnx import TensorProto, helper, save
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)], self.held)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def normal_conv(g, x, c, m, k):
    """Normalisation, ReLU, convolution: DenseNet's layer (Huang et al. 2017, section 3)."""
    x = g.add("BatchNormalization", x, g.constant(c), g.constant(c), g.constant(c), g.constant(c, least=0.5))
    return g.add("Conv", g.add("Relu", x), g.constant(m, c, k, k), pads=[k // 2] * 4)


def densenet121(path, growth=32):
    g, c = Graph(1), 64
    x = g.add("Relu", g.add("Conv", "x", g.constant(c, 3, 7, 7), strides=[2, 2], pads=[3] * 4))
    x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for layers in (6, 12, 24, 16):
        for _ in range(layers):
            x = g.add("Concat", x, normal_conv(g, normal_conv(g, x, c, 4 * growth, 1), 4 * growth, growth, 3), axis=1)
            c += growth
        if layers != 16:
            x = g.add("AveragePool", normal_conv(g, x, c, c // 2, 1), kernel_shape=[2, 2], strides=[2, 2])
            c //= 2
    g.add("Gemm", g.add("Flatten", g.add("GlobalAveragePool", g.add("Relu", x))), g.constant(c, 1000), g.constant(1000))
    g.save(path, [1, 3, 224, 224], [1, 1000])


def large(path, n=5000):
    g = Graph(2)
    g.add("Gemm", "x", g.constant(n, n), g.constant(n))
    g.save(path, [1, n], [1, n])


# ---- measuring ----
def measured(command, cwd=None):
    """(seconds of the processor, bytes at the most) of a command that has to succeed."""
    child = subprocess.Popen([str(c) for c in command], cwd=cwd, stderr=subprocess.PIPE, text=True)
    err = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise Failed(f"{' '.join(map(str, command))}: {err[-800:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def text_bytes(path):
    out = harness.run(["size", "-A", path], 60).out
    return sum(int(n) for n in re.findall(r"^\.text\S*\s+(\d+)", out, re.M))


def measure(castnet, path, target, flags, compilers):
    """([row of the table], [what is over its limit])"""
    with tempfile.TemporaryDirectory() as scratch:
        seconds, memory = measured([castnet, "compile", path, "-o", scratch, "--name", "m", "--target", target])
        row, over = [f"{seconds:.2f} s", f"{memory >> 20} MiB"], []
        most = MEMORY_BYTES + MEMORY_TIMES * path.stat().st_size
        if seconds > CASTNET_SECONDS or memory > most:
            over.append(f"castnet: {seconds:.2f} s, {memory >> 20} MiB; the limits are {CASTNET_SECONDS} s, {most >> 20} MiB")
        for cc in compilers:
            seconds, _ = measured([cc, *flags, "-c", "m.c", "-o", "m.o"], scratch)
            text = text_bytes(Path(scratch) / "m.o")
            row += [f"{seconds:.2f} s", f"{text:,}"]
            if seconds > COMPILER_SECONDS or text > TEXT_BYTES:
                over.append(f"{cc}: {seconds:.2f} s, .text {text}; the limits are {COMPILER_SECONDS} s, {TEXT_BYTES}")
    return row, over


def models_of(options, scratch):
    """[(name, path, is it here)]: made ones by a process of their own, since a child's peak is never below its parent's size."""
    rows = [(name, options.models / name / "model.onnx") for name in RECORDED]
    for name in MADE:
        path = scratch / f"{name}.onnx"
        measured([sys.executable, __file__, "--make", name, path])
        rows.append((name, path))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet")
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--target", default="x86-64-v3")
    parser.add_argument("--cc", default="gcc,clang")
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        {"densenet121": densenet121, "large": large}[options.make[0]](options.make[1])
        return 0
    castnet, compilers = harness.castnet_path(options.castnet), options.cc.split(",")
    listed = harness.run([castnet, "targets"], 60).out.splitlines()
    flags = next(line.split()[1:] for line in listed if line.split()[0] == options.target)
    rows, failed, skipped = [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in models_of(options, Path(scratch)):
            if not path.exists():
                skipped += 1
                continue
            try:
                row, over = measure(castnet, path, options.target, flags, compilers)
            except Failed as problem:
                row, over = [], [str(problem)]
            rows.append([name, f"{path.stat().st_size / 1e6:.1f} MB", *row])
            failed += bool(over)
            for text in over:
                print(f"FAIL {name}: {text}")
    harness.table(rows, ("model", "file", "castnet", "memory", *(h for cc in compilers for h in (cc, ".text"))))
    return harness.totals(len(rows) - failed, failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
