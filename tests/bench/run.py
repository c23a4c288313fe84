#!/usr/bin/env python3
"""Times castnet beside ONNX Runtime, OpenVINO and ncnn (trees also beside tl2cgen; --c-peers: code of emx-onnx-cgen and onnx2c): pinned, interleaved,
one table, JSON and a picture.

usage: run.py --castnet BIN [MODEL...] [--set tiny|networks|more|trees|operators|all|shared] [--threads N] [--json FILE] [--svg FILE]

A MODEL is an ONNX file or a name of make_models.py (built into --models with seeded random weights); the set `shared` is every
model of float32 in --shared DIR. Every engine is a process that holds the model (tests/bench/worker.h says how they talk);
in each round all of them run in turns on the same cores, so that they see the same machine. All get the same model of fixed
sizes and the same inputs (tests/bench/feed.py; a tree ensemble of one row gets 512 rows in turns), and castnet's outputs must agree with the peers'.
limit: share of the least time that the machine allows (tests/bench/roofline.py), by peaks that are measured in the same run, of all threads. ratio: time
of the fastest peer over castnet's, by the minima of all rounds (and, in brackets, the median over rounds of the ratio of the rounds' medians). With
--threads N castnet also runs on one thread, for how it scales; ceiling: how far N processes of one thread each get (tests/bench/together.py). Beside the limit then
stands which share of the bandwidth of N cores castnet's steps reach, were each bound by its bytes.
Needs onnx and numpy; onnxruntime, openvino, ncnn with pnnx, tl2cgen with treelite, emx-onnx-cgen are skipped where they are not installed; models of the
set `trees` are made with scikit-learn and skl2onnx.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import engines
import feed
import make_models
import operators
import picture
import roofline
import shares
import together

HERE = Path(__file__).resolve().parent
SETS = {
    "tiny": ["logreg", "mlp", "ad_autoencoder", "lenet5", "kws_dscnn", "resnet8_cifar", "vww_mbv1_025"],
    "networks": ["squeezenet", "mobilenetv2", "resnet50"],
    "more": ["shufflenet", "inception_v1", "densenet121", "vit_tiny", "lstm_2x256_s100"],
}
SETS["half"] = [f"{name}_f16" for name in make_models.HALF]
SETS["trees"] = [f"gbt{trees}_b{batch}" for trees in (100, 1000) for batch in (1, 1000)]
SETS["operators"] = list(operators.catalogue())
SETS["all"] = [n for group in ("tiny", "networks", "more") for n in SETS[group]]
MAX_SAMPLES = 20000


# ---- workers ----
class Worker:
    def __init__(self, name, command, threads, turns=None):
        self.name, self.rounds, self.apart, self.outputs = name, [], [], None
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env={**os.environ, "OMP_NUM_THREADS": str(threads), **({"WORKER_TURNS": str(turns)} if turns else {})})
        line = next((l for l in self.process.stdout if l.startswith("READY ")), None)
        if line is None:
            self.process.wait()
            self.errors.seek(0)
            raise engines.Missing((self.errors.read().strip().splitlines() or ["ended without a word"])[-1])

    def turn(self, seconds):
        self.ask(seconds)
        self.answer()

    def ask(self, seconds):
        self.process.stdin.write(f"RUN {seconds} {MAX_SAMPLES}\n")
        self.process.stdin.flush()

    def answer(self):
        words = self.process.stdout.readline().split()
        if words[:1] == ["apart"]:  # castnet's on several threads: how far
            self.apart.append(int(words[1]))
            words = words[2:]
        samples = [float(t) for t in words]
        if not samples:
            raise engines.Missing("ended while running")
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


def start(options, case, work):
    workers, notes = [], []
    place = lambda engine: case.folder / f"outputs of {engine}"
    for name, maker in engines.commands(options, case, work, place).items():
        try:
            workers.append(Worker(name, maker(), options.threads, case.turns))
            workers[-1].outputs = feed.read_outputs(case, place(name))
        except (engines.Missing, ValueError) as why:
            notes.append(f"{name}: {why}")
    return workers, notes


def measure_machine(options, case):
    for machine in options.machines:
        program = engines.castnet_program(case, options.cc.split(",")[0], options.target.split(",")[0], machine.threads)[1]
        if program[0].exists():
            machine.measure(program)


def start_together(options, case, workers):
    """Processes of castnet on one thread, by the first target and compiler; None where nothing runs on several."""
    target, cc = options.target.split(",")[0], options.cc.split(",")[0]
    if options.threads == 1 or not any(w.name == f"castnet {target} {cc}{engines.ONE_THREAD}" for w in workers):
        return None
    command = [*engines.castnet_program(case, cc, target, 1)[1], *(["turns", case.turns] if case.turns else []), "serve"]
    return together.Together(lambda: Worker("process", command, 1), options.cores)


def measure(options, case, work):
    workers, notes = start(options, case, work)
    processes = None
    try:
        processes = start_together(options, case, workers)
        measure_machine(options, case)
        for _ in range(options.rounds):
            for w in [*workers, *([processes] if processes else [])]:
                time.sleep(0.02)
                w.turn(options.seconds)
        measure_machine(options, case)
    finally:
        for w in [*workers, *([processes] if processes else [])]:
            w.close()
    if case.free:
        notes.append("sizes left open")
    if case.random:
        notes.append(f"random, not compared: {', '.join(sorted(case.random))}")
    return workers, notes, processes


# ---- results ----
def paired(peer, own):
    return statistics.median(statistics.median(a) / statistics.median(b) for a, b in zip(peer.rounds, own.rounds))


def differences(case, own, peers):
    """{peer: outputs that differ from its}, where any do."""
    found = {p.name: feed.differing(case, own.outputs, p.outputs) for p in peers if own.outputs is not None and p.outputs is not None}
    return {name: outputs for name, outputs in found.items() if outputs}


def add_limit(row, machine, steps):
    """What the machine needs at least, and each engine's share of it; nothing where the model has sizes that only a call knows."""
    if not steps or not machine.known():
        return
    row["limit"] = machine.limit(steps)
    for e in row["engines"].values():
        e["share"] = row["limit"]["us"] / e["min_us"]
        e["bandwidth"] = row["limit"]["bytes_us"] / e["min_us"]


def add_scaling(row, processes):
    for name, e in row["engines"].items():
        alone = row["engines"].get(name + engines.ONE_THREAD)
        if not alone:
            continue
        e["scaling"] = alone["min_us"] / e["min_us"]
        if processes and "ceiling" not in row:
            row["ceiling"] = processes.ceiling(alone["min_us"])


def leave_out(case, own, peers, notes):
    """Peers but for converted ones with other outputs than castnet."""
    wrong = set.intersection(*[set(differences(case, w, peers)) for w in own]) if own else set()
    wrong = {name for name in wrong if name in engines.CONVERTED}
    notes += [f"{name}: other outputs, does not count" for name in sorted(wrong)]
    return [p for p in peers if p.name not in wrong]


def summarise(case, workers, notes, processes):
    own = [w for w in workers if w.name.startswith("castnet")]
    peers = leave_out(case, own, [w for w in workers if not w.name.startswith("castnet")], notes)
    best = min(peers, key=Worker.least) if peers else None
    row = {"model": case.name, "inputs": "made up" if case.made_up else "recorded", "notes": notes, "engines": {}}
    for w in workers:
        samples = sorted(s for r in w.rounds for s in r)
        row["engines"][w.name] = {"min_us": samples[0], "median_us": statistics.median(samples), "samples": len(samples)}
    for w in own:
        e = row["engines"][w.name]
        e["agrees"] = w.outputs is not None and not differences(case, w, peers)
        e["differs"] = differences(case, w, peers)
        if best and not w.name.endswith(engines.ONE_THREAD):
            e["ratio"], e["ratio_paired"] = best.least() / w.least(), paired(best, w)
        if w.apart:
            e["line_ns"] = w.apart
    add_scaling(row, processes)
    return row


def row_of(options, model, work):
    for free in (False, True):
        case = feed.Case(model, work, free)
        row = summarise(case, *measure(options, case, work))
        add_limit(row, options.machines[0], roofline.step_costs(options.castnet, case.model, options.target.split(",")[0]))
        if options.shares:
            row["shares"] = shares.measure(options.castnet, case.model, case.data_set, options.target.split(",")[0], options.cc.split(",")[0], options.threads)
        shutil.rmtree(case.folder)
        if any(not name.startswith("castnet") for name in row["engines"]):
            break
    return row


def bound_text(row):
    """What bounds the model; on several threads also castnet's share of the bandwidth of their cores, and what as many processes reach."""
    text = "bound by multiply-accumulates"
    own = next((e for e in row["engines"].values() if "scaling" in e), None)
    if row["limit"]["bound"] == "memory":
        text = "bound by bytes" + (f", read at {100 * own['bandwidth']:.0f} % of the rate of all its cores" if own else "")
    if "ceiling" in row:
        text += f"; processes of one thread, one on each core, compute {row['ceiling']:.2f} times what one does"
    return text


def apart_text(row):
    """Between its threads, of each round: what times on several threads depend on, and a virtual machine changes."""
    found = [ns for e in row["engines"].values() for ns in e.get("line_ns", [])]
    return f"; a cache line took {min(found)} to {max(found)} ns (median {statistics.median(found):.0f}) to the furthest thread and back" if found else ""


def print_row(row):
    for name, e in row["engines"].items():
        ratio = f"{e['ratio']:6.2f} ({e['ratio_paired']:.2f})" if "ratio" in e else ""
        wrong = "" if e.get("agrees", True) else "  DIFFERS " + "; ".join(f"{n}: {', '.join(o)}" for n, o in e["differs"].items())
        share = f"{100 * e['share']:.0f} %" if "share" in e else ""
        scaling = f"{e['scaling']:.2f}" if "scaling" in e else ""
        ceiling = f"{row['ceiling']:.2f}" if "scaling" in e and "ceiling" in row else ""
        print(f"{row['model']:18} {name:30} {e['min_us']:11.2f} {e['median_us']:11.2f} {share:>6} {scaling:>6} {ceiling:>7} {ratio:15}{wrong}")
    if "limit" in row:
        limit = row["limit"]
        print(f"{row['model']:18} limit {limit['us']:.2f} us, {bound_text(row)}{apart_text(row)}")
    for note in row["notes"]:
        print(f"{row['model']:18} {note}")
    if row.get("shares"):
        print_shares(row["model"], row["shares"])
    sys.stdout.flush()


def print_shares(model, found):
    print(f"{model:18} compute-bound steps: {shares.text(found['compute'].share())} of their limit, {found['compute'].us:.1f} us; "
          f"others: {shares.text(found['memory'].share())}, {found['memory'].us:.1f} us")
    if found["compute"].one_us + found["memory"].one_us:
        print(f"{model:18} sums of least times, one thread over all: " +
              ", ".join(f"{name} steps {found[kind].scales():.2f}" for name, kind in (("compute-bound", "compute"), ("other", "memory")) if found[kind].scales()))
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
        row["scales"] = {kind: found[kind].scales() for kind in ("compute", "memory")}
    return row


def find_models(options):
    if options.set == "shared" and not options.model:
        return [m for m in sorted(options.shared.glob("*/model.onnx")) if feed.is_float32(m)]
    names = options.model or SETS[options.set]
    made = [n for n in names if not n.endswith(".onnx") and not (options.models / f"{n}.onnx").exists()]
    if made:
        subprocess.run([sys.executable, str(HERE / "make_models.py"), str(options.models), "--only", ",".join(made)],
                       check=True, stdout=sys.stderr)
    return [Path(n) if n.endswith(".onnx") else options.models / f"{n}.onnx" for n in names]


def verdict(row):
    """Whether every castnet of the row ran and agreed; skipped: with nobody."""
    own = [n for n in row["engines"] if n.startswith("castnet")]
    if not own or any(note.startswith("castnet") for note in row["notes"]) or any(not row["engines"][n]["agrees"] for n in own):
        return "failed"
    return "passed" if len(own) < len(row["engines"]) else "skipped"


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
    p.add_argument("--c-peers", action="store_true", help="also code of emx-onnx-cgen, where it is installed (slow: generating and compiling take minutes)")
    p.add_argument("--onnx2c", help="also code of this binary of onnx2c")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=float, default=0.3, help="of a turn")
    p.add_argument("--cpu", help="cores to run on, with commas (default: the last ones, as many as threads)")
    p.add_argument("--quick", action="store_true", help="for agreement only: a single short round; ends with `N passed, N failed, N skipped` (no peer) models")
    p.add_argument("--shares", action="store_true", help="also `castnet bench` of the first target and compiler: how near its steps come to what the machine can do, on so many threads")
    p.add_argument("--json", type=Path)
    p.add_argument("--svg", type=Path)
    options = p.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.01
    return options


def main():
    options = parse()
    models = find_models(options)
    cpus = range(options.threads)
    if hasattr(os, "sched_setaffinity"):
        cpus = options.cpu.split(",") if options.cpu else sorted(os.sched_getaffinity(0))[-options.threads:]
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus})
    options.cores = [int(cpu) for cpu in cpus]
    rows = []
    options.machines = [roofline.Machine(n) for n in dict.fromkeys((options.threads, 1))]
    print(f"{'model':18} {'engine':30} {'min us':>11} {'median us':>11} {'limit':>6} {'scales':>6} {'ceiling':>7} ratio")
    with tempfile.TemporaryDirectory() as work:
        for model in models:
            try:
                rows.append(row_of(options, model, Path(work)))
            except ValueError as why:
                print(f"{model}: {why}")
                continue
            print_row(rows[-1])
    for machine in filter(roofline.Machine.known, options.machines):
        print(machine.text())
    if options.shares:
        sum_shares(rows)
    if options.json:
        told = {"schema": "castnet-peers-3", "threads": options.threads, "machine": [m.for_json() for m in options.machines], "models": [for_json(r) for r in rows]}
        options.json.write_text(json.dumps(told, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(picture.draw(rows, options.threads))
    verdicts = [verdict(r) for r in rows] + ["failed"] * (len(models) - len(rows))
    if options.quick:
        print(", ".join(f"{verdicts.count(v)} {v}" for v in ("passed", "failed", "skipped")))
    return 1 if "failed" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
