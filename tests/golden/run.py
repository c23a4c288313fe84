#!/usr/bin/env python3
"""Golden tests: input, command and expected output lie side by side in this folder.

  run.py --castnet build/compiler/castnet [--filter 'conv*'] [--update]

NAME.onnxtxt    a model in ONNX's text syntax, turned into NAME.onnx before the command runs; or
NAME.py         prints the bytes of NAME.onnx (for what the text syntax cannot say; finds tests/hostile/crafted); or
NAME.*          any other input files (NAME.onnx, NAME.ir …), taken as they are
NAME[.WHAT].cmd one line of shell, run in an empty folder that holds NAME's inputs and an executable `./castnet`
NAME.data/      perhaps a data set, as it is
NAME[.WHAT].out what it did: exit status, standard output, standard error, and the text of every file it wrote. Left out
                is what every model gets, and what changes with it: the bundled runtime, the header's common part, hashes

--update writes the .out files from what happens now; read the difference before committing it.
"""
import argparse
import difflib
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx.parser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

OWN = {".cmd", ".out"}
TEXT_LIMIT = 64 << 10  # longer files and those that are not text are given by their size
LEFT_OUT = [  # pattern, what stands for it
    (re.compile(r"(/\* ---- runtime[^\n]*\n).*?(?=/\* ---- weights)", re.S), r"\1(left out)\n\n"),
    (re.compile(r"(^#ifndef CASTNET_ABI\n).*?(?=^#endif)", re.S | re.M), r"\1(left out)\n"),
    (re.compile(r"(XXH128 )[0-9a-f]{32}"), r"\1(hash)"),
    (re.compile(r"(= \{\{\n)(\s*0x[^,]+,){8}"), r"\1  (head of the weights)"),
]
SET_ID = re.compile(r"_SET_ID 0x([0-9a-f]{16})u")


def inputs_of(command):
    """The input files of NAME.WHAT.cmd: all NAME.* that are not part of a test themselves."""
    stem = command.name.split(".")[0]
    return [p for p in sorted(HERE.glob(f"{stem}.*")) if p.suffix not in OWN]


def place_inputs(command, folder, castnet):
    (folder / "castnet").symlink_to(castnet)
    for source in inputs_of(command):
        made = folder / source.with_suffix(".onnx").name
        if source.suffix == ".onnxtxt":
            made.write_bytes(onnx.parser.parse_model(source.read_text()).SerializeToString(deterministic=True))
        elif source.suffix == ".py":
            env = {**os.environ, "PYTHONPATH": str(HERE.parent / "hostile")}
            made.write_bytes(subprocess.run([sys.executable, source], env=env, check=True, stdout=subprocess.PIPE).stdout)
        elif source.is_dir():
            shutil.copytree(source, folder / source.name)
        else:
            shutil.copyfile(source, folder / source.name)


def text_of(path):
    """A file's text, or None for what is not text or too long."""
    data = path.read_bytes()
    try:
        return data.decode() if len(data) <= TEXT_LIMIT and b"\0" not in data else None
    except UnicodeDecodeError:
        return None


def stable(text):
    """A generated file without what says nothing of its model."""
    for pattern, instead in LEFT_OUT:
        text = pattern.sub(instead, text)
    return text


def describe(paths, folder):
    """The files that a command wrote."""
    texts = {path: text_of(path) for path in paths}
    ids = {found for text in texts.values() if text for found in SET_ID.findall(text)}
    parts = []
    for path, text in texts.items():
        name = path.relative_to(folder)
        if text is None:
            parts.append(f"== {name}: {path.stat().st_size} bytes\n")
            continue
        for found in ids:
            text = text.replace(found, "(set id)")
        parts.append(f"== {name}\n{stable(text)}" + ("" if text.endswith("\n") or not text else "\n(no newline at the end)\n"))
    return "".join(parts)


def happen(command, castnet):
    """What a command does, as the text of its .out file."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        place_inputs(command, folder, castnet)
        before = {p for p in folder.rglob("*")}
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "NO_COLOR": "1"}
        outcome = harness.run(["sh", "-c", command.read_text()], timeout=120, cwd=folder, env=env)
        parts = [f"status {'timeout' if outcome.timed_out else outcome.status}\n"]
        for name, text in (("stdout", outcome.out), ("stderr", outcome.err)):
            if text:
                parts.append(f"== {name}\n{text.replace(scratch, '.')}")
        written = sorted(p for p in folder.rglob("*") if p.is_file() and p not in before)
        parts.append(describe(written, folder))
    return "".join(parts)


def compare(command, castnet, update):
    """None, or the difference."""
    expected = command.with_suffix(".out")
    now = happen(command, castnet)
    then = expected.read_text() if expected.exists() else ""
    if now == then:
        return None
    if update:
        expected.write_text(now)
        return None
    lines = difflib.unified_diff(then.splitlines(), now.splitlines(), f"{expected.name} as committed", "now", lineterm="")
    return "\n".join(list(lines)[:60])


def codes_without_test():
    """Diagnostics of the table that no committed output shows; usage and environment (E00..) and bugs (E09..) apart."""
    rows = re.findall(r"^DIAG\((E\d{4})", (ROOT / "compiler/base/diag.def").read_text(), re.M)
    shown = {code for out in HERE.glob("*.out") for code in harness.DIAGNOSTIC.findall(out.read_text())}
    return [code for code in rows if code not in shown and code[:3] not in ("E00", "E09")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--filter", action="append")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)
    commands = sorted(HERE.glob("*.cmd"))
    if options.filter:
        commands = [c for c in commands if any(fnmatch.fnmatch(c.stem, p) for p in options.filter)]
    results = harness.parallel(lambda c: compare(c, castnet, options.update), commands, options.jobs, "golden")
    failed = [(command, text) for command, text in zip(commands, results) if text is not None]
    for command, text in failed:
        print(f"FAIL {command.name}\n{text}\n  again: {harness.rerun_line('--filter', command.stem)}")
    if failed:
        print(f"accept all of it: {harness.rerun_line('--update')}")
    untested = codes_without_test()
    if untested:
        print(f"diagnostics without a golden test: {' '.join(untested)}")
    return harness.totals(len(commands) - len(failed), len(failed))


if __name__ == "__main__":
    sys.exit(main())
