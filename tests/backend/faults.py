"""A compile whose k-th call of the file system fails, or kills it, leaves no set of files that builds mixed or torn.

usage: faults.py MAKE_MODEL FAULTS.so
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MAKE, PRELOAD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
OLD, NEW = ["static", "value=10", "words=40000"], ["static", "value=20", "words=40000"]
failures = []


def make(folder, what, **env):
    command = [str(MAKE), what[0], str(folder), "weights=asm", *what[1:]]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **env})


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def look(folder, where, old, new):
    """What a build would find: one of the two sets, or no header. Temporaries may lie beside it."""
    got = {n: b for n, b in files(folder).items() if not n.startswith(".castnet-")}
    if "m.h" in got and got not in (old, new):
        failures.append(f"{where}: a set that builds is mixed or torn")
    if any(b not in (old.get(n), new.get(n)) for n, b in got.items()):
        failures.append(f"{where}: a torn file")


def attempt(work, k, mode, old, new):
    """False when the run made fewer than k calls."""
    folder = work / "out"
    shutil.rmtree(folder, ignore_errors=True)
    make(folder, OLD)
    r = make(folder, NEW, LD_PRELOAD=str(PRELOAD), FAULT_AT=str(k), **({mode: "1"} if mode else {}))
    where = f"{mode or 'failure'} at call {k}"
    look(folder, where, old, new)
    if r.returncode not in (0, 4, -9):
        failures.append(f"{where}: exit {r.returncode}\n{r.stderr}")
    if r.returncode == 4 and "E0003" not in r.stderr:
        failures.append(f"{where}: no E0003\n{r.stderr}")
    if r.returncode == 0 and files(folder) != new:
        failures.append(f"{where}: exit 0, but the files are not the new ones")
    complete = r.returncode == 0
    make(folder, NEW)
    if files(folder) != new:
        failures.append(f"{where}: the next run leaves {sorted(files(folder))}")
    return not complete


def main():
    with tempfile.TemporaryDirectory() as tmp:
        work = Path(tmp)
        make(work / "old", OLD)
        make(work / "new", NEW)
        old, new = files(work / "old"), files(work / "new")
        runs = 0
        for mode in ("", "FAULT_KILL", "FAULT_HALF"):
            k, quiet = 1, 0
            while quiet < 12:  # cleaning up may fail without harm, so a few good runs are not the end yet
                quiet = 0 if attempt(work, k, mode, old, new) else quiet + 1
                k += 1
                runs += 1
    for f in failures:
        print(f)
    print(f"{runs} runs, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
