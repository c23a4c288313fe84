#!/usr/bin/env python3
"""What bounds hostile data when the code runs: castnet_env.max_trip for loops, linear time for regular expressions, the size of an axis for
constant indices into it, what a model keeps indices to for those that the code does not look at.

  limits.py --castnet build/compiler/castnet [--cc gcc]
"""
import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
LOOPS = {  # name: (model, rounds of the largest loop where `n` is 5; None: it never ends)
    "counted": ("""f (int64 n) => (int64 y) {
  y = Loop (n, , n) <body = b (int64 i, bool c, int64 s) => (bool c, int64 t) { t = Add (s, i) }>
}""", 5),
    "nested": ("""f (int64 n) => (int64 y) {
  two = Constant <value = int64 {2}> ()
  y = Loop (two, , n) <body = b (int64 i, bool c, int64 s) => (bool c, int64 t) {
    t = Loop (n, , s) <body = d (int64 j, bool e, int64 u) => (bool e, int64 v) { v = Add (u, j) }>
  }>
}""", 5),
    "endless": ("""f (int64 n) => (int64 y) {
  y = Loop (, , n) <body = b (int64 i, bool c, int64 s) => (bool c, int64 t) { t = Add (s, i) }>
}""", None),
    "endless_growing": ("""f (int64 n) => (int64[k] y) {
  axis = Constant <value = int64[1] {0}> ()
  start = Unsqueeze (n, axis)
  y = Loop (, , start) <body = b (int64 i, bool c, int64[p] s) => (bool c, int64[q] t) { t = Concat <axis = 0> (s, start) }>
}""", None),
    "scan": ("""f (int64 n) => (int64 y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  r = Range (zero, n, one)
  y, all = Scan <num_scan_inputs = 1, body = b (int64 s, int64 e) => (int64 t, int64 o) { t = Add (s, e) o = Identity (t) }> (zero, r)
}""", 5),
}
CALL = """#include <stdlib.h>
#include "model.h"
static unsigned char ws[1 << 24] __attribute__((aligned(64)));
int main(int argc, char **argv) {
  static int64_t n = 5, y[1];
  model_inputs in = {&n};
  model_outputs out = {0};
  castnet_env env = {.size = sizeof env, .max_trip = (uint64_t)atoi(argv[argc - 1])};
  (void)y;
  SET
  return model_run(&in, &out, ws, sizeof ws, &env);
}
"""
OK, TRIP = 0, 8
PATTERNS = ("(a*)*b", "(a|a)*b", "(a+)+b", "(a|aa)+b", "(.*a){20}b", "(a?){30}a{30}", "((a*)*)*b")
PLACES = {  # constant indices into an axis, and steps along it: the least size that has them
    "gather": ("f (float[n, 2] x) => (float[2] y) { i = Constant <value = int64 {5}> () y = Gather (x, i) }", 6),
    "gather_from_the_end": ("f (float[n, 2] x) => (float[2] y) { i = Constant <value = int64 {-5}> () y = Gather (x, i) }", 5),
    "slice_by_a_step_of_0": ("""f (float[n, 2] x) => (float[k, 2] y) {
  most = Constant <value = float {5.0}> ()
  one = Constant <value = float {1.0}> ()
  zero = Constant <value = int64[1] {0}> ()
  end = Constant <value = int64[1] {1}> ()
  ones = Add (x, one)
  n = ReduceMean <axes = [1], keepdims = 0> (ones)
  rows = ReduceSum <keepdims = 1> (n)
  more = Sub (rows, most)
  step = Cast <to = 7> (more)
  y = Slice (x, zero, end, zero, step)
}""", 6),
    "gather_several": ("f (float[n, 2] x) => (float[2, 2] y) { i = Constant <value = int64[2] {3, 0}> () y = Gather (x, i) }", 4),
}
KEPT = {  # rows of six that a number names: what keeps it in range, numbers that are, numbers that are not
    "from_below": ("k = Max (i, zero)", (-9, 5), (6, 1 << 40)),
    "from_above": ("k = Min (i, five)", (-6, 1 << 40), (-7, -(1 << 40))),
    "on_both_sides": ("j = Max (i, zero) k = Min (j, five)", (-(1 << 40), 3, 1 << 40), ()),
    "on_both_sides_wrapping": ("j = Min (five, i) k = Max (j, least)", (-(1 << 40), -6, 1 << 40), ()),
    "too_far_below": ("j = Min (i, five) k = Max (j, less)", (-6, 1 << 40), (-7, -(1 << 40))),
    "too_far_above": ("j = Max (zero, i) k = Min (six, j)", (-7, 5), (6, 1 << 40)),
    "by_types": ("b = Cast <to = 2> (i) k = Cast <to = 6> (b)", (5, 256), (6, 255, -1)),
    "by_types_and_above": ("b = Cast <to = 13> (i) c = Cast <to = 13> (five) d = Min (b, c) k = Cast <to = 7> (d)", (-1, 3, 1 << 40), ()),
    "by_fewer_bits": ("b = Cast <to = 6> (i) c = Cast <to = 6> (zero) d = Max (b, c) k = Cast <to = 7> (d)", (-1, 5, 1 << 32), (6, (1 << 32) + 7)),
}
KEPT_MODEL = """f (int64 i) => (float y) <float[6] w = {{0, 1, 2, 3, 4, 5}}, int64 zero = {{0}}, int64 five = {{5}}, int64 six = {{6}}, int64 least = {{-6}}, int64 less = {{-7}}> {{
  {body}
  y = Gather (w, k)
}}"""
KEPT_CALL = """#include <stdlib.h>
#include "model.h"
static unsigned char ws[1 << 16] __attribute__((aligned(64)));
int main(int argc, char **argv) {
  int64_t i = atoll(argv[argc - 1]);
  float y = -1;
  model_inputs in = {&i};
  model_outputs out = {.y = &y};
  const int failed = model_run(&in, &out, ws, sizeof ws, NULL);
  return failed == CASTNET_ERR_INDEX ? 1 : failed ? 2 : !(y >= 0 && y <= 5) ? 3 : 0;
}
"""
LENGTH, SECONDS = 100000, 20  # a search that goes back would need more than the age of the world


def build(options, folder, model, main):
    """The code of a model and a program that calls it."""
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    subprocess.run([options.castnet, "compile", folder / "model.onnx", "-o", folder / "code"], check=True, capture_output=True)
    (folder / "main.c").write_text(main)
    sources = sorted((folder / "code").glob("*.c"))
    subprocess.run([options.cc, "-std=gnu99", "-O1", "-I", folder / "code", *sources, folder / "main.c", "-o", folder / "program"], check=True)
    return folder / "program"


def loop_faults(options, name, text, rounds):
    """What is wrong with a loop under limits around its number of rounds."""
    model = parser.parse_model(HEAD + text)
    scalar = model.graph.output[0].type.tensor_type.shape.dim[:] == []
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(options, Path(folder), model, CALL.replace("SET", "out.y = y;" if scalar else ""))
        for most in (0, 4, 5, 6):
            if rounds is None and most == 0:
                continue
            wanted = OK if most == 0 or (rounds is not None and most >= rounds) else TRIP
            got = subprocess.run([program, str(most)], timeout=60).returncode
            if got != wanted:
                faults.append(f"{name}: max_trip {most}: returned {got}, not {wanted}")
    return faults


def pattern_faults(options, pattern):
    """A pattern against a long text that it nearly fits."""
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 8, [1])], [helper.make_tensor_value_info("y", 9, [1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        data = folder / "test_data_set_0"
        data.mkdir()
        text = np.array(["a" * LENGTH], object)
        (data / "input_0.pb").write_bytes(numpy_helper.from_array(text, "x").SerializeToString())
        (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.array([False]), "y").SerializeToString())
        begin = time.monotonic()
        outcome = harness.run([options.castnet, "check", folder / "model.onnx", "--cc", options.cc], SECONDS)
        took = time.monotonic() - begin
    return [] if "agrees" in outcome.out else [f"{pattern}: after {took:.0f} s: {outcome.out.strip() or outcome.err.strip()}"]


def place_faults(options, name, text, least):
    """An axis of the least size that has the place, and one that is shorter by 1."""
    model, faults = parser.parse_model(HEAD + text), []
    shape = [d.dim_value or 1 for d in model.graph.output[0].type.tensor_type.shape.dim]
    for size in (least, least - 1):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            data = Path(folder) / "test_data_set_0"
            data.mkdir()
            (data / "input_0.pb").write_bytes(numpy_helper.from_array(np.zeros((size, 2), np.float32), "x").SerializeToString())
            (data / "output_0.pb").write_bytes(numpy_helper.from_array(np.zeros(shape, np.float32), "y").SerializeToString())
            outcome = harness.run([options.castnet, "check", path, "--cc", options.cc], 60)
        said = outcome.out + outcome.err
        if ("agrees" if size == least else "returned CASTNET_ERR_") not in said:
            faults.append(f"{name}: {size} rows: {said.strip()}")
    return faults


def kept_faults(options, name, body, good, bad):
    """A number that a model keeps in range, wholly or in part."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(options, Path(folder), parser.parse_model(HEAD + KEPT_MODEL.format(body=body)), KEPT_CALL)
        for value in (*good, *bad):
            got = subprocess.run([program, str(value)], timeout=60).returncode
            if got != (value in bad):
                faults.append(f"{name}: {value}: returned {got}, not {int(value in bad)}")
    return faults


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--castnet", required=True, type=Path)
    parse.add_argument("--cc", default="gcc")
    options = parse.parse_args()
    options.castnet = harness.castnet_path(options.castnet)
    results = [loop_faults(options, name, *row) for name, row in LOOPS.items()] + [pattern_faults(options, p) for p in PATTERNS]
    results += [place_faults(options, name, *row) for name, row in PLACES.items()] + [kept_faults(options, name, *row) for name, row in KEPT.items()]
    for fault in sum(results, []):
        print(f"FAIL {fault}")
    failed = sum(bool(r) for r in results)
    return harness.totals(len(results) - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
