"""Generated text of small programs: compiles everywhere without a warning, runs, and does not build from mixed sets.

usage: compile.py MAKE_MODEL RUNTIME_SOURCE_DIR
"""
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MAKE, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
HERE = SOURCE / "tests/backend"
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off"]
LEVELS = ("c99", "x86_64_v3", "x86_64_v4", "x86_64_v4_vnni")  # of target x86-64
ALLOWED = {*(f"m_{level}_run" for level in LEVELS), "memcpy", "memset", "memmove", "memcmp", "m_run", "m_detect", "m_workspace_size", "m_check_weights", "keep_positive",
           "_GLOBAL_OFFSET_TABLE_"}
failures = []


def run(*command, ok=True, cwd=None):
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, timeout=300)
    if (r.returncode == 0) != ok:
        failures.append(f"{' '.join(map(str, command))}: exit {r.returncode}\n{r.stdout}{r.stderr}"[:4000])
    return r


def make(folder, case, *options):
    run(MAKE, case, folder, *options)
    return folder


def undefined(objects):
    names = set()
    for o in objects:
        names |= {line.split()[-1] for line in run("nm", "-u", o).stdout.splitlines()}
    return {n for n in names if n not in ALLOWED and not n.startswith("m_weights_")}


def writable(objects):
    """Sections that a program could write: the library must have none. Tables of pointers to constant strings lie in
    .data.rel.ro where code is position-independent: constant, but for the loader."""
    lines = [line.split() for o in objects for line in run("size", "-A", o).stdout.splitlines()]
    return [w[0] for w in lines if len(w) == 3 and w[0].startswith((".data", ".bss", ".tdata", ".tbss")) and w[1] != "0"
            and not w[0].startswith(".data.rel.ro")]


def build(folder, cc, level, defines=(), user=None):
    """Compiles every .c of the folder strictly; with `user`, also links and runs it."""
    objects = []
    for c in sorted(folder.glob("*.c")):
        o = folder / f"{c.stem}.{cc}{level}.o"
        run(cc, *STRICT, level, "-I", folder, "-c", c, "-o", o)
        objects.append(o)
    bad = undefined(objects) | set(writable(objects))
    if bad:
        failures.append(f"{folder.name} {cc} {level}: needs or holds {sorted(bad)}")
    if user:
        exe = folder / f"use.{cc}{level}"
        run(cc, *STRICT, level, "-I", folder, *defines, HERE / user, *objects, "-o", exe)
        weights = sorted(folder.glob("*.bin")) if "-DBIN" in defines else []
        if exe.exists():
            run(exe, *weights)


def needs(target):
    """The definition of what asks whether this processor has all that the target's file wants of one; clang 14 has no word for F16C, which comes with AVX2."""
    wanted = re.search(r'^CPU\("(.+)"\)', (SOURCE / f"targets/{target}.def").read_text(), re.MULTILINE)
    words = [w for w in wanted[1].split() if w != "f16c"] if wanted else []
    return [f"-DHAS_CPU=({'&&'.join(f'__builtin_cpu_supports({chr(34)}{w}{chr(34)})' for w in words)})"] if words else []


def check_case(work, case, weights, outputs, target):
    folder = make(work / f"{case}-{weights}-{outputs}-{target}", case, f"weights={weights}", f"outputs={outputs}",
                  f"target={target}", "value=10")
    defines = ["-DVALUE=10"] + ["-DOWNED"] * (outputs == "workspace") + ["-DBIN"] * (weights == "bin")
    defines += needs(target)
    user = {"static": "use_static.c", "extern": "use_extern.c", "dynamic": "use_dynamic.c" if weights != "bin" else None}.get(case)
    for cc, level in itertools.product(COMPILERS, ("-O0", "-O2")):
        build(folder, cc, level, defines, user)
    for cxx in ("g++", "clang++"):
        if shutil.which(cxx):
            run(cxx, "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only", "-x", "c++", folder / "m.h")
    return folder


def check_mixed(work, weights, target="c99"):
    """Two runs that differ in the weights' values: no file of one builds with the files of the other."""
    a = make(work / f"a-{weights}-{target}", "static", f"weights={weights}", f"target={target}", "value=10")
    b = make(work / f"b-{weights}-{target}", "static", f"weights={weights}", f"target={target}", "value=20")
    cc = COMPILERS[0]
    for name in sorted(p.name for p in a.iterdir()):
        mixed = work / f"mixed-{weights}-{target}-{name}"
        shutil.copytree(a, mixed)
        shutil.copy(b / name, mixed / name)
        exe = mixed / "use"
        command = [cc, "-std=c99", "-I", mixed, "-DVALUE=10", HERE / "use_static.c", *sorted(mixed.glob("*.c")), "-o", exe]
        if name.endswith(".bin"):
            stale = subprocess.run(list(map(str, command)), capture_output=True, timeout=300).returncode == 0 and weights == "asm"
            if stale:
                run(exe, ok=False)
        else:
            run(*command, ok=False)


def check_same_code(work):
    """Weights in their own file can be replaced when only their values changed."""
    a = make(work / "replace-a", "static", "weights=bin", "value=10")
    b = make(work / "replace-b", "static", "weights=bin", "value=20")
    other = make(work / "replace-c", "dynamic", "weights=bin", "value=20")
    exe = a / "use"
    for value, weights, ok in ((10, a, True), (20, b, True), (20, other, False)):
        run(COMPILERS[0], *STRICT, "-I", a, f"-DVALUE={value}", HERE / "use_static.c", a / "m.c", "-o", exe)
        run(exe, weights / "m_weights.bin", ok=ok)


def check_modes_agree(work):
    """Words, .incbin and the file are the same bytes."""
    text = (make(work / "words", "static", "weights=c", "words=1000") / "m_weights.c").read_text()
    words = [int(w, 16) for w in text[text.rindex("{{"):].replace("{{", "").replace("}};", "").split(",") if w.strip()]
    data = b"".join(w.to_bytes(8, "little") for w in words)
    bin_ = (make(work / "auto", "static", "words=1000") / "m_weights.bin").read_bytes()
    if data[64:] != bin_[64:]:
        failures.append("weights as words differ from the file")
    big = make(work / "big", "static", "words=1200000")
    if ".incbin" not in (big / "m_weights.c").read_text():
        failures.append("auto did not choose .incbin above 4 MiB")


def check_repeats(work):
    again = [make(work / f"again{i}", "hostile", "weights=auto") for i in range(2)]
    for p in again[0].iterdir():
        if p.read_bytes() != (again[1] / p.name).read_bytes():
            failures.append(f"{p.name} differs between two runs")


def check_small_targets(folder):
    """32-bit machines without a C library: no warning, nothing undefined but the arithmetic helpers of the compiler."""
    for target, *machine in (["armv7m-none-eabi"], ["riscv32-none-elf"], ["i386-none-elf", "-msse2"]) if "clang" in COMPILERS else ():
        o = folder / f"{target}.o"
        run("clang", f"--target={target}", *machine, "-ffreestanding", "-isystem", HERE / "freestanding", *STRICT, "-O1", "-I", folder,
            "-c", folder / "m.c", "-o", o)


def check_sharing(work):
    """Two copies of the same shape: one function, two calls."""
    text = (make(work / "sharing", "hostile") / "m.c").read_text()
    if (text.count("static void step_"), text.count("  CN_STEP(")) != (2, 3):
        failures.append("equal steps do not share one function")


def check_fixed_set(work):
    """A folder made twice over holds the fixed set only."""
    folder = make(make(work / "twice", "static"), "dynamic")
    if {p.name for p in folder.iterdir()} != {"m.h", "m.c", "m_weights.c", "m_weights.bin"}:
        failures.append(f"unexpected files: {sorted(p.name for p in folder.iterdir())}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        work = Path(tmp)
        jobs = [(c, w, o, "c99") for c in ("static", "dynamic") for w in ("c", "asm", "bin") for o in ("caller", "workspace")]
        jobs += [("hostile", "auto", "caller", "c99"), ("bounded", "c", "workspace", "c99"), ("strings", "c", "workspace", "c99"),
                 ("strings", "bin", "caller", "c99"), ("scalar", "asm", "caller", "c99"),
                 ("extern", "auto", "caller", "c99"), ("static", "c", "caller", "x86-64-v3"),
                 ("static", "c", "caller", "x86-64-v4"), ("static", "bin", "caller", "x86-64"), ("dynamic", "asm", "workspace", "x86-64"),
                 ("extern", "c", "caller", "x86-64")]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda j: check_case(work, *j), jobs))
        for weights in ("c", "asm", "bin"):
            check_mixed(work, weights)
        check_mixed(work, "c", "x86-64")
        check_same_code(work)
        check_modes_agree(work)
        check_repeats(work)
        check_fixed_set(work)
        check_sharing(work)
        check_small_targets(make(work / "small", "dynamic"))
    for f in failures:
        print(f)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
