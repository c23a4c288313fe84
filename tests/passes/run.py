#!/usr/bin/env python3
"""Passes on graphs in text form.

  run.py --pass-text build/tests/pass_text [--castnet build/compiler/castnet --models DIR --cases DIR] [--update]

Each cases/NAME.txt has three parts between lines of dashes: the passes to run, a graph, and the graph that has to come
out; or, in place of the last, `error: ` and a part of the message. The graph is verified before and after each pass.
With --castnet the graphs of all models and official cases are printed, read back and printed again: the same bytes.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402


def parts(path):
    found = re.split(r"^-{3,}\n", path.read_text(), flags=re.M)
    if len(found) != 3:
        raise SystemExit(f"{path}: not three parts")
    return found


def run_text(program, names, text):
    done = subprocess.run([program, *names], input=text.encode(), capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def one_case(options, path):
    names, graph, want = parts(path)
    code, out, err = run_text(options.pass_text, names.split(), graph)
    got = out if code == 0 else f"error: {err}"
    if want.startswith("error: ") and not options.update:
        return code == 1 and want[len("error: "):].strip() in err, got
    if options.update:
        path.write_text("---\n".join((names, graph, got)))
    return got == want, got


def round_trip(options, model, stage, target):
    """None where the model is refused; else whether the text survives."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([options.castnet, "compile", model, "-o", scratch, f"--dump={stage}", *target], capture_output=True, timeout=60)
    if done.returncode:
        return None
    again = subprocess.run([options.pass_text], input=done.stdout, capture_output=True, timeout=60)
    return again.returncode == 0 and again.stdout == done.stdout


def level_dumps(options, model):
    """None where the model is refused; else whether each level of target x86-64 has the program of the target of its name."""
    def dump(target):
        with tempfile.TemporaryDirectory() as scratch:
            command = [options.castnet, "compile", model, "-o", scratch, "--dump=program", "--target", target]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.stdout if done.returncode == 0 else None
    together = dump("x86-64")
    if together is None:
        return None if dump("c99") is None else False
    levels = re.split(r"^# (c99|x86-64\S*)\n", together, flags=re.M)
    return len(levels) > 3 and all(dump(name) == text for name, text in zip(levels[1::2], levels[2::2]))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pass-text", type=Path, required=True)
    parser.add_argument("--castnet", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--every", type=int, default=1, help="of the official cases only each n-th")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true", help="write what comes out now; read the difference")
    return parser.parse_args()


def main():
    options = parse()
    passed = failed = skipped = 0
    for path in sorted((HERE / "cases").glob("*.txt")):
        good, got = one_case(options, path)
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAIL {path.stem}\n{got}")
    models = sorted(options.models.glob("*/model.onnx")) if options.models and options.models.exists() else []
    if options.models and not models:
        print(f"no models at {options.models}")
        skipped += 1
    cases = sorted(options.cases.glob("*/*/model.onnx"))[::options.every] if options.cases else []
    stages = (("graph", ()), ("passes", ()), ("passes", ("--target", "x86-64-v4")))  # the last with blocked channels
    work = [(m, *stage) for m in models + cases for stage in stages] if options.castnet else []
    answers = harness.parallel(lambda item: round_trip(options, *item), work, options.jobs, "round trips")
    for (model, stage, target), good in zip(work, answers):
        passed, failed = passed + (good is True), failed + (good is False)
        if good is False:
            print(f"FAIL {model.parent.name}: the text of {' '.join((stage, *target))} does not read back as it is")
    for model in models[::4] if options.castnet else []:
        good = level_dumps(options, model)
        passed, failed = passed + (good is True), failed + (good is False)
        if good is False:
            print(f"FAIL {model.parent.name}: a level of target x86-64 has another program than the target of its name")
    return harness.totals(passed, failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
