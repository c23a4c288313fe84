#!/usr/bin/env python3
"""Interrupt castnet at every change that it makes to files, and look at what is left.

  run.py --castnet build/compiler/castnet [--cc gcc]

A set of files of one model is replaced by that of another; the N-th write, rename, removal or creation fails (disk full)
or kills the process (interpose.c), for every N. What is left must be the old set, the new set, or something that does not
build; a failure is reported with exit 4; the next run, undisturbed, must give the new set and leave no temporaries.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "hostile")]
import harness  # noqa: E402

import numpy as np  # noqa: E402
from crafted import F32, constant, model, node, to_bytes, value  # noqa: E402

MAIN = '#include "m.h"\nint main(void) { return m_run(0, 0, 0, 0, 0); }\n'
WEIGHTS = ("c", "bin")  # forms of the set: words in C, a binary beside it


def scaled(operator, size):
    """A model with weights of its own."""
    w = np.arange(size, dtype=np.float32) + (operator == "Mul")
    return to_bytes(model([node(operator, ["x", "w"], ["y"])], [value("x", F32, (size,))], [value("y", F32, (size,))],
                          [constant("w", w)]))


class Trial:
    def __init__(self, castnet, cc, weights, root):
        self.castnet, self.cc, self.weights, self.root = castnet, cc, weights, root
        self.count = root / "count"
        self.shim = root / "interpose.so"
        subprocess.run([cc, "-O1", "-shared", "-fPIC", HERE / "interpose.c", "-o", self.shim, "-ldl"], check=True)
        for name, operator in (("old", "Add"), ("new", "Mul")):
            (root / f"{name}.onnx").write_bytes(scaled(operator, 3000))
            outcome = self.compile(name, root / name)
            if outcome.status != 0:
                raise SystemExit(f"cannot compile the plain model: {outcome.err}")
        self.old, self.new = self.files(root / "old"), self.files(root / "new")

    def compile(self, name, out, fault=None, at=0):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CASTNET_FAULT")}
        if fault:
            env.update(LD_PRELOAD=str(self.shim), CASTNET_FAULT=fault, CASTNET_FAULT_AT=str(at),
                       CASTNET_FAULT_COUNT=str(self.count))
        command = [self.castnet, "compile", self.root / f"{name}.onnx", "-o", out, "--name", "m", "--weights", self.weights]
        return harness.run(command, 60, env=env)

    @staticmethod
    def files(folder):
        return {p.name: p.read_bytes() for p in folder.iterdir() if not p.name.startswith(".castnet-")}

    def builds(self, folder):
        """Whether a user's build of what lies there goes through."""
        (folder / "main.c").write_text(MAIN)
        done = harness.run([self.cc, "main.c", *[p.name for p in folder.glob("m*.c") if p.name != "main.c"], "-o", "main"],
                           120, cwd=folder)
        (folder / "main.c").unlink()
        (folder / "main").unlink(missing_ok=True)
        return done.status == 0

    def disturb(self, fault, at, start):
        """(reached, [what is wrong]) of one interrupted run over the old set, or over nothing."""
        out = self.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        if start == "old":
            shutil.copytree(self.root / "old", out)
        self.count.unlink(missing_ok=True)
        outcome = self.compile("new", out, fault, at)
        reached = outcome.status == -9 or (self.count.exists() and int(self.count.read_text()) >= at)
        wrong = self.left(out, outcome, fault) if reached else []
        again = self.compile("new", out)
        if again.status != 0 or self.files(out) != self.new:
            wrong.append(f"the next run does not repair it (exit {again.status}): {again.err.strip()[:200]}")
        if list(out.glob(".castnet-*")):
            wrong.append("the next run leaves temporaries")
        return reached, wrong

    def left(self, out, outcome, fault):
        wrong = []
        if outcome.status >= 0:
            if outcome.status not in (0, harness.EXIT_ENVIRONMENT) or (outcome.status and "E0003" not in outcome.err):
                wrong.append(f"exit {outcome.status}: {outcome.err.strip()[:200]}")
        if not out.exists():
            return wrong
        now = self.files(out)
        if outcome.status == 0 and now != self.new:
            wrong.append("exit 0, but the new set is not there")
        if now not in (self.old, self.new) and self.builds(out):
            wrong.append(f"what is left builds: {sorted(now)}")
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cc", default="gcc")
    options = parser.parse_args()
    castnet, passed, failed = harness.castnet_path(options.castnet), 0, 0
    for weights in WEIGHTS:
        with tempfile.TemporaryDirectory() as root:
            trial = Trial(castnet, options.cc, weights, Path(root))
            for fault in ("fail", "kill"):
                for start in ("old", "nothing"):
                    for at in range(1, 500):
                        reached, wrong = trial.disturb(fault, at, start)
                        passed, failed = passed + (not wrong), failed + bool(wrong)
                        for text in wrong:
                            print(f"FAIL weights {weights}, {fault} at change {at} over {start}: {text}")
                        if not reached:
                            break
    if failed:
        print(f"again: {harness.rerun_line()}")
    return harness.totals(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
