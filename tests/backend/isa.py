"""Code for an instruction set that the machine lacks ends in CASTNET_ERR_ISA, not in an illegal instruction.

usage: isa.py MAKE_MODEL

Builds a model for each x86-64 target with every compiler and level, its caller for any x86-64, and runs both on older CPUs
that qemu-x86_64 plays. Skipped (77) where that or the machine's own kind is missing.
"""
import itertools
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CALLER = """#include "m.h"
#include <stdio.h>
int main(void) {
  m_inputs in = {0};
  m_outputs out = {0};
  printf("%d %d\\n", (int)m_detect(), m_run(&in, &out, NULL, 0, NULL));
  return 0;
}
"""
ERR_ISA = 6
CPUS = {"qemu64": 1, "Nehalem": 2}  # and the level of each; this qemu plays AVX2 from Haswell on, and no AVX-512
TARGETS = {"x86-64-v3": 3, "x86-64-v4": 4}


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
            flags = ["-std=c99", level, "-ffp-contract=off", f"-march={target}", "-c", "m.c", "m_weights.c"]
            subprocess.run([cc, *flags], cwd=folder, check=True)
            subprocess.run([cc, level, "main.c", "m.o", "m_weights.o", "-o", "main"], cwd=folder, check=True)
            cpus = CPUS if target == "x86-64-v3" else {**CPUS, "Haswell": 3}
            for cpu, has in cpus.items():
                done = subprocess.run(["qemu-x86_64", "-cpu", cpu, "./main"], cwd=folder, capture_output=True, text=True, check=False)
                if done.returncode or done.stdout.split() != [str(has), str(ERR_ISA)]:
                    failed += 1
                    print(f"{target} {cc} {level} on {cpu}: status {done.returncode}, said {done.stdout.strip()!r} {done.stderr[:100]!r}")
    print(f"{failed} failures")
    return failed != 0


sys.exit(main())
