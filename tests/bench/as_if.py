#!/usr/bin/env python3
"""How far a model's steps are parted: its time as if on N threads that cost each other nothing, measured on one processor (as_if.c).

usage: as_if.py --castnet BIN [--threads 1,2,4,8,16] [--steps N] [--quick] MODEL...

A MODEL is as for run.py. A line each: microseconds, and how many times as long one thread takes. --steps: also the N steps that lose most
of an even part of their time, on the most threads. What a machine of so many processors gives is at most this: caches, memory and clock are shared there.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import run
import targets

RUNTIME = Path(__file__).resolve().parents[2] / "runtime-lite" / "pool"


def build(options, model, folder):
    command = [options.castnet, "bench", model, "--target", options.target, "--cc", options.cc, "--threads", "2", "--keep", folder, "--no-run"]
    subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
    program = folder / "as_if"
    sources = [Path(__file__).with_suffix(".c"), *sorted(p for p in folder.glob("*.c") if p.name != "castnet_pool.c")]
    flags = targets.flags_of(options.castnet)[options.target]
    subprocess.run([options.cc, "-std=gnu11", "-O2", "-w", *flags, "-DCHECK_THREADS=2", f"-I{folder}", f"-I{RUNTIME}", *sources, "-o", program, "-lm"], check=True)
    return program


def measure(program, threads, seconds):
    """Microseconds of a call, and of each step."""
    command = [str(program), "inputs", "-", "run", str(seconds), "steps", str(seconds)]
    env = {**os.environ, "AS_IF": str(threads)}
    lines = subprocess.run(command, cwd=program.parent, env=env, check=True, capture_output=True, text=True).stdout.splitlines()
    steps = [float(line.split()[2]) for line in lines if line.startswith("step ")]
    return min(float(t) for line in lines if line.startswith("times ") for t in line.split()[1:]), steps


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="+")
    p.add_argument("--castnet", required=True, type=Path)
    p.add_argument("--threads", default="1,2,4,8,16")
    p.add_argument("--target", default="x86-64-v4")
    p.add_argument("--cc", default="clang")
    p.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    p.add_argument("--quick", action="store_true", help="only that it works: a short measurement; ends with `N passed, N failed`")
    p.add_argument("--steps", type=int, default=0)
    p.add_argument("--models", type=Path, default=Path("build/bench-models"), help="folder for made models")
    p.set_defaults(set=None)
    options = p.parse_args()
    options.castnet = options.castnet.resolve()
    counts = [int(n) for n in options.threads.split(",")]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    shown = 0
    for model in run.find_models(options):
        with tempfile.TemporaryDirectory() as folder:
            program = build(options, model.resolve(), Path(folder))
            found = {n: measure(program, n, 0.01 if options.quick else options.seconds) for n in counts}
        one, last = found[counts[0]], found[counts[-1]]
        print(f"{model.stem:20}" + "".join(f"  {n}: {us:.0f} us ({one[0] / us:.2f})" for n, (us, _) in found.items()), flush=True)
        losses = sorted(((b - a * counts[0] / counts[-1], i) for i, (a, b) in enumerate(zip(one[1], last[1]))), reverse=True)
        for _, i in losses[:options.steps]:
            print(f"{'':20}  step {i}: {one[1][i]:.1f} to {last[1][i]:.1f} us")
        shown += len(one[1]) == len(last[1]) and min(us for us, _ in found.values()) > 0
    if options.quick:
        print(f"{shown} passed, {len(options.model) - shown} failed")
    return shown < len(options.model)


if __name__ == "__main__":
    sys.exit(main())
