#!/usr/bin/env python3
"""The forms of weights: placement, replacement at run time, and the time that a large model takes to become an object.

  run.py --castnet build/compiler/castnet [--cc gcc]
"""
import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

EMBEDS = ("clang-19", "clang-20", "clang-21", "gcc-15", "gcc-16")  # the first ones that know #embed
LARGE_SECONDS, LARGE_BYTES = 5.0, 1 << 30
OK, ERR_ALIGN, ERR_WEIGHTS = 0, 2, 7
X = np.array([1.0, -2.0, 3.0, 0.5], np.float32)


class Failed(Exception):
    """What is wrong."""


def tool(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def measured(*command):
    """(seconds, bytes at the most) of a command that has to succeed."""
    begin = time.monotonic()
    child = subprocess.Popen([str(c) for c in command])
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise Failed(f"{' '.join(map(str, command))}: status {status}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


def model(path, *layers, activation="Relu"):
    """x [1][n] through products with a bias each."""
    nodes, held, at = [], [], "x"
    for i, (w, bias) in enumerate(layers):
        held += [numpy_helper.from_array(w, f"w{i}"), numpy_helper.from_array(bias, f"b{i}")]
        last = i + 1 == len(layers)
        nodes.append(helper.make_node("Gemm", [at, f"w{i}", f"b{i}"], ["y" if last else f"h{i}"]))
        if not last:
            nodes.append(helper.make_node(activation, [f"h{i}"], [f"a{i}"]))
            at = f"a{i}"
    n, m = layers[0][0].shape[0], layers[-1][0].shape[1]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, n])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, m])], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def small(path, seed, zeros=False, activation="Relu"):
    """A model of [4] to [3], and what it gives for X. zeros: all biases are, so that two are equal."""
    rng = np.random.default_rng(seed)
    shapes = ((4, 5), (5, 5), (5, 3))
    layers = [(rng.standard_normal(s).astype(np.float32), (rng.standard_normal(s[1]) * (not zeros)).astype(np.float32)) for s in shapes]
    value = X
    for i, (w, bias) in enumerate(layers):
        value = value @ w + bias
        if i + 1 < len(layers):
            value = np.maximum(value, 0) if activation == "Relu" else np.tanh(value)
    return model(path, *layers, activation=activation), value


def compiled(castnet, path, folder, form):
    tool(castnet, "compile", path, "-o", folder, "--name", "m", f"--weights={form}")
    return folder


def check_forms(castnet, cc, work):
    """Every form compiles without a warning and gives the same as the evaluation of the model. Counts those that had no compiler."""
    path, _ = small(work / "forms.onnx", 1)
    embeds = next((c for c in EMBEDS if shutil.which(c)), None)
    for form in ("auto", "c", "asm", "bin") + (("embed",) if embeds else ()):
        compiler = embeds if form == "embed" else cc
        tool(castnet, "check", path, f"--weights={form}", "--cc", compiler, "--cflags=-Wall -Wextra -Wpedantic -Werror")
    if not embeds:
        print(f"skipped, no compiler that knows #embed: {' '.join(EMBEDS)}")
    return embeds


def check_placement(castnet, cc, embeds, work):
    """Section and alignment of the object are what the macros say."""
    path, _ = small(work / "place.onnx", 1)
    for form, compiler in (("c", cc), ("asm", cc), ("embed", embeds)):
        if not compiler:
            continue
        folder = compiled(castnet, path, work / f"place-{form}", form)
        tool(compiler, "-std=c99", "-I", folder, "-DCASTNET_WEIGHTS_SECTION=\".flash\"", "-DCASTNET_WEIGHTS_ALIGN=4096", "-c",
             folder / "m_weights.c", "-o", folder / "w.o")
        row = re.search(r"\.flash\s+PROGBITS.*", tool("readelf", "-SW", folder / "w.o"))
        if not row or row[0].split()[-1] != "4096" or " A " not in row[0]:
            raise Failed(f"{form}: the section is {row[0] if row else 'missing'}")


def check_replacement(castnet, cc, work):
    """Code of one training runs with the weights of another; what does not fit is an error code, and nothing is computed."""
    first, want_first = small(work / "first.onnx", 1)
    second, want_second = small(work / "second.onnx", 2, zeros=True)
    folder = compiled(castnet, first, work / "first", "bin")
    again = compiled(castnet, second, work / "second", "bin")
    other = compiled(castnet, small(work / "other.onnx", 3, activation="Tanh")[0], work / "other", "bin")
    tool(cc, "-std=gnu99", "-O1", "-ffp-contract=off", "-I", folder, HERE / "use.c", folder / "m.c", "-o", folder / "use")
    good = (folder / "m_weights.bin").read_bytes()
    changed = {"magic": b"X" + good[1:], "version": good[:8] + struct.pack("<I", 2) + good[12:],
               "header": good[:12] + struct.pack("<I", 32) + good[16:], "size": good[:16] + struct.pack("<Q", len(good) + 64) + good[24:],
               "code": good[:24] + bytes(16) + good[40:], "cut": good[:-64], "empty": b""}
    rows = [("first", folder / "m_weights.bin", 0, OK, want_first), ("second", again / "m_weights.bin", 0, OK, want_second),
            ("other code", other / "m_weights.bin", 0, ERR_WEIGHTS, None), ("misaligned", folder / "m_weights.bin", 4, ERR_ALIGN, None)]
    for name, data in changed.items():
        (work / name).write_bytes(data)
        rows.append((name, work / name, 0, ERR_WEIGHTS, None))
    for name, path, offset, status, want in rows:
        words = tool(folder / "use", path, offset).split()
        if [int(w) for w in words[:2]] != [status, status]:
            raise Failed(f"weights {name}: returned {words[:2]}, not {status}")
        got = np.array([float(w) for w in words[2:]], np.float32)
        if not np.allclose(got, np.zeros(3) if want is None else want, rtol=1e-4, atol=1e-5):
            raise Failed(f"weights {name}: computed {got}, not {want}")
    return len(rows)


def make_large(path, n=5000):
    model(path, (np.random.default_rng(1).standard_normal((n, n)).astype(np.float32), np.zeros(n, np.float32)))


def check_large(castnet, cc, work):
    """100 MB of weights from .onnx to objects."""
    path = work / "large.onnx"
    tool(sys.executable, __file__, "--make-large", path)  # apart: a child's peak is never below its parent's size
    folder = work / "large"
    steps = [measured(castnet, "compile", path, "-o", folder, "--name", "m")]
    for source in ("m.c", "m_weights.c"):
        steps.append(measured(cc, "-std=c99", "-O2", "-ffp-contract=off", "-I", folder, "-c", folder / source, "-o", folder / f"{source}.o"))
    seconds, memory = sum(s for s, _ in steps), max(m for _, m in steps)
    print(f"{path.stat().st_size / 1e6:.0f} MB: castnet {steps[0][0]:.2f} s and {steps[0][1] >> 20} MiB, all {seconds:.2f} s and {memory >> 20} MiB")
    if seconds > LARGE_SECONDS or memory > LARGE_BYTES:
        raise Failed(f"the limits are {LARGE_SECONDS} s and {LARGE_BYTES >> 20} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet")
    parser.add_argument("--make-large", help=argparse.SUPPRESS)
    parser.add_argument("--cc", default="gcc")
    options = parser.parse_args()
    if options.make_large:
        make_large(options.make_large)
        return 0
    castnet = harness.castnet_path(options.castnet)
    embeds = next((c for c in EMBEDS if shutil.which(c)), None)
    passed = failed = 0
    checks = (lambda w: check_forms(castnet, options.cc, w), lambda w: check_placement(castnet, options.cc, embeds, w),
              lambda w: check_replacement(castnet, options.cc, w), lambda w: check_large(castnet, options.cc, w))
    for check in checks:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                check(Path(scratch))
                passed += 1
            except Failed as why:
                failed += 1
                print(f"FAIL {why}")
    return harness.totals(passed, failed, 0 if embeds else 1)


if __name__ == "__main__":
    sys.exit(main())
