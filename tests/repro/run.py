#!/usr/bin/env python3
"""Compile each model several times under different circumstances and compare every byte of what is written.

  run.py --castnet build/compiler/castnet --cases DIR [--models DIR] [--every 16]

What changes: the working folder, how the model's path is spelled, a copy elsewhere, locale, time zone, home, and the
size of the environment (which moves the stack). A refusal must read the same each time, too.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

ENVIRONMENTS = (
    {"LC_ALL": "C", "TZ": "UTC", "HOME": "/"},
    {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati", "HOME": "/nonexistent",
     "TMPDIR": "/tmp", "SOURCE_DATE_EPOCH": "1", "COLUMNS": "40", "PADDING": "x" * 5000},
)


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def compile_once(castnet, model, cwd, out, env, timeout):
    """(exit status, standard error without paths, {file: bytes})"""
    command = [castnet, "compile", model, "-o", out, "--name", "model"]
    outcome = harness.run(command, timeout, cwd=cwd, env={"PATH": os.environ["PATH"], **env})
    err = "\n".join(line.split("model.onnx", 1)[-1] for line in outcome.err.splitlines())
    return (None if outcome.timed_out else outcome.status), err, files(Path(cwd) / out)


def compare(castnet, model, timeout):
    """None, or what differs between two compilations."""
    with tempfile.TemporaryDirectory() as scratch:
        here, there = Path(scratch) / "a", Path(scratch) / "another folder" / "deeper"
        here.mkdir()
        shutil.copytree(model.parent, there, ignore=shutil.ignore_patterns("test_data_set_*"))
        os.utime(there / "model.onnx", (0, 0))
        first = compile_once(castnet, model, here, "out", ENVIRONMENTS[0], timeout)
        second = compile_once(castnet, "./model.onnx", there, there / "made here", ENVIRONMENTS[1], timeout)
    if first[0] != second[0]:
        return f"exit {first[0]} and exit {second[0]}"
    if first[1] != second[1]:
        return "different messages"
    if sorted(first[2]) != sorted(second[2]):
        return f"different files: {sorted(set(first[2]) ^ set(second[2]))}"
    changed = [name for name in first[2] if first[2][name] != second[2][name]]
    return f"different bytes: {', '.join(changed)}" if changed else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cases", type=Path, help="conformance cases (make_cases.py)")
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--every", type=int, default=1, help="only every N-th conformance case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120)
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)

    models = sorted(options.models.resolve().glob("*/model.onnx"))
    if options.cases:
        index = json.loads((options.cases / "index.json").read_text())
        chosen = index[::options.every]
        models += [options.cases.resolve() / row["kind"] / row["name"] / "model.onnx" for row in chosen]
    results = harness.parallel(lambda m: compare(castnet, m, options.timeout), models, options.jobs, "reproducibility")
    failed = [(model, text) for model, text in zip(models, results) if text]
    for model, text in failed:
        print(f"FAIL {os.path.relpath(model)}: {text}")
    if failed:
        print(f"again: {harness.rerun_line()}")
    return harness.totals(len(models) - len(failed), len(failed))


if __name__ == "__main__":
    sys.exit(main())
