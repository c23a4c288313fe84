#!/usr/bin/env python3
"""Blocked channels must not cost memory: the workspace of models beside the same with --no-blocks, printed and bounded.

  arena.py --castnet build/compiler/castnet [--models DIR] [--target x86-64-v4]... [--made NAME,...]

Networks of tests/bench/make_models.py with random weights, and recorded models where they are at hand, those of open sizes at their recorded inputs'.
Both ways of --threads. Nothing is compiled or run.
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
sys.path.insert(0, str(HERE.parent / "bench"))
import feed  # noqa: E402
import harness  # noqa: E402
import zoo_derived  # noqa: E402
import zoo_networks  # noqa: E402

LIMIT = 1.15
MADE = "lenet5,kws_dscnn,resnet8_cifar,vww_mbv1_025,mobilenetv2,vit_tiny,squeezenet,shufflenet"
TARGETS = ("x86-64-v3", "x86-64-v4")


def made(name, scratch):
    network = {n.__name__: n for n in zoo_networks.NETWORKS}.get(name)
    path = scratch / f"{name}.onnx"
    path.write_bytes((zoo_networks.build(network) if network else zoo_derived.light(name)).SerializeToString())
    return path


def workspace(castnet, path, *options):
    """Bytes; None where only a call knows them, or the model is not taken."""
    done = harness.run([castnet, "inspect", path, "--no-run", "--json", *options], 120)
    return json.loads(done.out)["workspace"] if done.status == 0 else None


def compare(castnet, path, target):
    """[(threads, with blocks, without)]"""
    return [(threads, *(workspace(castnet, path, "--target", target, f"--threads={threads}", *more) for more in ([], ["--no-blocks"])))
            for threads in ("on", "off")]


def paths(options, scratch):
    for name in filter(None, options.made.split(",")):
        yield name, made(name, scratch)
    recorded = scratch / "recorded"
    recorded.mkdir()
    for path in sorted(options.models.glob("*/model.onnx")):
        yield path.parent.name, feed.Case(path, recorded).model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet")
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--target", action="append")
    parser.add_argument("--made", default=MADE, help=f"default: {MADE}")
    options = parser.parse_args()
    castnet, rows, passed, failed, open_ones = harness.castnet_path(options.castnet), [], 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, path in paths(options, Path(scratch)):
            for target in options.target or TARGETS:
                for threads, blocks, plain in compare(castnet, path, target):
                    if not blocks or not plain:
                        open_ones += 1
                        continue
                    if blocks != plain:
                        rows.append([name, target, threads, f"{blocks:,}", f"{plain:,}", f"{blocks / plain:.2f}"])
                    over = blocks > LIMIT * plain
                    passed, failed = passed + (not over), failed + over
                    if over:
                        print(f"FAIL {name} for {target}, --threads={threads}: {blocks} bytes, {plain} without blocks; the limit is {LIMIT} times that")
    harness.table(rows, ("model", "target", "threads", "workspace", "--no-blocks", "times"))
    return harness.totals(passed, failed, open_ones)


if __name__ == "__main__":
    sys.exit(main())
