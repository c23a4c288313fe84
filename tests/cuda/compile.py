#!/usr/bin/env python3
"""Compile models for target cuda with nvcc, every warning an error.

  compile.py --castnet build/compiler/castnet [--models DIR] [--filter 'mnist*'] [--arch sm_80,sm_90] [--nvcc nvcc]

Without --nvcc: the one on PATH, in $CUDA_HOME/bin, or where the toolkit's installer puts it. Takes the models of
must_pass.txt, which run.py of tests/models runs on a GPU or on the emulated one. Skips where there is no nvcc. Ends with
`N passed, N failed, N skipped`: a model counts once an architecture.
"""
import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

FLAGS = ["-std=c++20", "-O1", "--fmad=false", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wno-unused-parameter"]


def find_nvcc():
    places = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    found = [shutil.which("nvcc"), *(shutil.which("nvcc", path=Path(place) / "bin") for place in places if place)]
    return next((f for f in found if f), "nvcc")


def compile_model(options, model, folder):
    """[(what, why it failed or "")], one an architecture."""
    made = harness.run([harness.castnet_path(options.castnet), "compile", options.models / model / "model.onnx", "-o", folder,
                        "--target", "cuda", "--name", "m"], options.timeout)
    answers = []
    for arch in options.arch.split(","):
        if made.status:
            answers.append((f"{model} {arch}", made.err or made.out))
            continue
        done = subprocess.run([options.nvcc, *FLAGS, f"-arch={arch}", "-c", f"{folder}/m.cu", "-o", f"{folder}/m.o"],
                              capture_output=True, text=True, timeout=options.timeout, check=False)
        answers.append((f"{model} {arch}", done.stdout + done.stderr if done.returncode else ""))
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--filter", action="append", help="only models named like this")
    parser.add_argument("--arch", default="sm_80,sm_90")
    parser.add_argument("--nvcc", default=find_nvcc())
    parser.add_argument("--timeout", type=float, default=600, help="seconds a compiler")
    options = parser.parse_args()
    names = list(harness.read_list(HERE / "must_pass.txt"))
    if options.filter:
        names = [n for n in names if any(fnmatch.fnmatch(n, p) for p in options.filter)]
    names = [n for n in names if (options.models / n / "model.onnx").exists()]
    if not shutil.which(options.nvcc) or not names:
        print("nothing compiled: " + ("no recorded models" if not names else f"there is no {options.nvcc}"))
        return harness.totals(0, 0, 1)
    failed = passed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for what, why in compile_model(options, name, folder):
                failed, passed = failed + bool(why), passed + (not why)
                print(f"{'FAIL' if why else 'ok  '} {what}", *why.splitlines()[:10], sep="\n  " if why else "")
    return harness.totals(passed, failed, 0)


if __name__ == "__main__":
    sys.exit(main())
