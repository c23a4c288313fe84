#!/usr/bin/env python3
"""Run the ONNX conformance cases (make_cases.py) through generated C and a real C compiler.

  run.py --castnet build/compiler/castnet --cases DIR [--filter 'node/test_conv*'] [--jobs 2]

Each case is judged by `castnet check` under the case's own tolerances. expected_failures.txt lists the cases that
castnet refuses because it does not support something yet; the run fails when a listed case passes, when an unlisted
one is refused, and whenever a result is wrong, the C compiler fails, or anything crashes: those cannot be listed.
"""
import argparse
import fnmatch
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402
from harness import DIFFERS, FAILED, MISJUDGED, PASS, REFUSED  # noqa: E402

EXPECTED = HERE / "expected_failures.txt"
RANDOM = HERE / "random_cases.txt"
DOUBTFUL = HERE / "doubtful_recordings.txt"
LISTABLE = (REFUSED, MISJUDGED)
CHUNK = 24  # cases a batch call: enough to share the start of processes, few enough to share two cores evenly
HEAD = "# Cases that castnet refuses so far, each with the codes and operators it names. May only shrink.\n"


DECODER = Path(__file__).resolve().parent / "decode_image.c"
DECODER_FLAGS = "-Wl,--no-as-needed -ljpeg -lpng -ltiff -lwebp -lopenjp2"


def needs_decoder(case):
    """Its code calls a function of the user's: decode_image.c, over libraries of this machine."""
    return "ImageDecoder" in case["ops"]


class Suite:
    """The options of a run and what follows from them."""

    def __init__(self, options, cases):
        self.options = options
        self.castnet = harness.castnet_path(options.castnet)
        self.random = {name: outputs.split() for name, outputs in harness.read_list(RANDOM).items()}
        self.random.update({case["id"]: case["random"] for case in cases if case.get("random")})
        self.common = [*harness.machine_options(options), "--json", "--timeout", max(1, options.timeout // 3)]  # of one run
        if options.sanitize:
            if not harness.supports(self.castnet, "check", "--sanitize"):
                print("  note: this castnet builds generated code without sanitizers (no check --sanitize)")
            else:
                self.common.append("--sanitize")
        self.env = harness.sanitizer_environment() if options.sanitize else None
        self.batches = not options.no_batch and harness.supports(self.castnet, "check", "--batch")

    def model(self, case):
        return str(self.options.cases.resolve() / case["id"] / "model.onnx")

    def check_one(self, case):
        command = [self.castnet, "check", self.model(case), "--rtol", case["rtol"], "--atol", case["atol"], *self.common]
        for output in self.random.get(case["id"], []):
            command += ["--random", output]
        for output, near in case.get("outputs", {}).items():
            command += ["--rtol", f"{output}={near['rtol']}", "--atol", f"{output}={near['atol']}"]
        if needs_decoder(case):
            command += ["--source", DECODER, "--cflags", f"{self.options.cflags or ''} {DECODER_FLAGS}".strip()]
        outcome = harness.run(command, self.options.timeout, env=self.env)
        records = harness.json_lines(outcome.out)
        return harness.classify_outcome(outcome, records[-1] if records else None)

    def check_chunk(self, chunk):
        """[(class, reason)] of some cases; what a batch call leaves without an answer is asked again alone."""
        together = [case for case in chunk if not needs_decoder(case)]
        records = self.batch(together) if self.batches and together else {}
        results = []
        for case in chunk:
            record = records.get(self.model(case))
            results.append(harness.classify_record(record) if record else self.check_one(case))
        return results

    def batch(self, chunk):
        """{model path: JSON object}, as far as one batch call came."""
        rows = [{"model": self.model(c), "rtol": c["rtol"], "atol": c["atol"], "random": self.random.get(c["id"], []), **{k: c[k] for k in ("outputs",) if k in c}}
                for c in chunk]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as listing, tempfile.TemporaryFile() as errors:
            json.dump(rows, listing)
            listing.flush()
            command = [str(self.castnet), "check", "--batch", listing.name, "--jobs", "1", *map(str, self.common)]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                  env=self.env, start_new_session=True) as child:
                text = read_until_silent(child, self.options.timeout + 2 * len(chunk))
            if harness.SANITIZER_REPORT.search(harness.read_all(errors)):
                return {}
        return {record.get("model"): record for record in harness.json_lines(text)}


def read_until_silent(child, patience):
    """What a child prints until it ends, or until nothing new came for `patience` seconds: then it is killed."""
    data, last = b"", time.monotonic()
    while True:
        ready, _, _ = select.select([child.stdout], [], [], 1)
        if ready:
            piece = os.read(child.stdout.fileno(), 1 << 16)
            if not piece:
                return data.decode("utf-8", "replace")
            data, last = data + piece, time.monotonic()
        elif time.monotonic() - last > patience:
            os.killpg(child.pid, 9)
            return data.decode("utf-8", "replace")


def select_cases(options):
    cases = json.loads((options.cases / "index.json").read_text())
    doubtful = harness.read_list(DOUBTFUL)
    for case in cases:
        case["id"] = f"{case['kind']}/{case['name']}"
        if case["id"] in doubtful:
            case["atol"] = float(doubtful[case["id"]].split("\t")[0])
    if options.runner:  # of another machine, whose libraries are not at hand
        cases = [case for case in cases if not needs_decoder(case)]
    if options.filter:
        patterns = [p for text in options.filter for p in text.split(",")]
        return [c for c in cases if any(fnmatch.fnmatch(c[key], p) for key in ("id", "name") for p in patterns)]
    return cases[options.offset::options.every]


def print_by_operator(cases, results):
    counts = defaultdict(Counter)
    for case in cases:
        counts[case["op"]][results[case["id"]][0] == PASS] += 1
    rows = [(op, c[True], c[False]) for op, c in sorted(counts.items(), key=lambda item: (-item[1][False], item[0]))]
    print("by operator (those with failures first):")
    harness.table(rows, ("operator", "passed", "failed"))


def codes_of(reason):
    """A reason without the text that differs from case to case."""
    return reason.partition(": ")[0] if reason.startswith("E") else reason


def print_by_reason(results):
    counts = Counter((cls, codes_of(reason)) for cls, reason in results.values() if cls != PASS)
    print("by reason:")
    rows = sorted(counts.items(), key=lambda item: (item[0][0] in LISTABLE, -item[1], item[0]))
    harness.table([(n, cls, reason[:90]) for (cls, reason), n in rows], ("cases", "class", "codes and operators"))


def judge(results, expected, partial=False):
    """Names that break the rules: [(name, why)], those that cannot be listed first."""
    wrong = []
    for name, (cls, reason) in results.items():
        if partial and (cls in (PASS, REFUSED) or cls == DIFFERS and name in expected):
            continue
        if cls == PASS and name in expected:
            wrong.append((name, "passes, but is listed as an expected failure"))
        elif cls in LISTABLE and name not in expected:
            wrong.append((name, f"{cls}, and not listed: {reason}"))
        elif cls not in (PASS, *LISTABLE):
            wrong.append((name, f"{cls}: {reason}"))
    return sorted(wrong, key=lambda item: results[item[0]][0] in (PASS, *LISTABLE))


def judge_safety(results):
    """The like where only crashes, reports of sanitizers and broken code are wrong: any verdict and any error code will do."""
    may_be = (PASS, DIFFERS, *LISTABLE)
    return sorted((name, f"{cls}: {reason}") for name, (cls, reason) in results.items()
                  if cls not in may_be and not (cls == FAILED and "returned CASTNET_ERR" in reason))


def update(path, results, expected, allow_growth):
    """Rewrite the list from what was run now; cases that were not run keep their line."""
    kept = {name: reason for name, reason in expected.items() if name not in results}
    kept.update({name: f"{cls} {codes_of(reason)}" for name, (cls, reason) in results.items() if cls in LISTABLE})
    grown = sorted(set(kept) - set(expected))
    if grown and path.exists() and not allow_growth:
        print(f"not rewritten: {len(grown)} cases would be new in the list (--allow-growth), first: {grown[0]}")
        return
    path.write_text(HEAD + "".join(f"{name}\t{kept[name]}\n" for name in sorted(kept)))
    print(f"{path.name} rewritten: {len(kept)} cases")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--cases", required=True, type=Path, help="folder written by make_cases.py")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_machine_options(parser)
    parser.add_argument("--filter", action="append", help="only names like this (kind/name or name; commas separate)")
    parser.add_argument("--every", type=int, default=1, help="only every N-th case: a fixed shard (without --filter)")
    parser.add_argument("--offset", type=int, default=0, help="first case of the shard")
    parser.add_argument("--sanitize", action="store_true", help="castnet, and generated code, built with ASan and UBSan")
    parser.add_argument("--timeout", type=int, default=60, help="seconds a case")
    parser.add_argument("--results", type=Path, help="write {case: {class, reason}} here as JSON")
    parser.add_argument("--expected", type=Path, default=EXPECTED, help="the list of expected failures")
    parser.add_argument("--update", action="store_true", help="rewrite that list from this run")
    parser.add_argument("--allow-growth", action="store_true")
    parser.add_argument("--partial", action="store_true", help="the target prints fewer steps than others: any refusal is skipped")
    parser.add_argument("--any-verdict", action="store_true", help="only crashes, sanitizers' reports and code that does not compile are failures")
    parser.add_argument("--no-batch", action="store_true", help="one castnet process a case")
    return parser.parse_args()


def main():
    options = parse()
    if harness.is_missing(options):
        return harness.totals(0, 0, 1)
    cases = select_cases(options)
    suite = Suite(options, cases)
    begin = time.monotonic()
    chunks = [cases[i:i + CHUNK] for i in range(0, len(cases), CHUNK)]
    answers = harness.parallel(suite.check_chunk, chunks, options.jobs, f"conformance, {CHUNK} cases each")
    results = {case["id"]: answer for chunk, part in zip(chunks, answers) for case, answer in zip(chunk, part)}
    if options.results:
        rows = {name: {"class": cls, "reason": reason} for name, (cls, reason) in sorted(results.items())}
        options.results.write_text(json.dumps(rows, indent=0) + "\n")

    print_by_operator(cases, results)
    print_by_reason(results)
    print(f"{len(results)} cases in {time.monotonic() - begin:.0f} s:")
    harness.class_table(cls for cls, _ in results.values())
    judged_random = sum(1 for name, (cls, _) in results.items() if cls == PASS and name in suite.random)
    if judged_random:
        print(f"  of those that pass, {judged_random} have random outputs: judged by type and shape only")

    expected = harness.read_list(options.expected)
    if options.update:
        update(options.expected, results, expected, options.allow_growth)
        expected = harness.read_list(options.expected)
    wrong = judge_safety(results) if options.any_verdict else judge(results, expected, options.partial)
    for name, why in wrong[:50]:
        print(f"FAIL {name}: {why}")
    if len(wrong) > 50:
        print(f"… and {len(wrong) - 50} more")
    if wrong:
        print(f"again, one case: {harness.rerun_line('--filter', wrong[0][0])}")
        print(f"refresh the list (refusals only): {harness.rerun_line('--update')}")
    listed = sum(1 for name in results if name in expected) - sum(1 for name, _ in wrong if name in expected)
    if options.partial:
        listed = sum(1 for cls, _ in results.values() if cls != PASS) - len(wrong)
    if listed:
        print(f"{listed} refusals are listed as expected; they count as skipped")
    return harness.totals(len(results) - len(wrong) - listed, len(wrong), listed)


if __name__ == "__main__":
    sys.exit(main())
