#!/usr/bin/env python3
"""Draw graphs until told to stop, and keep each that castnet does wrong, made small.

  hunt.py --castnet BIN --seed 1000000 --count 5000 [--cc gcc --cc clang] [--kept tests/random/kept]

Every graph is checked fused and not, with memory reused and not, by each C compiler. A wrong one goes through reduce.py into the folder of kept graphs,
which tests/run random runs from then on: it is to be looked at, named after its fault, and repaired.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import harness  # noqa: E402
import make_random  # noqa: E402

FORMS = ([], ["--no-fuse"], ["--no-reuse"], ["--no-fuse", "--no-reuse"])
LONGEST = 600  # seconds that a reduction may take


def faults(castnet, compilers, folder, row):
    """(options, class, reason) of each check that does not pass."""
    for cc in compilers:
        for form in FORMS:
            options = ["--cc", cc, *form]
            outcome = harness.run([castnet, "check", folder / "model.onnx", "--json", "--rtol", str(row["rtol"]), "--atol", str(row["atol"]), *options], 120)
            records = harness.json_lines(outcome.out)
            cls, reason = harness.classify_outcome(outcome, records[-1] if records else None)
            if cls != harness.PASS:
                yield options, cls, reason


def keep(castnet, folder, row, options, kept):
    command = [sys.executable, HERE / "reduce.py", folder, "--castnet", castnet, "-o", kept / row["name"], "--rtol", str(row["rtol"]), "--atol", str(row["atol"])]
    command += [f"--check={option}" for option in options]
    try:
        subprocess.run([str(c) for c in command], check=True, timeout=LONGEST)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"  not made small: {error}; kept as it is")
        shutil.copytree(folder, kept / row["name"], dirs_exist_ok=True)
        make_random.write_tolerance(kept / row["name"], row["rtol"], row["atol"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True, type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--cc", action="append", metavar="COMPILER")
    parser.add_argument("--kept", type=Path, default=HERE / "kept")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for row in make_random.rows(options.seed, Path(work)):
            if "fault" in row:
                raise SystemExit(row["fault"])
            if "why" in row:
                continue
            folder = Path(work) / "random" / row["name"]
            found = list(faults(options.castnet.resolve(), options.cc or ["gcc"], folder, row))
            for how, cls, reason in found:
                print(f"FAIL {row['name']} {' '.join(how)}: {cls}: {reason[:200]}", flush=True)
            if found:
                keep(options.castnet.resolve(), folder, row, found[0][0], options.kept)
            passed, failed = passed + (not found), failed + bool(found)
            shutil.rmtree(folder)
            if passed + failed == options.count:
                break
    return harness.totals(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
