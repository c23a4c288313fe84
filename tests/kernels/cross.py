"""Runs the kernel tests of other machines' targets under qemu: on AArch64 its own kernels, on a big-endian one the portable ones.

usage: cross.py SOURCE_ROOT FILE.c...

The files are those of the native program, without what asks the CPU for its features. A machine is skipped where its cross compiler
or qemu-user is missing (tests/install-deps); with none at all the exit status is 77, Meson's word for skipped.
"""

import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def row(path, macro):
    """Return the arguments of a target's row, quotes removed."""
    found = re.search(rf"^{macro}\((.*)\)$", path.read_text(), flags=re.M)
    return [a.strip().strip('"') for a in found[1].split(",")] if found else []


def machines(root):
    """Return {triplet: targets that run there}, portable C99 with each; the build machine is none of them."""
    found = {}
    for path in sorted((root / "targets").glob("*.def")):
        triplet = (row(path, "MACHINE") or [""])[0]
        if triplet.endswith("-linux-gnu") and not triplet.startswith("x86_64"):
            found.setdefault(triplet, [root / "targets/c99.def"])
            if row(path, "LAYER")[0] != "simd/scalar.h":
                found[triplet].append(path)
    return found


def run(command):
    """Run a command that has to succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def build(root, triplet, targets, sources, folder):
    """Return the program for one machine."""
    common = [f"{triplet}-gcc", "-std=gnu11", "-O2", "-ffp-contract=off", f"-I{folder}", f"-I{root}/runtime-lite", f"-I{root}",
              f"-I{root}/tests/kernels"]
    words = [row(t, "TARGET")[0] for t in targets]
    (folder / "kernel_sets.h").write_text(f"#define KERNEL_SETS {' '.join(f'X({w})' for w in words)}\n")
    commands, objects = [], []
    for target, word in zip(targets, words):
        objects.append(folder / f"set_{word}.o")
        commands.append([*common, "-c", root / "tests/kernels/set.c", "-o", objects[-1], f"-DSET=kernel_set_{word}",
                         f'-DTARGET_DEF="targets/{target.name}"', f'-DLAYER_H="{row(target, "LAYER")[0]}"'])
    for source in sources:
        objects.append(folder / f"{source.stem}.o")
        commands.append([*common, "-c", source, "-o", objects[-1]])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run, commands))
    run([*common, "-static", *objects, "-lm", "-o", folder / "kernels"])
    return folder / "kernels"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sources = [pathlib.Path(s) for s in sys.argv[2:]]
    status = SKIPPED
    for triplet, targets in machines(root).items():
        qemu = "qemu-" + triplet.partition("-")[0]
        missing = [tool for tool in (f"{triplet}-gcc", qemu) if not shutil.which(tool)]
        if missing:
            print(f"{triplet}: skipped, not installed: {' '.join(missing)}")
            continue
        status = 0 if status == SKIPPED else status
        with tempfile.TemporaryDirectory() as folder:
            program = build(root, triplet, targets, sources, pathlib.Path(folder))
            print(f"{triplet}:", flush=True)
            status |= subprocess.run([qemu, program], check=False).returncode != 0
    return status


if __name__ == "__main__":
    sys.exit(main())
