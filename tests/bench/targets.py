#!/usr/bin/env python3
"""Sizes of generated code by target: .text and constants of the objects, workspace, largest stack frame.

  targets.py --castnet build/compiler/castnet [--models DIR] [--target T,T] [MODEL...]

Each model is built with the target's own flags by the gcc of its machine; what is not installed is left out.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

MODELS = ("mnist_atmega", "mnist_cntk", "micro_kws_fp32", "micro_kws_qop", "policy_go1", "tinyvit_demo", "yunet_s_320", "squeezenet_fp16")


def compilers():
    """{target: the names' beginning of its tools, "" for this machine's}"""
    found = {}
    for path in sorted((ROOT / "targets").glob("*.def")):
        text = path.read_text()
        name = re.search(r'^TARGET\(\w+, "([^"]+)"', text, re.M)[1]
        triplet = re.search(r'^MACHINE\("([^"]*)"', text, re.M)
        found[name] = "" if not triplet or triplet[1] in ("", "x86_64-linux-gnu") else triplet[1] + "-"
    return found


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def flags_of(castnet):
    return {line.split()[0]: line.split()[1:] for line in run(castnet, "targets").splitlines()}


def object_sizes(prefix, source, flags):
    """(.text, constants, largest frame) of one source, or None."""
    folder, made = source.parent, source.with_suffix(".o")
    if run(f"{prefix}gcc", *flags, "-isystem", ROOT / "tests/backend/freestanding", "-fstack-usage", "-I", folder, "-c", source, "-o", made) is None:
        return None
    rows = dict(line.split()[:2] for line in run(f"{prefix}size", "-A", made).splitlines() if line.startswith("."))
    text = sum(int(n) for name, n in rows.items() if name.startswith(".text"))
    constants = sum(int(n) for name, n in rows.items() if name.startswith(".rodata"))
    frames = [int(line.split("\t")[1]) for line in source.with_suffix(".su").read_text().splitlines()]
    return text, constants, max(frames, default=0)


def sizes(prefix, folder, flags):
    """The same of a compiled model, all levels of the target together; weights apart."""
    made = [object_sizes(prefix, source, flags) for source in sorted(folder.glob("*.c")) if source.name != "m_weights.c"]
    if not made or None in made:  # no C, or no compiler takes it
        return None
    texts, constants, frames = zip(*made)
    return [sum(texts), sum(constants), max(frames)]


def measure(castnet, model, target, prefix, flags):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if run(castnet, "compile", model, "-o", folder, "--name", "m", "--target", target, "--weights=c") is None:
            return None
        row = sizes(prefix, folder, flags)
        weights = re.search(r"(\d+) bytes", (folder / "m_weights.c").read_text())[1]
        workspace = re.search(r"#define m_WORKSPACE_SIZE (\d+)", (folder / "m.h").read_text())
    return row and [row[0], row[1], workspace[1] if workspace else "by dimensions", row[2], weights]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--models", type=Path, default=ROOT.parent / "shared" / "models")
    parser.add_argument("--target", help="only these, with commas")
    parser.add_argument("model", nargs="*", default=MODELS)
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)
    flags = flags_of(castnet)
    rows = []
    for target, prefix in compilers().items():
        if target not in (options.target.split(",") if options.target else flags) or not shutil.which(f"{prefix}gcc"):
            continue
        for name in options.model:
            row = measure(castnet, options.models / name / "model.onnx", target, prefix, flags[target])
            if row:
                rows.append([target, name, *row])
    harness.table(rows, ("target", "model", ".text", "tables", "workspace", "largest frame", "weights"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
