#!/usr/bin/env python3
"""Hold generated C to what its users are promised, whatever the model.

  run.py --castnet build/compiler/castnet --cases DIR [--every 40] [--cc gcc,clang] [--target c99,x86-64-v3]

For each model, target, compiler and optimisation level: no warning; nothing undefined but memory functions and the
compiler's own arithmetic; every external symbol begins with the model's name; no writable static data; a stack whose
size is known; a header that stands alone, also for C++.
"""
import argparse
import itertools
import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off",
          "-fno-stack-protector", "-fstack-usage"]
TARGET_FLAGS = {"c99": [], "x86-64": [], "x86-64-v3": ["-march=x86-64-v3"], "x86-64-v4": ["-march=x86-64-v4"],
                "x86-64-v4-vnni": ["-march=x86-64-v4", "-mavx512vnni"],
                "x86-64-v4-amx": ["-march=x86-64-v4", "-mavx512vnni", "-mamx-tile", "-mamx-bf16"]}
LEVELS = ("-O0", "-O2")
ALLOWED = re.compile(r"mem(cpy|move|set|cmp)$|__aeabi_|__(u?(div|mod|divmod)|mul|neg|ash[lr]|lshr|u?cmp|fix|float|extend|trunc|"
                     r"add|sub|eq|ne|lt|le|gt|ge|unord|pop|clz|ctz|bswap)\w*$|_GLOBAL_OFFSET_TABLE_$|castnet_decode_image$")
# Bytes a function may take. Without optimisation each value of an inlined body has a place of its own, and a vector 64 bytes.
STACK_LIMIT = {"-O0": 256 << 10, "-O2": 64 << 10}


def compile_set(folder, cc, target, level):
    """(object files, [what is wrong])"""
    objects, wrong = [], []
    for source in sorted(folder.glob("*.c")):
        made = source.with_suffix(".o")
        done = harness.run([cc, *STRICT, *TARGET_FLAGS[target], level, "-c", source.name, "-o", made.name], 300, cwd=folder)
        if done.status:
            wrong.append(f"{source.name}: {done.err.strip()[:400]}")
        else:
            objects.append(made)
    return objects, wrong


def symbols(objects):
    """[(kind, name)] of nm over all objects."""
    done = harness.run(["nm", "-g", *objects], 60)
    rows = [line.split() for line in done.out.splitlines()]
    return [(row[-2], row[-1]) for row in rows if len(row) in (2, 3) and len(row[-2]) == 1]


def check_symbols(objects, name):
    found = symbols(objects)
    defined = {symbol for kind, symbol in found if kind != "U"}
    wrong = [f"undefined: {s}" for s in sorted({s for k, s in found if k == "U"} - defined) if not ALLOWED.match(s)]
    wrong += [f"external symbol without the model's name: {s}" for s in sorted(defined) if not s.startswith(name)]
    return wrong


def check_data(objects):
    done = harness.run(["size", "-A", *objects], 60)
    sections = re.findall(r"^(\.(?:data|bss|tdata|tbss)\S*)\s+(\d+)", done.out, re.M)
    return [f"writable static data: {int(n)} bytes in {s}" for s, n in sections if int(n) and ".rel.ro" not in s]


def check_stack(folder, level):
    wrong = []
    for usage in folder.glob("*.su"):
        for line in usage.read_text().splitlines():
            where, size, kind = line.rsplit("\t", 2)
            if int(size) > STACK_LIMIT[level] or kind not in ("static", "dynamic,bounded"):
                wrong.append(f"stack of {where.rsplit(':', 1)[-1]}: {size} bytes, {kind}")
    return wrong


def check_header(folder, name, cc):
    wrong = []
    for language, standard in (("c", "c99"), ("c++", "c++11")):
        command = [cc, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        done = harness.run([*command, f"{name}.h"] if language == "c++" else [*command, "alone.txt"], 60, cwd=folder)
        if done.status and "not installed" not in done.err and "cc1plus" not in done.err:
            wrong.append(f"header as {language}: {done.err.strip()[:300]}")
    return wrong


def check_set(folder, name, cc, target, level):
    objects, wrong = compile_set(folder, cc, target, level)
    if wrong:
        return wrong
    wrong = check_symbols(objects, name) + check_data(objects) + check_stack(folder, level)
    for leftover in (*folder.glob("*.o"), *folder.glob("*.su")):
        leftover.unlink()
    return wrong


class Runner:
    def __init__(self, options):
        self.castnet = harness.castnet_path(options.castnet)
        self.compilers, self.targets = options.cc.split(","), options.target.split(",")

    def check(self, model):
        """None when castnet refuses the model, else [what is wrong]."""
        wrong = []
        for target in self.targets:
            with tempfile.TemporaryDirectory() as scratch:
                out = Path(scratch) / "out"
                done = harness.run([self.castnet, "compile", model, "-o", out, "--name", "zq", "--target", target], 120)
                if done.status == harness.EXIT_REFUSED:
                    return None
                if done.status:
                    return [f"exit {done.status}: {done.err[:200]}"]
                (out / "alone.txt").write_text('#include "zq.h"\n#include "zq.h"\nextern int unused;\n')
                for cc, level in itertools.product(self.compilers, LEVELS):
                    wrong += [f"{target} {cc} {level}: {text}" for text in check_set(out, "zq", cc, target, level)]
                wrong += [text for cc in self.compilers for text in check_header(out, "zq", cc)]
        return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cases", type=Path, help="conformance cases (make_cases.py)")
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--filter", action="append", help="only models of cases and recorded models like this (again: or this)")
    parser.add_argument("--every", type=int, default=1, help="only every N-th of all")
    parser.add_argument("--cc", default="gcc,clang")
    parser.add_argument("--target", default="c99,x86-64-v3")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    patterns = options.filter or ["*"]
    models = sorted(options.models.resolve().glob("*/model.onnx"))
    if options.cases:
        index = json.loads((options.cases / "index.json").read_text())
        models += [p for row in index for p in [options.cases.resolve() / row["kind"] / row["name"] / "model.onnx"]]
    models = [p for p in models if any(p.parent.match(pattern) for pattern in patterns)][::options.every]
    results = harness.parallel(Runner(options).check, models, options.jobs, "contract")
    failed = [(model, wrong) for model, wrong in zip(models, results) if wrong]
    for model, wrong in failed[:40]:
        print(f"FAIL {model.parent.name}: {'; '.join(wrong[:6])}")
        print(f"  again: {harness.rerun_line('--filter', model.parent.name, '--every', 1)}")
    refused = sum(1 for wrong in results if wrong is None)
    return harness.totals(len(models) - len(failed) - refused, len(failed), refused)


if __name__ == "__main__":
    sys.exit(main())
