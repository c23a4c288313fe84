#!/usr/bin/env python3
"""Feeds damaged copies of the models and data files below a directory to castnet's ONNX reader.

usage: damage.py MUTATE DIRECTORY [--count N] [--seed N]     (MUTATE: the built tests/frontend/mutate)
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 100_000  # larger files only cost time: what is damaged in them is mostly weights
FILES = 400


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutate")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--count", default="5000")
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    files = sorted(f for f in options.directory.rglob("*") if f.suffix in (".onnx", ".pb") and f.stat().st_size < SIZE)
    files = files[::max(1, len(files) // FILES)]
    with tempfile.TemporaryDirectory() as scratch:
        env = dict(os.environ, TMPDIR=scratch, UBSAN_OPTIONS="halt_on_error=1")
        done = subprocess.run([options.mutate, options.seed, options.count, *files], env=env)
        kept = Path(scratch, "castnet-mutate.onnx")
        if done.returncode and kept.exists():
            print("the file:", kept.read_bytes().hex())
    print(f"{int(not done.returncode)} passed, {int(done.returncode != 0)} failed")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
