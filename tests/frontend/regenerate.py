#!/usr/bin/env python3
"""Generates onnx.pb.[ch] and onnx-data.pb.[ch] again and compares them with the committed ones.

usage: regenerate.py SOURCE_ROOT [--write]     (--write replaces the committed files)

Also holds the .proto files against those of the installed onnx package, if that is the version they were taken from.
Exit status: 0 equal, 1 different, 77 protoc or nanopb's generator 0.4.7 is missing (Debian: protobuf-compiler, nanopb).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

NANOPB = "nanopb-0.4.7"
ONNX = "1.23.2"  # the release of the PyPI package whose onnx.proto and onnx-data.proto are committed
NAMES = ("onnx", "onnx-data")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def generate(folder, out):
    if not shutil.which("protoc") or not shutil.which("protoc-gen-nanopb"):
        skip("protoc or protoc-gen-nanopb is missing")
    command = ["protoc", "-I.", f"--nanopb_out={out}", *(f"{n}.proto" for n in NAMES)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        skip("the generator fails here: " + done.stderr.strip()[-300:])
    version = re.search(r"nanopb-[0-9.]+", read(os.path.join(out, "onnx.pb.c"))).group(0)
    if version != NANOPB:
        skip(f"the generator is {version}, the committed files are of {NANOPB}")


def embedded_fields(header):
    """Fields with a length that are no callback: the reader cannot take them."""
    row = r"^X\(a, (?!CALLBACK)\w+, *(?:\w+, *(?:STRING|BYTES|MESSAGE)|REPEATED, *\w+), *(\w+)"
    return re.findall(row, header, re.M)


def compare_protos(folder):
    try:
        import onnx
    except ImportError:
        return []
    if onnx.__version__ != ONNX:
        return []
    bad = []
    for name in NAMES:
        shipped = read(os.path.join(os.path.dirname(onnx.__file__), f"{name}.proto"))
        if read(os.path.join(folder, f"{name}.proto")) != shipped.replace('"onnx/onnx-ml.proto"', '"onnx.proto"'):
            bad.append(f"{name}.proto is not that of onnx {ONNX}")
    return bad


def main():
    folder = os.path.join(sys.argv[1], "compiler", "frontend")
    bad = compare_protos(folder)
    with tempfile.TemporaryDirectory() as out:
        generate(folder, out)
        for name in (f"{n}.pb.{e}" for n in NAMES for e in "ch"):
            new = read(os.path.join(out, name))
            if "--write" in sys.argv:
                shutil.copy(os.path.join(out, name), folder)
            elif new != read(os.path.join(folder, name)):
                bad.append(f"{name} differs: run {sys.argv[0]} SOURCE_ROOT --write")
            bad += [f"{name}: {f} is no callback (add it to the .options)" for f in embedded_fields(new)]
    print("\n".join(bad) or "equal")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
