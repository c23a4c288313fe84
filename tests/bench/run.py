#!/usr/bin/env python3
"""Times castnet beside ONNX Runtime and OpenVINO (trees also beside tl2cgen): pinned, interleaved, one table, JSON and a picture.

usage: run.py --castnet BIN [MODEL...] [--set tiny|networks|trees|all|shared] [--threads N] [--json FILE] [--svg FILE]

A MODEL is an ONNX file or a name of make_models.py (built into --models with seeded random weights); the set `shared` is every
model of float32 in --shared DIR. Every engine is a process that holds the model (tests/bench/worker.h says how they talk);
in each round all of them run in turns on the same cores, so that they see the same machine. All get the same model of fixed
sizes and the same inputs (tests/bench/feed.py), and castnet's outputs must agree with both peers'. ratio: time of the faster peer over
castnet's, by the minima of all rounds (and, in brackets, the median over rounds of the ratio of the rounds' medians).
Needs onnx and numpy; onnxruntime, openvino, tl2cgen with treelite are skipped where they are not installed; models of the set `trees` are
made with scikit-learn and skl2onnx.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import feed
import shares

HERE = Path(__file__).resolve().parent
SETS = {
    "tiny": ["logreg", "mlp", "ad_autoencoder", "lenet5", "kws_dscnn", "resnet8_cifar", "vww_mbv1_025"],
    "networks": ["squeezenet", "mobilenetv2", "resnet50"],
    "more": ["shufflenet", "inception_v1", "densenet121", "vit_tiny", "lstm_2x256_s100"],
}
SETS["trees"] = [f"gbt{trees}_b{batch}" for trees in (100, 1000) for batch in (1, 1000)]
SETS["all"] = [n for group in ("tiny", "networks", "more") for n in SETS[group]]
MAX_SAMPLES = 20000


class Missing(Exception):
    """An engine that cannot run here, and why."""


# ---- engines: name -> command of a worker ----
def library(package, pattern):
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Missing(f"{package} is not installed")
    found = sorted(Path(spec.submodule_search_locations[0]).glob(pattern))
    if not found:
        raise Missing(f"{package} holds no {pattern}")
    return str(found[-1])


def build_worker(name, work):
    program = work / name
    if not program.exists():
        cc = shlex.split(os.environ.get("CC", "cc"))
        done = subprocess.run([*cc, "-O2", str(HERE / f"{name}.c"), "-o", str(program), "-ldl", "-lm"], check=False)
        if done.returncode:
            raise Missing(f"{name}.c does not compile")
    return str(program)


def ort_command(options, case, work, outputs):
    return [build_worker("ort_worker", work), library("onnxruntime", "capi/libonnxruntime.so*"), case.model, options.threads, case.feed, outputs]


def openvino_command(options, case, work, outputs):
    return [build_worker("ov_worker", work), library("openvino", "libs/libopenvino_c.so*"), case.model, options.threads, "f32", case.feed, outputs]


def tl2cgen_command(options, case, work, outputs):
    """Of tree ensembles. Built by the first of castnet's compilers."""
    folder = case.folder / "tl2cgen"
    cc = shlex.split(options.cc.split(",")[0])
    done = subprocess.run([sys.executable, HERE / "tree_peer.py", case.model, folder, *cc], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or ["no library"])[-1])
    return [build_worker("tl_worker", work), folder / "trees.so", case.feed, outputs]


def castnet_command(options, case, cc, target, outputs):
    folder = case.folder / f"castnet-{cc}-{target}"
    command = [options.castnet, "bench", case.model, case.data_set, "--target", target, "--cc", cc, "--keep", folder, "--no-run"]
    if options.cflags:
        command += ["--cflags", options.cflags]
    if options.threads > 1:
        command += ["--threads", options.threads]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"castnet: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
    return [folder / "castnet_check", folder / "inputs", "-", "outputs", outputs, "serve"]


# ---- workers ----
class Worker:
    def __init__(self, name, command, threads):
        self.name, self.rounds, self.outputs = name, [], None
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": str(threads)})
        line = next((l for l in self.process.stdout if l.startswith("READY ")), None)
        if line is None:
            self.process.wait()
            self.errors.seek(0)
            raise Missing((self.errors.read().strip().splitlines() or ["ended without a word"])[-1])

    def turn(self, seconds):
        self.process.stdin.write(f"RUN {seconds} {MAX_SAMPLES}\n")
        self.process.stdin.flush()
        samples = [float(t) for t in self.process.stdout.readline().split()]
        if not samples:
            raise Missing("ended while running")
        self.rounds.append(samples)

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()

    def least(self):
        return min(min(r) for r in self.rounds)


def commands(options, case, work, place):
    """{engine: what makes its command}"""
    makers = {"onnxruntime": lambda: ort_command(options, case, work, place("onnxruntime")),
              "openvino": lambda: openvino_command(options, case, work, place("openvino"))}
    if "TreeEnsembleRegressor" in case.ops:
        makers["tl2cgen"] = lambda: tl2cgen_command(options, case, work, place("tl2cgen"))
    for target in options.target.split(","):
        for cc in options.cc.split(","):
            name = f"castnet {target} {cc}"
            makers[name] = lambda c=cc, t=target, n=name: castnet_command(options, case, c, t, place(n))
    return makers


def start(options, case, work):
    workers, notes = [], []
    place = lambda engine: case.folder / f"outputs of {engine}"
    for name, maker in commands(options, case, work, place).items():
        try:
            workers.append(Worker(name, maker(), options.threads))
            workers[-1].outputs = feed.read_outputs(case, place(name))
        except (Missing, ValueError) as why:
            notes.append(f"{name}: {why}")
    return workers, notes


def measure(options, case, work):
    workers, notes = start(options, case, work)
    try:
        for _ in range(options.rounds):
            for w in workers:
                time.sleep(0.02)
                w.turn(options.seconds)
    finally:
        for w in workers:
            w.close()
    if case.free:
        notes.append("sizes left open")
    if case.random:
        notes.append(f"random, not compared: {', '.join(sorted(case.random))}")
    return workers, notes


# ---- results ----
def paired(peer, own):
    return statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(peer.rounds, own.rounds))


def differences(case, own, peers):
    """{peer: outputs that differ from its}, where any do."""
    found = {p.name: feed.differing(case, own.outputs, p.outputs) for p in peers if own.outputs is not None and p.outputs is not None}
    return {name: outputs for name, outputs in found.items() if outputs}


def summarise(case, workers, notes):
    peers = [w for w in workers if not w.name.startswith("castnet")]
    own = [w for w in workers if w.name.startswith("castnet")]
    best = min(peers, key=Worker.least) if peers else None
    row = {"model": case.name, "inputs": "made up" if case.made_up else "recorded", "notes": notes, "engines": {}}
    for w in workers:
        samples = sorted(s for r in w.rounds for s in r)
        row["engines"][w.name] = {"min_us": samples[0], "median_us": statistics.median(samples), "samples": len(samples)}
    for w in own:
        e = row["engines"][w.name]
        e["agrees"] = w.outputs is not None and not differences(case, w, peers)
        e["differs"] = differences(case, w, peers)
        if best:
            e["ratio"], e["ratio_paired"] = best.least() / w.least(), paired(best, w)
    return row


def row_of(options, model, work):
    for free in (False, True):
        case = feed.Case(model, work, free)
        row = summarise(case, *measure(options, case, work))
        if options.shares:
            row["shares"] = shares.measure(options.castnet, case.model, case.data_set, options.target.split(",")[0], options.cc.split(",")[0])
        shutil.rmtree(case.folder)
        if any(not name.startswith("castnet") for name in row["engines"]):
            break
    return row


def print_row(row):
    for name, e in row["engines"].items():
        ratio = f"{e['ratio']:6.2f} ({e['ratio_paired']:.2f})" if "ratio" in e else ""
        wrong = "" if e.get("agrees", True) else "  DIFFERS " + "; ".join(f"{n}: {', '.join(o)}" for n, o in e["differs"].items())
        print(f"{row['model']:18} {name:22} {e['min_us']:11.2f} {e['median_us']:11.2f} {ratio:15}{wrong}")
    for note in row["notes"]:
        print(f"{row['model']:18} {note}")
    if row.get("shares"):
        print_shares(row["model"], row["shares"])
    sys.stdout.flush()


def print_shares(model, found):
    print(f"{model:18} compute-bound steps: {shares.text(found['compute'].share())} of their limit, {found['compute'].us:.1f} us; "
          f"others: {shares.text(found['memory'].share())}, {found['memory'].us:.1f} us")
    for function, op, calls, share, part in found["low"]:
        times = f", {calls} times" if calls > 1 else ""
        print(f"{model:18}   {function} ({op}{times}): {shares.text(share)} of its limit, {100 * part:.0f} % of the time")


def sum_shares(rows):
    """Over all models; of those bound by memory, over those of more than 10 us."""
    sums, long = {"compute": shares.Bound(), "memory": shares.Bound()}, {"compute": shares.Bound(), "memory": shares.Bound()}
    for row in rows:
        found = row.get("shares")
        if found:
            shares.add(sums, found)
            if found["compute"].us + found["memory"].us > 10:
                shares.add(long, found)
    print(f"all models: compute-bound steps {shares.text(sums['compute'].share())} of their limits; others, in models of more than 10 us, {shares.text(long['memory'].share())}")


def for_json(row):
    """Shares as numbers."""
    found = row.get("shares")
    if found:
        row["shares"] = {"compute": found["compute"].share(), "memory": found["memory"].share(), "low": found["low"]}
    return row


def picture(rows):
    """Bars of castnet's ratio to the faster peer, on a scale that ends at 3."""
    bars = [(f"{r['model']}, {name[len('castnet '):]}", e["ratio"]) for r in rows for name, e in r["engines"].items()
            if "ratio" in e]
    height, one = 22 * len(bars) + 60, 180
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="860" height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20">Time of the faster of ONNX Runtime and OpenVINO over castnet\'s (longer is better)</text>']
    for i, (label, ratio) in enumerate(bars):
        y, width = 36 + 22 * i, min(ratio, 3.0) * one
        colour = "#2a7" if ratio >= 1 else "#d85"
        out.append(f'<text x="245" y="{y + 13}" text-anchor="end">{label}</text>'
                   f'<rect x="250" y="{y}" width="{width:.1f}" height="17" fill="{colour}"/>'
                   f'<text x="{255 + width:.1f}" y="{y + 13}">{ratio:.2f}</text>')
    out.append(f'<line x1="{250 + one}" x2="{250 + one}" y1="30" y2="{height - 20}" stroke="black"/></svg>')
    return "\n".join(out) + "\n"


def find_models(options):
    if options.set == "shared" and not options.model:
        return [m for m in sorted(options.shared.glob("*/model.onnx")) if feed.is_float32(m)]
    names = options.model or SETS[options.set]
    made = [n for n in names if not n.endswith(".onnx") and not (options.models / f"{n}.onnx").exists()]
    if made:
        subprocess.run([sys.executable, str(HERE / "make_models.py"), str(options.models), "--only", ",".join(made)],
                       check=True, stdout=sys.stderr)
    return [Path(n) if n.endswith(".onnx") else options.models / f"{n}.onnx" for n in names]


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="*", help="ONNX files, or names of make_models.py")
    p.add_argument("--castnet", required=True)
    p.add_argument("--set", default="networks", choices=[*sorted(SETS), "shared"], help="of models, where none is named")
    p.add_argument("--models", type=Path, default=Path("build/bench-models"), help="folder for made models")
    p.add_argument("--shared", type=Path, default=HERE.parents[2] / "shared" / "models", help="folder of the set `shared`")
    p.add_argument("--threads", type=int, default=1, help="of every engine")
    p.add_argument("--target", default="x86-64-v4", help="of castnet; several with commas")
    p.add_argument("--cc", default="gcc", help="compilers of castnet's code; several with commas")
    p.add_argument("--cflags", help="more flags for them")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    p.add_argument("--cpu", help="cores to run on, with commas (default: the last ones, as many as threads)")
    p.add_argument("--shares", action="store_true", help="also `castnet bench` of the first target and compiler: how near its steps come to what the machine can do")
    p.add_argument("--json", type=Path)
    p.add_argument("--svg", type=Path)
    return p.parse_args()


def main():
    options = parse()
    models = find_models(options)
    if hasattr(os, "sched_setaffinity"):
        cpus = options.cpu.split(",") if options.cpu else sorted(os.sched_getaffinity(0))[-options.threads:]
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus})
    rows = []
    print(f"{'model':18} {'engine':22} {'min us':>11} {'median us':>11} ratio")
    with tempfile.TemporaryDirectory() as work:
        for model in models:
            try:
                rows.append(row_of(options, model, Path(work)))
            except ValueError as why:
                print(f"{model}: {why}")
                continue
            print_row(rows[-1])
    if options.shares:
        sum_shares(rows)
    if options.json:
        options.json.write_text(json.dumps({"schema": "castnet-peers-2", "threads": options.threads, "models": [for_json(r) for r in rows]}, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(picture(rows))
    wrong = [r["model"] for r in rows if any(not e.get("agrees", True) for e in r["engines"].values())]
    ran = all(any(n.startswith("castnet") for n in r["engines"]) for r in rows)
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
