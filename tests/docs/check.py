#!/usr/bin/env python3
"""Check README.md and docs/*.md against the tree and the program.

  check.py --castnet build/compiler/castnet [--update]

- Every `path/like/this` in backquotes whose first part is a folder of the tree, and every relative link, must exist
  (a path may hold * and a {a,b} choice; capital placeholders like DIR/N.c are not paths of the tree).
- A fenced block opened with ```sh run is run, line by line as one script, in a scratch copy's folder with castnet on
  the PATH; it has to succeed.
- Between <!-- generated: COMMAND --> and <!-- end --> stands what COMMAND prints; --update writes it.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
import harness  # noqa: E402

MADE = ("build", "build-test")  # what is in these depends on who built
CODE_PATH = re.compile(r"`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.*{},-]*)+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")
RUN_BLOCK = re.compile(r"^```sh run\n(.*?)^```$", re.M | re.S)
GENERATED = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->)", re.S)


def documents():
    return [p for p in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if p.exists()]


def alternatives(text):
    """a/{b,c}.h as a/b.h and a/c.h."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [t for choice in match[1].split(",") for t in alternatives(text[:match.start()] + choice + text[match.end():])]


def exists(base, text):
    return all(any(base.glob(t.rstrip("/"))) if "*" in t else (base / t).exists() for t in alternatives(text))


def check_paths(page):
    """(checked, [what is wrong])"""
    text, wrong, count = page.read_text(), [], 0
    for path in CODE_PATH.findall(text):
        first = path.split("/")[0]
        if first not in MADE and (ROOT / first).is_dir():
            count += 1
            if not exists(ROOT, path):
                wrong.append(f"no such path: {path}")
    for link in LINK.findall(text):
        if "://" not in link and not link.startswith("mailto:"):
            count += 1
            if not (page.parent / link).exists():
                wrong.append(f"no such page: {link}")
    return count, wrong


def shell(script, castnet, cwd):
    env = {**os.environ, "PATH": f"{castnet.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    return subprocess.run(["sh", "-euc", script], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600)


def check_blocks(page, castnet):
    wrong, blocks = [], RUN_BLOCK.findall(page.read_text())
    for script in blocks:
        with tempfile.TemporaryDirectory() as scratch:
            for entry in ROOT.iterdir():  # the tree read-only in effect: what a block writes lands in the scratch folder
                if not entry.name.startswith((".", "build")):
                    (Path(scratch) / entry.name).symlink_to(entry)
            done = shell(script, castnet, scratch)
        if done.returncode:
            wrong.append(f"this block fails (exit {done.returncode}):\n{script}{done.stdout[-2000:]}")
    return len(blocks), wrong


def check_generated(page, castnet, update):
    wrong, count = [], 0

    def replace(match):
        nonlocal count
        count += 1
        done = shell(match[2], castnet, ROOT)
        if done.returncode:
            wrong.append(f"`{match[2]}` fails: {done.stdout[-500:]}")
            return match[0]
        if done.stdout.strip() != match[3].strip() and not update:
            wrong.append(f"`{match[2]}` prints something else now; refresh with {harness.rerun_line('--update')}")
        return f"{match[1]}{done.stdout.strip()}\n{match[4]}"

    text = page.read_text()
    renewed = GENERATED.sub(replace, text)
    if update and renewed != text:
        page.write_text(renewed)
    return count, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)
    checked, failed = 0, 0
    for page in documents():
        for count, wrong in (check_paths(page), check_blocks(page, castnet),
                             check_generated(page, castnet, options.update)):
            checked += count
            failed += len(wrong)
            for text in wrong:
                print(f"FAIL {page.relative_to(ROOT)}: {text}")
    if failed:
        print(f"again: {harness.rerun_line()}")
    return harness.totals(checked - failed, failed)


if __name__ == "__main__":
    sys.exit(main())
