"""Runs the kernel tests of targets that this machine does not run by itself, on what plays it.

usage: cross.py SOURCE_ROOT CASES FILE.c...

Other machines under qemu: on AArch64 its own kernels, on a big-endian one the portable ones. AVX-512 on x86-64 without it: AVX2, by
emulated/immintrin.h. CASES of each kernel, fewer than a machine's own, since what plays one takes many times as long. The files are
those of the native program, without what asks the CPU for its features. A machine is skipped where its cross compiler or qemu-user is
missing (tests/install-deps); with none at all the exit status is 77, Meson's word for skipped.
"""

import concurrent.futures
import dataclasses
import pathlib
import platform
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


@dataclasses.dataclass
class Machine:
    """What runs the tests of some targets."""

    name: str
    compiler: list
    targets: list
    runner: list = dataclasses.field(default_factory=list)


def played_by_qemu(root):
    """Return the machines of other architectures, each with its own kernels, or portable C99 where it has none."""
    found = []
    for path in sorted((root / "targets").glob("*.def")):
        triplet = (row(path, "MACHINE") or [""])[0]
        if triplet.endswith("-linux-gnu") and not triplet.startswith("x86_64"):
            own = path if row(path, "LAYER")[0] != "simd/scalar.h" else root / "targets/c99.def"
            found.append(Machine(triplet, [f"{triplet}-gcc", "-O2"], [own], ["qemu-" + triplet.partition("-")[0]]))
    return found


def played_by_avx2(root):
    """Return the machine whose targets of AVX-512 this one lacks, in a list; none where it has them, or no AVX2."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not cpuinfo.exists():
        return []
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo.read_text(), flags=re.M)
    has = set(flags[1].replace("_", "").split()) if flags else set()
    targets = [t for t in sorted((root / "targets").glob("x86-64-v4*.def")) if not has.issuperset(row(t, "CPU")[0].replace("-", "").split())]
    if not targets or not has.issuperset(("avx2", "fma")):
        return []
    # Without much optimisation: gcc takes longer for the code than the tests do.
    compiler = ["gcc", "-O1", f"-isystem{root}/tests/kernels/emulated", '-DOWN_CPU=""']
    return [Machine("AVX-512 by AVX2", compiler, targets)]


def run(command):
    """Run a command that has to succeed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")


def build(root, machine, cases, sources, folder):
    """Return the program for one machine."""
    common = [*machine.compiler, f"-DN_CASES={cases}", "-std=gnu11", "-ffp-contract=off", f"-I{folder}", f"-I{root}/runtime-lite", f"-I{root}",
              f"-I{root}/tests/kernels"]
    words = [row(t, "TARGET")[0] for t in machine.targets]
    (folder / "kernel_sets.h").write_text(f"#define KERNEL_SETS {' '.join(f'X({w})' for w in words)}\n")
    commands, objects = [], []
    for target, word in zip(machine.targets, words):
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
    cases = int(sys.argv[2])
    sources = [pathlib.Path(s) for s in sys.argv[3:]]
    status = SKIPPED
    for machine in played_by_qemu(root) + played_by_avx2(root):
        missing = [tool for tool in (machine.compiler[0], *machine.runner) if not shutil.which(tool)]
        if missing:
            print(f"{machine.name}: skipped, not installed: {' '.join(missing)}")
            continue
        status = 0 if status == SKIPPED else status
        with tempfile.TemporaryDirectory() as folder:
            program = build(root, machine, cases, sources, pathlib.Path(folder))
            print(f"{machine.name}:", flush=True)
            status |= subprocess.run([*machine.runner, program], check=False).returncode != 0
    return status


if __name__ == "__main__":
    sys.exit(main())
