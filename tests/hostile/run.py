#!/usr/bin/env python3
"""Give castnet the hostile corpus (make_corpus.py) and judge what it makes of each file.

  run.py --castnet build/compiler/castnet --corpus DIR [--filter 'names/*'] [--jobs 2] [--sanitize]

Of every file: no signal, no internal error, under 10 s, at most 64 MiB + 4 times its files of memory, a diagnostic and
nothing written when it is refused, C that compiles without warnings when it is taken, and the expected verdict. Where
outputs are recorded and the file is taken, `castnet check` has to agree. Wrong verdicts that known_faults.txt lists are
skipped; one that is mended has to leave the list.
"""
import argparse
import fnmatch
import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402
from harness import EXIT_OK, EXIT_REFUSED, UNSUPPORTED  # noqa: E402

KNOWN = HERE / "known_faults.txt"  # verdicts known to be wrong; may only shrink
TIME_LIMIT = 10
MEMORY_BASE, MEMORY_FACTOR = 64 << 20, 4
ADDRESS_SPACE = 2 << 30  # a net under runaway allocation, far above what is allowed
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]


class Judge:
    def __init__(self, options):
        self.options = options
        self.castnet = harness.castnet_path(options.castnet)
        self.env = harness.sanitizer_environment() if options.sanitize else None

    def judge(self, case):
        """(kind of end, [what is wrong])"""
        folder = self.options.corpus.resolve() / case["name"]
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "out"
            command = [self.castnet, "compile", folder / case["file"], "-o", out, "--name", "model", "--target", "c99"]
            outcome = harness.run(command, self.time_limit(), cwd=scratch, env=self.env,
                                  address_space=None if self.options.sanitize else ADDRESS_SPACE)
            written = sorted(p.name for p in out.rglob("*") if p.is_file()) if out.exists() else []
            wrong = [text for text in (self.ended_badly(outcome), self.memory(folder, outcome)) if text]
            if not wrong:
                wrong = self.verdict(case, outcome, written)
            if not wrong and outcome.status == EXIT_OK:
                wrong = self.builds(out) + (self.agrees(case, folder) if case["check"] else [])
        return self.kind(outcome), wrong

    def time_limit(self):
        return TIME_LIMIT * (6 if self.options.sanitize else 1)

    def ended_badly(self, outcome):
        cls, reason = harness.classify_outcome(outcome, {"verdict": "pass"})
        if cls in (harness.TIMEOUT, harness.CRASH, harness.SANITIZER):
            return f"{cls}: {reason}"
        if outcome.status not in (EXIT_OK, EXIT_REFUSED):
            return f"exit {outcome.status}: {outcome.err.strip()[:300]}"
        return None

    def memory(self, folder, outcome):
        allowed = MEMORY_BASE + MEMORY_FACTOR * sum(p.stat().st_size for p in folder.rglob("*")
                                                    if p.is_file() and not p.is_symlink())
        if self.options.sanitize or outcome.peak <= allowed:
            return None
        return f"memory: {outcome.peak >> 20} MiB, allowed {allowed >> 20}"

    def verdict(self, case, outcome, written):
        codes = set(harness.DIAGNOSTIC.findall(outcome.err))
        if outcome.status == EXIT_OK:
            wrong = ["taken, but has to be refused"] if case["expect"] == "refuse" else []
            return wrong + ([] if "model.h" in written else ["exit 0, but no model.h"])
        wrong = [] if codes else [f"refused without a diagnostic: {outcome.err[:200]!r}"]
        if written:
            wrong.append(f"refused, but wrote {' '.join(written[:5])}")
        if case["expect"] == "accept" and not codes <= UNSUPPORTED:
            wrong.append(f"refused, but is valid: {outcome.err.strip()[:300]}")
        return wrong

    def builds(self, out):
        sources = [p for p in sorted(out.glob("*.c"))]
        done = harness.run([self.options.cc, *WARNINGS, *sources], 120, cwd=out)
        return [] if done.status == 0 else [f"the generated C does not compile cleanly: {done.err[:500]}"]

    def agrees(self, case, folder):
        command = [self.castnet, "check", folder / case["file"], "--rtol", "1e-5", "--atol", "1e-6", "--cc", self.options.cc]
        done = harness.run(command, 60, env=self.env)
        cls, reason = harness.classify_outcome(done, {"verdict": "pass"})
        if cls == harness.PASS and done.status == EXIT_OK:
            return []
        return [f"check: exit {done.status}: {(reason if cls in (harness.CRASH, harness.SANITIZER) else done.err.strip())[:300]}"]

    @staticmethod
    def kind(outcome):
        if outcome.status == EXIT_OK:
            return "taken"
        codes = set(harness.DIAGNOSTIC.findall(outcome.err))
        return "unsupported" if codes and codes <= UNSUPPORTED else "refused"


def report(cases, results):
    """How each group ended, and what the slowest and largest were not allowed to be."""
    groups = Counter((case["group"], case["expect"], kind, not wrong) for case, (kind, wrong) in zip(cases, results))
    names = list(dict.fromkeys((case["group"], case["expect"]) for case in cases))
    rows = []
    for group, expect in names:
        ended = [sum(n for (g, e, k, _), n in groups.items() if (g, e, k) == (group, expect, kind))
                 for kind in ("taken", "unsupported", "refused")]
        rows.append([group, expect, *ended, sum(n for (g, e, _, ok), n in groups.items() if (g, e) == (group, expect) and not ok)])
    harness.table(rows, ("group", "expected", "taken", "unsupported", "refused", "wrong"))


def first_words(text):
    """The reason without the folders of this run."""
    return re.sub(r"/tmp/\S+", "", text.splitlines()[0])[:100].strip()


def listable(text):
    """A verdict that is wrong can be listed; a signal, a hang or castnet's own bug cannot."""
    return not re.search(r"signal|exit 5|seconds|timeout|Sanitizer", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--corpus", required=True, type=Path, help="folder written by make_corpus.py")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cc", default="gcc", help="the C compiler for generated code")
    parser.add_argument("--filter", action="append", help="only names like this (group/name)")
    parser.add_argument("--every", type=int, default=1, help="only every N-th file (without --filter)")
    parser.add_argument("--sanitize", action="store_true", help="castnet is built with sanitizers: no memory limit, more time")
    parser.add_argument("--update", action="store_true", help="rewrite known_faults.txt from this run")
    options = parser.parse_args()
    cases = json.loads((options.corpus / "index.json").read_text())
    if options.filter:
        cases = [c for c in cases if any(fnmatch.fnmatch(c["name"], p) for p in options.filter)]
    else:
        cases = cases[::options.every]
    judge = Judge(options)
    begin = time.monotonic()
    results = harness.parallel(judge.judge, cases, options.jobs, "hostile files")
    report(cases, results)
    print(f"{len(cases)} files in {time.monotonic() - begin:.0f} s; `unsupported` files were refused for want of an operator,"
          " so their real fault, if any, was not judged")
    faults = {case["name"]: "; ".join(wrong) for case, (_, wrong) in zip(cases, results) if wrong}
    if options.update:
        head = "# Hostile files whose verdict is known to be wrong. May only shrink.\n"
        KNOWN.write_text(head + "".join(f"{name}\t{first_words(text)}\n" for name, text in sorted(faults.items()) if listable(text)))
    known = harness.read_list(KNOWN)
    mended = [] if options.sanitize else [case["name"] for case in cases if case["name"] in known and case["name"] not in faults]
    for name in mended:
        print(f"MENDED {name}: take it out of {KNOWN.name} (--update)")
    skipped = sum(1 for name, text in faults.items() if name in known and listable(text))
    failed = [(case, wrong) for case, (_, wrong) in zip(cases, results)
              if wrong and not (case["name"] in known and listable("; ".join(wrong)))]
    for case, wrong in failed[:60]:
        print(f"FAIL {case['name']} (expected {case['expect']}; {case['why']}): {'; '.join(wrong)}")
    if len(failed) > 60:
        print(f"… and {len(failed) - 60} more")
    if failed:
        print(f"again, one file: {harness.rerun_line('--filter', failed[0][0]['name'])}")
    bad = len(failed) + len(mended)
    return harness.totals(len(cases) - bad - skipped, bad, skipped)


if __name__ == "__main__":
    sys.exit(main())
