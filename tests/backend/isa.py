"""Code for an instruction set that the machine lacks ends in CASTNET_ERR_ISA, not in an illegal instruction.

usage: isa.py MAKE_MODEL

Builds a model for each x86-64 target with every compiler and level, its caller for any x86-64, and runs both on older CPUs
that qemu-x86_64 plays; target x86-64 picks what each of them has. Skipped (77) where that or the machine's own kind is missing.
"""
import itertools
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Which level of target x86-64 a call picks, for what the machine has and for what castnet_env.isa says.
PICK = """#include "m.h"
#include <stdio.h>
#define LEVEL(name, value)                                                                                           \\
  int m_##name##_run(const m_inputs *in, m_outputs *out, void *ws, size_t n, const castnet_env *env);                \\
  int m_##name##_run(const m_inputs *in, m_outputs *out, void *ws, size_t n, const castnet_env *env) {               \\
    return (void)in, (void)out, (void)ws, (void)n, (void)env, value;                                                 \\
  }
LEVEL(c99, 101)
LEVEL(x86_64_v3, 103)
LEVEL(x86_64_v4, 104)
LEVEL(x86_64_v4_vnni, 105)
int main(void) {
  m_inputs in = {0};
  m_outputs out = {0};
  castnet_env env = {sizeof env};
  printf("%d", m_run(&in, &out, NULL, 0, NULL));
  for (; env.isa < 10; env.isa++) printf(" %d", m_run(&in, &out, NULL, 0, &env));
  return 0;
}
"""
PICKED = {1: 101, 2: 101, 3: 103}  # by the machine's level
BY_ENV = [101, 101, 103, 104, 105, 105, 105, 105, 105]  # by env.isa, from 1 on
CALLER = """#include "m.h"
#include <stdio.h>
int main(void) {
  m_inputs in = {0};
  m_outputs out = {0};
  printf("%d %d\\n", (int)m_detect(), m_run(&in, &out, NULL, 0, NULL));
  return 0;
}
"""
HERE = Path(__file__).resolve().parent
ERR_ISA = 6
CPUS = {"qemu64": 1, "Nehalem": 2}  # and the level of each; this qemu plays AVX2 from Haswell on, and no AVX-512
TARGETS = {"x86-64-v3": ["-march=x86-64-v3"], "x86-64-v4": ["-march=x86-64-v4"],
           "x86-64-v4-amx": ["-march=x86-64-v4", "-mavx512vnni", "-mamx-tile", "-mamx-bf16"]}  # and flags


def run_on(cpu, folder):
    return subprocess.run(["qemu-x86_64", "-cpu", cpu, "./main"], cwd=folder, capture_output=True, text=True, check=False)


def check_picking(make, cc, level, folder):
    """Target x86-64: the right level is picked, and older machines compute what they should. Returns the number of failures."""
    failed = 0
    subprocess.run([make, "static", str(folder), "target=x86-64", "weights=c"], check=True)
    (folder / "main.c").write_text(PICK)
    subprocess.run([cc, level, "main.c", "m.c", "-o", "main"], cwd=folder, check=True)
    for cpu, has in {**CPUS, "Haswell": 3}.items():
        wanted, said = [PICKED[has], PICKED[has], *BY_ENV], run_on(cpu, folder).stdout.split()
        if said != [str(n) for n in wanted]:
            failed += 1
            print(f"x86-64 {cc} {level} on {cpu}: picked {said}, not {wanted}")
    (folder / "main.c").unlink()
    subprocess.run([cc, level, "-DVALUE=10", "-I.", HERE / "use_static.c", *sorted(p.name for p in folder.glob("*.c")), "-o", "main"], cwd=folder, check=True)
    for cpu in (*CPUS, "Haswell"):
        done = run_on(cpu, folder)
        if done.returncode:
            failed += 1
            print(f"x86-64 {cc} {level} on {cpu}: status {done.returncode} {done.stderr[:100]!r}")
    return failed


def main():
    if platform.machine() != "x86_64" or not shutil.which("qemu-x86_64"):
        print("no x86-64 or no qemu-x86_64: skipped")
        return 77
    failed = 0
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    with tempfile.TemporaryDirectory() as tmp:
        for target, cc, level in itertools.product(TARGETS, compilers, ("-O0", "-O2", "-O3")):
            folder = Path(tmp) / f"{target}{cc}{level}"
            subprocess.run([sys.argv[1], "static", str(folder), f"target={target}", "weights=c"], check=True)
            (folder / "main.c").write_text(CALLER)
            flags = ["-std=c99", level, "-ffp-contract=off", *TARGETS[target], "-c", "m.c", "m_weights.c"]
            subprocess.run([cc, *flags], cwd=folder, check=True)
            subprocess.run([cc, level, "main.c", "m.o", "m_weights.o", "-o", "main"], cwd=folder, check=True)
            cpus = CPUS if target == "x86-64-v3" else {**CPUS, "Haswell": 3}
            for cpu, has in cpus.items():
                done = run_on(cpu, folder)
                if done.returncode or done.stdout.split() != [str(has), str(ERR_ISA)]:
                    failed += 1
                    print(f"{target} {cc} {level} on {cpu}: status {done.returncode}, said {done.stdout.strip()!r} {done.stderr[:100]!r}")
        for cc, level in itertools.product(compilers, ("-O0", "-O2", "-O3")):
            failed += check_picking(sys.argv[1], cc, level, Path(tmp) / f"pick{cc}{level}")
    print(f"{failed} failures")
    return failed != 0


sys.exit(main())
