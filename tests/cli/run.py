#!/usr/bin/env python3
"""Use the command line as people do: exit codes, messages, what is written, depfiles, help, cached builds, interruption.

  run.py --castnet build/compiler/castnet [--cc gcc]
"""
import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "hostile")]
import harness  # noqa: E402

import numpy as np  # noqa: E402
from crafted import F32, constant, model, node, to_bytes, value  # noqa: E402
from onnx import numpy_helper, parser  # noqa: E402

W = np.array([1, 2, 3], dtype=np.float32)


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure(what)


class Bench:
    """A folder with a model y = x * w, a data set beside it, and castnet."""

    def __init__(self, castnet, cc, folder):
        self.castnet, self.cc, self.folder = castnet, cc, Path(folder)
        self.write("m.onnx", to_bytes(model([node("Mul", ["x", "w"], ["y"])], [value("x", F32, (3,))], [value("y", F32, (3,))],
                                            [constant("w", W)])))
        self.write("bad.onnx", b"no model")
        self.data_set("test_data_set_0", 1.0)

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def data_set(self, name, scale):
        x = np.array([4, 5, 6], dtype=np.float32)
        self.write(f"{name}/input_0.pb", numpy_helper.from_array(x, "x").SerializeToString())
        self.write(f"{name}/output_0.pb", numpy_helper.from_array(x * W * np.float32(scale), "y").SerializeToString())

    def run(self, *arguments, env=None, timeout=120):
        full = {k: v for k, v in os.environ.items() if k not in ("CC", "NO_COLOR")}
        full.update({"XDG_CACHE_HOME": str(self.folder / "cache"), "TMPDIR": str(self.temporary()), **(env or {})})
        return harness.run([self.castnet, *arguments], timeout, cwd=self.folder, env=full)

    def temporary(self):
        path = self.folder / "tmp"
        path.mkdir(exist_ok=True)
        return path

    def good(self, *arguments, **options):
        outcome = self.run(*arguments, **options)
        expect(outcome.status == 0, f"exit {outcome.status}: {outcome.err.strip()[:300]}")
        return outcome

    def fails(self, status, text, *arguments, **options):
        outcome = self.run(*arguments, **options)
        expect(outcome.status == status, f"exit {outcome.status}, not {status}: {outcome.err.strip()[:300]}")
        expect(text in outcome.err, f"no {text!r} in {outcome.err.strip()[:300]!r}")
        expect(not list(self.temporary().iterdir()), "temporary files are left")
        return outcome


def test_usage(b):
    b.fails(2, "which command")
    b.fails(2, "did you mean check?", "chek")
    b.fails(2, "did you mean --weights?", "compile", "m.onnx", "-o", "out", "--weight", "c")
    b.fails(2, "-o DIR", "compile", "m.onnx")
    b.fails(2, "needs a value", "compile", "m.onnx", "-o")
    b.fails(2, "takes one model", "compile", "m.onnx", "m.onnx", "-o", "out")
    b.fails(2, "known: c99", "compile", "m.onnx", "-o", "out", "--target", "z80")
    b.fails(2, "auto, c, asm, embed, bin", "compile", "m.onnx", "-o", "out", "--weights", "gzip")
    b.fails(2, "E0001", "compile", "m.onnx", "-o", "out", "--dim", "n")
    b.fails(2, "all sizes are fixed", "compile", "m.onnx", "-o", "out", "--dim", "n=2")
    b.write("open.onnx", to_bytes(model([node("Neg", ["x"], ["y"])], [value("x", F32, ("n.rows", None, 3))], [value("y", F32, ("n.rows", None, 3))])))
    b.fails(2, 'known: "n.rows", "x_d1"', "compile", "open.onnx", "-o", "out", "--dim", "rows=2")
    for rows in ("n.rows=2", "n_rows=2"):
        expect("float[2][5][3]" in b.good("inspect", "open.onnx", "--dim", rows, "--dim", "x_d1=5").out, f"--dim {rows} fixes no size")
    b.fails(2, "known: model, graph", "compile", "m.onnx", "--dump", "soup")
    b.fails(2, "E0001", "explain", "E9999")
    expect(not (b.folder / "out").exists(), "something was written")


def test_help(b):
    for command in ("compile", "check", "run", "bench", "inspect", "ops", "targets", "explain", "help"):
        by_word, by_option = b.good("help", command).out, b.good(command, "--help").out
        expect(by_word == by_option and by_word.startswith(f"usage: castnet {command}"), f"help of {command}")
    expect(b.good("--version").out.startswith("castnet "), "version")
    expect("check" in b.good("help").out and b.good("--help").out == b.good("help").out, "overview")
    expect(b.good("help", "--man").out.startswith(".TH CASTNET 1"), "manual")
    script = b.folder / "completion"
    script.write_text(b.good("help", "--completion").out)
    shell = 'source ./completion; COMP_WORDS=(castnet check --at) COMP_CWORD=2; _castnet; echo "${COMPREPLY[@]}"'
    expect(harness.run(["bash", "-c", shell], 20, cwd=b.folder).out.split() == ["--atol"], "completion")


def test_tables(b):
    expect("not compile" in b.good("explain", "E0303").out, "explain")
    expect(any(line.split()[:2] == ["ai.onnx", "Conv"] for line in b.good("ops").out.splitlines()), "ops")
    expect({"c99", "x86-64-v3"} <= {line.split()[0] for line in b.good("targets").out.splitlines()}, "targets")


def test_compile(b):
    expect(b.good("compile", "m.onnx", "-o", "out").out == "", "compile talks")
    expect({p.name for p in (b.folder / "out").iterdir()} == {"m.h", "m.c", "m_weights.c", "m_weights.bin"}, "files")
    b.good("compile", "m.onnx", "--output=named", "--name", "a-b", "--weights=c")
    expect({p.name for p in (b.folder / "named").iterdir()} == {"a_b.h", "a_b.c", "a_b_weights.c"}, "named files")
    for stage in ("model", "graph", "passes", "program", "plan"):
        expect(b.good("compile", "m.onnx", f"--dump={stage}").out.strip(), f"nothing dumped after {stage}")


def test_refusals(b):
    b.fails(1, "E0101", "compile", "bad.onnx", "-o", "none")
    b.fails(1, "E0002", "compile", "missing.onnx", "-o", "none")
    b.fails(1, "E0101", "check", "bad.onnx", "--cc", b.cc)
    b.fails(4, "E0003", "compile", "m.onnx", "-o", "no/such/folder")
    b.fails(4, "E0004", "compile", "m.onnx", "-o", "none", "--max-memory", "1K")
    expect(not (b.folder / "none").exists(), "something was written")
    with open("/dev/full", "w") as full:
        done = subprocess.run([b.castnet, "ops"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
    expect(done.returncode == 4 and "E0003" in done.stderr, "a full standard output goes unnoticed")


def test_depfile(b):
    b.good("compile", "m.onnx", "-o", "dep out", "--depfile", "m.d")
    (b.folder / "Makefile").write_text('all: dep\\ out/m.h\n\ninclude m.d\n%/m.h:\n\t@echo made\n')
    make = harness.run(["make", "-s"], 20, cwd=b.folder)
    expect(make.status == 0, f"make does not read the depfile: {make.err}")
    expect("m.onnx" in (b.folder / "m.d").read_text(), "the depfile does not name the model")


def test_check(b):
    cc = ("--cc", b.cc)
    expect("agrees" in b.good("check", "m.onnx", *cc).out, "check")
    b.data_set("wrong", 1.01)
    outcome = b.fails(3, "E0602", "check", "m.onnx", "wrong", *cc)
    expect('output "y": 3 of 3 elements differ' in outcome.err, outcome.err)
    b.good("check", "m.onnx", "wrong", "--rtol", "0.02", *cc)
    b.good("check", "m.onnx", "wrong", "--atol", "y=1", *cc)
    b.fails(3, "E0602", "check", "m.onnx", "wrong", "--atol", "z=1", *cc)
    b.good("check", "m.onnx", "wrong", "--random", "y", *cc)
    b.write("t.json", b'{"outputs": {"y": {"atol": 0, "rtol": 0.02}}, "random": []}')
    b.good("check", "m.onnx", "wrong", "--tolerances", "t.json", *cc)
    b.write("t.json", b'{"outputs": {}, "random": []}')
    b.fails(3, "E0602", "check", "m.onnx", "wrong", "--tolerances", "t.json", *cc)
    b.fails(2, "E0001", "check", "m.onnx", "--atol", "much", *cc)
    b.fails(1, "E0601", "check", "m.onnx", "nowhere", *cc)
    expect("reference" in b.fails(3, "bisect:", "check", "m.onnx", "wrong", "--bisect", *cc).err, "bisect")
    for target in ("c99", "x86-64-v3"):
        for weights in ("c", "asm", "bin"):
            b.good("check", "m.onnx", "--target", target, "--weights", weights, "--outputs", "workspace", "-j", "2", *cc)
    b.good("check", "m.onnx", "--sanitize", *cc)
    b.write("m_weights.bin", b"of another compile, where the compiler runs")
    b.good("check", "m.onnx", "--weights", "asm", *cc)


def test_check_without_data(b):
    b.write("alone/m.onnx", (b.folder / "m.onnx").read_bytes())
    expect("reference" in b.good("check", "alone/m.onnx", "--cc", b.cc).out, "says what it proves")


def test_json(b):
    record = json.loads(b.good("check", "m.onnx", "--json", "--cc", b.cc).out)
    expect(record["schema"] == "castnet-check-1" and record["verdict"] == "pass" and record["model"] == "m.onnx", str(record))
    expect(record["datasets"][0]["outputs"][0]["name"] == "y", str(record))
    b.data_set("wrong", 1.01)
    rows = [{"model": "m.onnx", "rtol": 1e-5, "atol": 0}, {"model": "bad.onnx"}, {"model": "m.onnx", "datasets": ["wrong"]},
            {"model": "m.onnx", "datasets": ["wrong"], "random": ["y"]}, {"model": "m.onnx", "datasets": ["wrong"], "outputs": {"y": {"rtol": 0.1, "atol": 0}}}]
    b.write("list.json", json.dumps(rows).encode())
    outcome = b.run("check", "--batch", "list.json", "--json", "--cc", b.cc)
    records = [json.loads(line) for line in outcome.out.splitlines()]
    expect([r["verdict"] for r in records] == ["pass", "refused", "differs", "pass", "pass"], outcome.out)
    expect(records[1]["diagnostics"][0]["code"] == "E0101" and outcome.status == 3, outcome.out)


def test_compiler_at_fault(b):
    b.fails(4, "E0005", "check", "m.onnx", "--cc", "no-such-compiler")
    b.fails(4, "E0005", "check", "m.onnx", env={"CC": "no-such-compiler"})
    b.fails(4, "E0005", "check", "m.onnx", env={"PATH": "/nonexistent"})
    b.fails(4, "E0006", "check", "m.onnx", "--cc", "false")
    b.fails(4, "E0006", "check", "m.onnx", "--cc", b.cc, "--cflags", "-no-such-flag")


def test_run(b):
    np.save(b.folder / "x.npy", np.array([4, 5, 6], dtype=np.float32))
    b.good("run", "m.onnx", "--input", "x=x.npy", "--output-dir", "results", "--cc", b.cc)
    got = np.load(b.folder / "results" / "y.npy")
    expect(got.dtype == np.float32 and (got == np.array([4, 10, 18])).all(), str(got))
    kept = list((b.folder / "cache" / "castnet").iterdir())
    expect(len(kept) == 1, "the build is not kept")
    slow = b.folder / "slow-cc"
    slow.write_text("#!/bin/sh\nexit 1\n")
    slow.chmod(0o755)
    b.good("run", "m.onnx", "-i", "x=test_data_set_0/input_0.pb", "--cc", b.cc, env={"PATH": os.environ["PATH"]})
    expect((b.folder / "y.npy").exists() and len(list((b.folder / "cache" / "castnet").iterdir())) == 1, "the kept build is not used")
    b.fails(2, "--input x=", "run", "m.onnx", "--cc", b.cc)
    b.fails(2, "E0001", "run", "m.onnx", "--input", "z=x.npy", "--cc", b.cc)
    np.save(b.folder / "long.npy", np.zeros(4, np.float32))
    b.fails(1, "E0601", "run", "m.onnx", "--input", "x=long.npy", "--cc", b.cc)
    np.save(b.folder / "double.npy", np.zeros(3))
    b.fails(1, "E0601", "run", "m.onnx", "--input", "x=double.npy", "--cc", b.cc)


def test_bench(b):
    b.fails(2, "one model", "bench")
    b.fails(2, "E0001", "bench", "m.onnx", "--seconds", "0")
    told = b.good("bench", "m.onnx", "--seconds", "1", "--cc", b.cc).out
    expect("FMA peak" in told and "all steps" in told, told)
    figures = json.loads(b.good("bench", "m.onnx", "test_data_set_0", "--seconds", "1", "--json", "--cc", b.cc).out)
    expect(figures["schema"] == "castnet-bench-1" and 0 < figures["min_us"] <= figures["median_us"], str(figures))
    expect("line_ns" not in figures, "one thread is not far from another")
    far = json.loads(b.good("bench", "m.onnx", "--seconds", "1", "--json", "--threads", "2", "--cc", b.cc).out)["line_ns"]
    expect(0 < far[0] <= far[1], str(far))
    expect(figures["steps"] and all(s["us"] >= 0 and s["bytes"] > 0 for s in figures["steps"]), str(figures["steps"]))
    b.good("bench", "m.onnx", "--no-run", "--keep", "kept", "--cc", b.cc)
    expect((b.folder / "kept" / "castnet_check").exists() and (b.folder / "kept" / "inputs").exists(), "nothing is kept")


def test_levels(b):
    """Target x86-64: the level that runs is the one that --isa allows, and inspect tells what each needs."""
    figures = json.loads(b.good("inspect", "m.onnx", "--json", "--no-run", "--target", "x86-64").out)
    expect([level["isa"] for level in figures["levels"]] == [0, 3, 4, 5], str(figures["levels"]))
    expect(all(0 <= level["own_weights"] <= level["weights"] <= figures["weights"] for level in figures["levels"]), str(figures["levels"]))
    told = b.good("inspect", "m.onnx", "--no-run", "--target", "x86-64").out
    expect(told.count("for no other level") == 4, told)
    expect("for no other level" not in b.good("inspect", "m.onnx", "--no-run", "--target", "x86-64-v3").out, "one level is no choice")
    b.fails(2, "E0001", "check", "m.onnx", "--isa", "wide")
    if platform.machine() == "x86_64":
        b.good("check", "m.onnx", "--target", "x86-64", "--isa", "1", "--weights", "bin", "--cc", b.cc)
        b.fails(3, "CASTNET_ERR_ISA", "check", "m.onnx", "--target", "x86-64-v3", "--isa", "1", "--cc", b.cc)
        told = b.good("bench", "m.onnx", "--seconds", "1", "--target", "x86-64", "--isa", "1", "--cc", b.cc).out
        expect("x86-64 at c99" in told and "all steps" in told, told)


def test_needed_target(b):
    """Without a product that gains by tiles, target x86-64-v4-amx asks for none."""
    w = np.ones((64, 96), dtype=np.float32)
    for rows, target in ((31, "x86-64-v4-vnni"), (32, "x86-64-v4-amx")):
        b.write("p.onnx", to_bytes(model([node("MatMul", ["x", "w"], ["y"])], [value("x", F32, (rows, 64))], [value("y", F32, (rows, 96))], [constant("w", w)])))
        b.good("compile", "p.onnx", "-o", "products", "--target", "x86-64-v4-amx")
        code = (b.folder / "products" / "p.c").read_text()
        expect(f" * Target: {target}\n" in code and ("tile" in code.split("Build with", 1)[1].splitlines()[0]) == (rows == 32), code[:600])
        expect(("cn_isa_x86_amx" in code) == (rows == 32), "tiles are asked for")


def test_inspect(b):
    b.fails(2, "one model", "inspect")
    told = b.good("inspect", "m.onnx", "--cc", b.cc, "--html", "one.html").out
    expect("parameters" in told and "workspace" in told and "flash" in told, told)
    b.good("inspect", "m.onnx", "--cc", b.cc, "--html", "two.html")
    page = (b.folder / "one.html").read_bytes()
    expect(page == (b.folder / "two.html").read_bytes(), "the page differs from run to run")
    expect(b"http" not in page.replace(b"http://www.w3.org/2000/svg", b""), "the page takes something from elsewhere")
    figures = json.loads(b.good("inspect", "m.onnx", "--json", "--cc", "gcc").out)
    expect(figures["schema"] == "castnet-inspect-1" and figures["code"] > 0 and figures["stack"] > 0, str(figures))
    figures = json.loads(b.good("inspect", "m.onnx", "--json", "--no-run").out)
    expect(figures["compiler"] is None and figures["code"] is None and figures["steps"], str(figures))
    b.fails(4, "E0005", "inspect", "m.onnx", "--cc", "no-such-compiler")
    b.fails(4, "E0003", "inspect", "m.onnx", "--no-run", "--html", "no/such/folder/x.html")


def test_custom_operator(b):
    b.write("c.onnx", to_bytes(model([node("Twice", ["x"], ["y"], domain="my")], [value("x", F32, (3,))], [value("y", F32, (3,))],
                                     imports=[("my", 1)])))
    b.write("twice.c", b'''#include "castnet_abi.h"
int my_twice(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
             size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (int i = 0; i < 3; i++) ((float *)out->data)[i] = 2 * ((const float *)in->data)[i];
  return CASTNET_OK;
}
''')
    x = np.array([4, 5, 6], dtype=np.float32)
    b.write("twice/input_0.pb", numpy_helper.from_array(x, "x").SerializeToString())
    b.write("twice/output_0.pb", numpy_helper.from_array(2 * x, "y").SerializeToString())
    b.fails(1, "E0301", "check", "c.onnx", "twice", "--cc", b.cc)
    b.good("check", "c.onnx", "twice", "--op", "my::Twice=my_twice", "--source", "twice.c", "--cc", b.cc)


def test_custom_operator_measures(b):
    """Sizes that the model leaves open: [n] positive elements of x, and a row of them a time."""
    nodes = [node("Positive", ["x"], ["p", "t"], domain="my"), node("Neg", ["p"], ["y"]), node("Identity", ["t"], ["z"])]
    built = model(nodes, [value("x", F32, (4,))], [value("y", F32, ("n",)), value("z", F32, None)], imports=[("my", 1)])
    built.graph.value_info.extend([value("p", F32, ("n",)), value("t", F32, (2, None))])
    b.write("p.onnx", to_bytes(built))
    b.write("positive.c", b'''#include "castnet_abi.h"
int my_positive(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const float *x = (const float *)in->data;
  int64_t n = 0;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (int64_t i = 0; i < in->dims[0]; i++) {
    if (!(x[i] > 0)) continue;
    if (out[0].data != NULL) {
      ((float *)out[0].data)[n] = x[i];
      ((float *)out[1].data)[n] = ((float *)out[1].data)[out[1].dims[1] + n] = x[i];
    }
    n++;
  }
  if (out[0].data == NULL) out[0].dims[0] = out[1].dims[1] = n;
  return out[1].dims[0] == 2 && out[0].dims[0] == n ? CASTNET_OK : CASTNET_ERR_OP;
}
''')
    for k, x in enumerate(([1, -2, 3, 4], [-1, -2, 0, -4])):
        x = np.array(x, dtype=np.float32)
        p = x[x > 0]
        for name, data in (("input_0", numpy_helper.from_array(x, "x")), ("output_0", numpy_helper.from_array(-p, "y")),
                           ("output_1", numpy_helper.from_array(np.stack([p, p]), "z"))):
            b.write(f"positive_{k}/{name}.pb", data.SerializeToString())
    b.good("check", "p.onnx", "positive_0", "positive_1", "--op", "my::Positive=my_positive", "--source", "positive.c", "--cc", b.cc)


def test_flush_subnormals_in_trees(b):
    # x < 0 by comparisons that take the number before 0 as 0
    x = np.array([[0], [-0.0], [1e-40], [-1e-40], [-2e-38], [-1], [2e-38], [1]], np.float32)
    for mode, leaves in (("BRANCH_LT", (1, 2)), ("BRANCH_GTE", (2, 1))):
        text = f"""<ir_version: 8, opset_import: ["ai.onnx.ml" : 3]> f (float[8, 1] x) => (float[8, 1] y) {{
          y = ai.onnx.ml.TreeEnsembleRegressor <n_targets: int = 1, nodes_falsenodeids: ints = [2, 0, 0], nodes_featureids: ints = [0, 0, 0],
            nodes_modes: strings = ["{mode}", "LEAF", "LEAF"], nodes_nodeids: ints = [0, 1, 2], nodes_treeids: ints = [0, 0, 0],
            nodes_truenodeids: ints = [1, 0, 0], nodes_values: floats = [0.0, 0.0, 0.0], target_ids: ints = [0, 0], target_nodeids: ints = [1, 2],
            target_treeids: ints = [0, 0], target_weights: floats = [{leaves[0]}.0, {leaves[1]}.0]> (x)
        }}"""
        b.write("trees.onnx", parser.parse_model(text).SerializeToString())
        b.write("less/input_0.pb", numpy_helper.from_array(x, "x").SerializeToString())
        b.write("less/output_0.pb", numpy_helper.from_array(np.where(x <= -2e-38, 1, 2).astype(np.float32), "y").SerializeToString())
        for target in ("c99", "x86-64-v3"):
            b.good("check", "trees.onnx", "less", "--target", target, "--flush-subnormals", "--cc", b.cc)


def test_keep_subnormals(b):
    # weights of sums below 2^-126 are zero unless asked for, and what else is so small stays
    w = np.array([[1e-40, 2e-38], [-1e-45, 0.5]], np.float32)
    b.write("sum.onnx", to_bytes(model([node("MatMul", ["x", "w"], ["y"])], [value("x", F32, (1, 2))], [value("y", F32, (1, 2))], [constant("w", w)])))
    b.write("scaled.onnx", to_bytes(model([node("Mul", ["x", "w"], ["y"])], [value("x", F32, (1, 2))], [value("y", F32, (2, 2))], [constant("w", w)])))
    x = np.array([[2, 2]], np.float32)
    for name, y in (("zero", [[0, 1]]), ("kept", x @ w), ("scaled", x * w)):
        b.write(f"{name}/input_0.pb", numpy_helper.from_array(x, "x").SerializeToString())
        b.write(f"{name}/output_0.pb", numpy_helper.from_array(np.array(y, np.float32), "y").SerializeToString())
    exact = ("--atol", "0", "--rtol", "0", "--cc", b.cc)
    for target in ("c99", "x86-64-v3", "x86-64"):
        b.good("check", "sum.onnx", "zero", "--target", target, *exact)
        b.good("check", "sum.onnx", "kept", "--target", target, "--keep-subnormals", *exact)
        b.good("check", "scaled.onnx", "scaled", "--target", target, *exact)
    b.good("compile", "sum.onnx", "-o", "out", "--name", "m", "--keep-subnormals")
    expect("--keep-subnormals" in (b.folder / "out" / "m.c").read_text(), "the code's head does not name the option")


def test_flush_subnormals(b):
    tiny = np.float32(1e-40)
    b.write("tiny.onnx", to_bytes(model([node("Mul", ["x", "w"], ["y"])], [value("x", F32, (64,))], [value("y", F32, (64,))],
                                        [constant("w", np.array([0.5], np.float32))])))
    x = np.resize(np.array([tiny, 2e-38, 2e-20, -tiny], np.float32), 64)
    flushed = np.resize(np.array([0, 0, 1e-20, 0], np.float32), 64)
    for name, y in (("kept", x * np.float32(0.5)), ("flushed", flushed)):
        b.write(f"{name}/input_0.pb", numpy_helper.from_array(x, "x").SerializeToString())
        b.write(f"{name}/output_0.pb", numpy_helper.from_array(y, "y").SerializeToString())
    exact = ("--atol", "0", "--rtol", "0", "--cc", b.cc)
    b.fails(2, "runs on a device", "compile", "tiny.onnx", "-o", "out", "--target", "cuda", "--flush-subnormals")
    for target in ("c99", "x86-64-v3", "x86-64"):
        b.good("check", "tiny.onnx", "kept", "--target", target, *exact)
        b.good("check", "tiny.onnx", "flushed", "--target", target, "--flush-subnormals", *exact)
    # shares on another thread flush too, and the caller's arithmetic is its own again
    b.good("compile", "tiny.onnx", "-o", "flush", "--name", "m", "--weights", "c", "--threads", "all", "--flush-subnormals")
    b.write("flush/main.c", b'''#include "m.h"
#include <fenv.h>
#include <pthread.h>
typedef struct { void (*fn)(void *, size_t); void *arg; size_t i; } Share;
static int shares;
static void *run(void *p) {
  Share *s = p;
  fesetenv(FE_DFL_ENV); /* a new thread has its maker's */
  s->fn(s->arg, s->i);
  return NULL;
}
static int ranges;
typedef struct Whole {
  void (*fn)(void *arg, size_t from, size_t to);
  void *arg;
} Whole;
static void half(void *arg, size_t i) {
  const Whole *w = arg;
  w->fn(w->arg, i * 2, i * 2 + 2);
}
static int on_threads(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  for (size_t i = 0; i < n; i++, shares++) {
    Share s = {fn, arg, i};
    pthread_t t;
    if (pthread_create(&t, user, run, &s) || pthread_join(t, NULL)) return 1;
  }
  return 0;
}
static int by_ranges(void *user, size_t n, void (*fn)(void *arg, size_t from, size_t to), void *arg) {
  Whole w = {fn, arg};
  ranges++;
  return n % 2 || on_threads(user, n / 2, half, &w);
}
int main(void) {
  static float x[64], y[64];
  volatile float tiny = 1e-40f, quarter = 0.25f;
  castnet_env env = {.size = sizeof env, .parallel_for = on_threads};
  m_inputs in = {.x = x};
  m_outputs out = {.y = y};
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 64; i++) x[i] = tiny, y[i] = 1;
    if (m_run(&in, &out, NULL, 0, &env) != CASTNET_OK || shares < 2 || ranges != k) return 1;
    for (int i = 0; i < 64; i++)
      if (y[i] != 0) return 2;
    env.parallel_ranges = by_ranges;
  }
  return tiny * quarter > 0 ? 0 : 3;
}
''')
    built = harness.run([b.cc, "-O1", "-ffp-contract=off", "-pthread", *sorted((b.folder / "flush").glob("*.c")), "-o", b.folder / "flush" / "main", "-lm"], 120)
    expect(built.status == 0, built.err[:400])
    ran = harness.run([b.folder / "flush" / "main"], 60)
    expect(ran.status == 0, f"exit {ran.status} of {platform.machine()}")


def test_interruption(b):
    slow = b.folder / "slow-cc"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    for number in (signal.SIGINT, signal.SIGTERM):
        env = {**os.environ, "TMPDIR": str(b.temporary())}
        child = subprocess.Popen([b.castnet, "check", "m.onnx", "--cc", str(slow)], cwd=b.folder, env=env)
        for _ in range(100):
            if any(p.name == "cc.log" for d in b.temporary().iterdir() for p in d.iterdir()):
                break
            time.sleep(0.1)
        child.send_signal(number)
        expect(child.wait(20) == -number, f"ended with {child.returncode}")
        expect(not list(b.temporary().iterdir()), "temporary files are left")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--filter", default="", help="only tests whose name holds this")
    options = parser.parse_args()
    castnet, passed, failed = harness.castnet_path(options.castnet), 0, 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_") or options.filter not in name:
            continue
        folder = tempfile.mkdtemp()
        try:
            test(Bench(castnet, options.cc, folder))
            passed += 1
        except Failure as why:
            failed += 1
            print(f"FAIL {name[5:]}: {why}\n  again: {harness.rerun_line('--filter', name[5:])}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return harness.totals(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
