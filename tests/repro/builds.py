#!/usr/bin/env python3
"""Compile each model with several builds of castnet and compare every byte of what they write and say.

  builds.py --castnet A --castnet B [--machine s390x --work DIR] [--cases DIR] [--models DIR] [--every 16]

Compilers differ in the order in which they evaluate arguments, machines in their byte order: none of it may show. --machine adds a
build for another machine, which runs under qemu; it is left out, with a message, where it cannot be made.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import cross

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

TARGETS = ("c99", "x86-64", "s390x")
BIG_ENDIAN = {"s390x"}


def compile_with(command, model, target, out, timeout):
    """(exit status, messages, {file: bytes})"""
    words = [*command, "compile", str(model), "-o", str(out), "--name", "model", "--target", target]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    return done.returncode, done.stderr, {p.name: p.read_bytes() for p in sorted(out.glob("*"))}


def compare(builds, target, model, timeout):
    """None, or what differs from the first build's output."""
    with tempfile.TemporaryDirectory() as scratch:
        made = [compile_with(command, model, target, Path(scratch) / str(i), timeout) for i, command in enumerate(builds)]
    for command, other in zip(builds[1:], made[1:]):
        name = command[-1]
        if other[0] != made[0][0]:
            return f"{name}: exit {other[0]}, not {made[0][0]}: {other[1].decode(errors='replace').strip()[-200:]}"
        if other[1] != made[0][1]:
            return f"{name}: other messages"
        changed = [f for f in sorted({*other[2], *made[0][2]}) if other[2].get(f) != made[0][2].get(f)]
        if changed:
            return f"{name}: other bytes in {', '.join(changed)}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", action="append", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--cases", type=Path, help="conformance cases (make_cases.py)")
    parser.add_argument("--models", default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--every", type=int, default=1, help="only every N-th conformance case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    builds = [[str(harness.castnet_path(c))] for c in options.castnet]
    skipped = 0
    if options.machine:
        try:
            builds.append(cross.build(options.machine, "big" if options.machine in BIG_ENDIAN else "little", options.work))
        except RuntimeError as why:
            print(f"without castnet for {options.machine}: {why}")
            skipped = 1

    models = sorted(Path(options.models).resolve().glob("*/model.onnx")) if str(options.models) else []
    if options.cases:
        index = json.loads((options.cases / "index.json").read_text())[::options.every]
        models += [options.cases.resolve() / row["kind"] / row["name"] / "model.onnx" for row in index]
    jobs = [(TARGETS[i % len(TARGETS)], model) for i, model in enumerate(models)]
    results = harness.parallel(lambda job: compare(builds, *job, options.timeout), jobs, options.jobs, "builds")
    failed = [(job, text) for job, text in zip(jobs, results) if text]
    for (target, model), text in failed:
        print(f"FAIL {model} for {target}: {text}")
    return harness.totals(len(jobs) - len(failed), len(failed), skipped)


if __name__ == "__main__":
    sys.exit(main())
