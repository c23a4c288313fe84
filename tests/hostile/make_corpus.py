#!/usr/bin/env python3
"""Write the hostile corpus: files that castnet has to refuse, or to take, without crashing, hanging or growing.

  make_corpus.py -o DIR --cases CONFORMANCE [--seed 1]

Crafted files (the modules of crafted/) have a known verdict; the rest are truncations and mutations of conformance
models (make_cases.py), chosen by the seed. DIR/index.json lists {name, file, group, expect, why, check}.
"""
import argparse
import importlib
import json
import os
import random
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import mutate  # noqa: E402
from crafted import ANY, DIRECTORY, FIFO, REFUSE, Case, Link, to_bytes  # noqa: E402

import onnx  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402
from onnx import numpy_helper  # noqa: E402

GROUPS = ("foreign", "external", "structure", "sizes", "functions", "operators", "sequences", "names", "quirks")
N_BASES, N_CUTS, N_MUTANTS, N_BENT = 40, 8, 20, 15  # models, and files made of each


def bases(cases, rng):
    """Conformance models to damage, (name, bytes): some of every size, the large ones left out."""
    index = json.loads((cases / "index.json").read_text())
    paths = [cases / row["kind"] / row["name"] / "model.onnx" for row in index]
    small = [p for p in paths if p.stat().st_size < 20000]
    return [(p.parent.name, p.read_bytes()) for p in rng.sample(small, N_BASES)]


def parses(data):
    try:
        onnx.ModelProto.FromString(data)
        return True
    except DecodeError:
        return False


def truncated(models, rng):
    for name, data in models:
        for cut in sorted(rng.sample(range(1, len(data)), N_CUTS)):
            expect = ANY if parses(data[:cut]) else REFUSE
            yield Case(f"{name}_{cut}", expect, data[:cut], f"the first {cut} of {len(data)} bytes")


def mutated(models, rng):
    for name, data in models:
        for k in range(N_MUTANTS):
            yield Case(f"{name}_{k}", ANY, mutate.bytes_of(data, rng), "some bytes changed")


def bent(models, rng):
    for name, data in models:
        for k in range(N_BENT):
            changed, why = mutate.model_of(onnx.ModelProto.FromString(data), rng)
            yield Case(f"{name}_{k}", ANY, to_bytes(changed), why)


def place(path, held):
    """A file's content, or what stands there instead of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if held is DIRECTORY:
        path.mkdir()
    elif held is FIFO:
        os.mkfifo(path)
    elif isinstance(held, Link):
        path.symlink_to(held.target)
    else:
        path.write_bytes(held)


def write_data(folder, arrays, side):
    for i, array in enumerate(arrays):
        proto = numpy_helper.from_array(array, f"{side}_{i}")
        place(folder / f"{side}_{i}.pb", proto.SerializeToString(deterministic=True))


def write(out, group, case):
    """Files of a case; returns its row of the index."""
    folder = out / group / case.name
    folder.mkdir(parents=True)
    place(folder / case.file, to_bytes(case.model))
    for path, held in case.files.items():
        place(folder / path, held)
    for k, (inputs, outputs) in enumerate(case.data):
        write_data(folder / f"test_data_set_{k}", inputs, "input")
        write_data(folder / f"test_data_set_{k}", outputs, "output")
    return {"name": f"{group}/{case.name}", "file": case.file, "group": group, "expect": case.expect,
            "why": case.why, "check": bool(case.data)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--cases", required=True, type=Path, help="folder written by tests/conformance/make_cases.py")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    out = options.output
    if (out / "index.json").exists():
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)

    rng = random.Random(options.seed)
    models = bases(options.cases, rng)
    index = []
    for group in GROUPS:
        index += [write(out, group, case) for case in importlib.import_module(f"crafted.{group}").cases()]
    for group, generate in (("truncated", truncated), ("mutated", mutated), ("bent", bent)):
        index += [write(out, group, case) for case in generate(models, rng)]
    (out / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    counts = {group: sum(1 for row in index if row["group"] == group) for group in dict.fromkeys(r["group"] for r in index)}
    print(f"{len(index)} files in {out}: " + ", ".join(f"{n} {group}" for group, n in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
