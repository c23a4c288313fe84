#!/usr/bin/env python3
"""Compile fresh mutations of conformance models for some time.

  fuzz.py --castnet build-test/sanitize/compiler/castnet --cases DIR --seconds 60 [--seed 1] [--keep DIR]

The N-th file of a seed is the same in every run; how many are tried depends on the machine. A file fails when castnet
is ended by a signal or a sanitizer, reports a bug in itself, or takes over a minute; it is kept for a look.
"""
import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import harness  # noqa: E402
import mutate  # noqa: E402

TIME_LIMIT = 60


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.castnet = harness.castnet_path(options.castnet)
        index = json.loads((options.cases / "index.json").read_text())
        paths = [options.cases / row["kind"] / row["name"] / "model.onnx" for row in index]
        self.models = [p for p in paths if p.stat().st_size < 100000]

    def file(self, number):
        """The bytes of the seed's N-th file."""
        rng = random.Random(f"{self.options.seed}/{number}")
        return mutate.bytes_of(rng.choice(self.models).read_bytes(), rng)

    def attempt(self, number):
        """How castnet ended on the N-th file: (class, reason)"""
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.onnx"
            path.write_bytes(self.file(number))
            command = [self.castnet, "compile", path, "-o", Path(scratch) / "out", "--name", "model"]
            outcome = harness.run(command, TIME_LIMIT, env=harness.sanitizer_environment())
        verdict = {harness.EXIT_OK: "pass", harness.EXIT_REFUSED: "refused"}.get(outcome.status, "bug")
        return harness.classify_outcome(outcome, {"verdict": verdict, "diagnostics": [{"code": "E0303"}]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cases", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="only the N-th file of the seed")
    parser.add_argument("--keep", type=Path, default=Path("build-test/fuzz"), help="where failing files go")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    fuzzer = Fuzzer(options)
    end, number, ended, failed = time.monotonic() + options.seconds, 0, Counter(), []
    while time.monotonic() < end and options.only is None or number == 0:
        numbers = range(number, number + 50) if options.only is None else [options.only]
        for n, (cls, reason) in zip(numbers, harness.parallel(fuzzer.attempt, numbers, options.jobs)):
            ended[cls] += 1
            if cls not in (harness.PASS, harness.REFUSED):
                failed.append((n, cls, reason))
        number += 50
    print(f"seed {options.seed}: " + ", ".join(f"{n} {cls}" for cls, n in sorted(ended.items())))
    for n, cls, reason in failed[:20]:
        options.keep.mkdir(parents=True, exist_ok=True)
        kept = options.keep / f"{options.seed}_{n}.onnx"
        kept.write_bytes(fuzzer.file(n))
        print(f"FAIL {kept}: {cls}: {reason}\n  again: {harness.rerun_line('--only', n)}")
    return harness.totals(sum(ended.values()) - len(failed), len(failed))


if __name__ == "__main__":
    sys.exit(main())
