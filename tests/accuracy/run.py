#!/usr/bin/env python3
"""Judge the scalar functions by the program `accuracy`, in parts that run side by side, and hold the worst of each against its bound.

  tests/accuracy/run.py PROGRAM                       a sample: every 49999th f32 argument, the neighbours of special ones and of the known worst ones
  tests/accuracy/run.py PROGRAM --exhaustive [NAME]   all 2^32 arguments (of these functions)

Prints a row a function and type; "screen" is the largest error of the C library's function that MPFR saw, in units of 2^-53 of its value.
The last line is `N passed, N failed`.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import harness  # noqa: E402

SHARDS = 16
HEAD = ("function", "type", "ULP", "bound", "argument", "result", "exact", "wrong", "screen")


def part(program, function, stride, shard, shards):
    """Rows of one shard; the narrow types are judged with shard 0 of a function's f32."""
    command = [program, "--stride", str(stride), "--shard", f"{shard}/{shards}", *function]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"exit {done.returncode}: {' '.join(map(str, command))}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built program `accuracy`")
    parser.add_argument("functions", nargs="*", help="names of runtime-lite/scalar.def (default: all of tests/accuracy/functions.def)")
    parser.add_argument("--exhaustive", action="store_true", help="all f32 arguments")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, int(os.environ.get("CASTNET_TEST_JOBS", "2"))))
    options = parser.parse_intermixed_args()
    stride, shards = (1, SHARDS) if options.exhaustive else (49999, 1)
    worst = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(part, options.program, options.functions, stride, i, shards) for i in range(shards)]
        for row in (row for done in waiting for row in done.result()):
            old = worst.get((row[0], row[1]))
            wrong = int(row[7]) + (int(old[7]) if old else 0)
            kept = row if old is None or float(row[2]) > float(old[2]) else old
            screen = max(float(row[8]), float(old[8]) if old else 0)
            worst[row[0], row[1]] = [*kept[:7], str(wrong), f"{screen:.2f}"]
    harness.table(list(worst.values()), HEAD)
    failed = [row for row in worst.values() if float(row[2]) > float(row[3]) or int(row[7])]
    for row in failed:
        print(f"{row[0]} of {row[1]} misses its bound; again: tests/accuracy/run.py {options.program} {row[0]}"
              f"{' --exhaustive' if options.exhaustive else ''}")
    return harness.totals(len(worst) - len(failed), len(failed), 0)


if __name__ == "__main__":
    sys.exit(main())
