#!/usr/bin/env python3
"""Print how many pairs of (operator, version, type variable, type) of ONNX's schemas have a case, and how many castnet refuses.

  coverage.py --types DIR    (written by make_type_cases.py)

What is refused is what expected_failures.txt names. Fails when a pair of the schemas has no case and stands not in
without_case.txt, where the reason is, or when that list names a pair that has one.
"""
import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import harness  # noqa: E402
import pairs  # noqa: E402


def wanted(newest_only):
    return [pair for _, some in pairs.wanted(newest_only) for pair in some]


def table(shown, failing):
    """By type: pairs, taken, refused, without a case."""
    counts = defaultdict(lambda: [0, 0, 0, 0])
    for pair, case in shown.items():
        row = counts[pair.type if pair.type.startswith("tensor") else pair.type.partition("(")[0]]
        row[0] += 1
        row[3 if case is None else 2 if case in failing else 1] += 1
    harness.table([(kind, *row) for kind, row in sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))],
                  ("type", "pairs", "taken", "refused", "without a case"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", required=True, type=Path)
    parser.add_argument("--newest", action="store_true", help="the cases are of the newest versions only")
    options = parser.parse_args()
    rows = json.loads((options.types / "pairs.json").read_text())
    made = {pairs.Pair(*row[:5]): row[5] for row in rows}
    failing, excused = harness.read_list(HERE / "expected_failures.txt"), harness.read_list(HERE / "without_case.txt")
    shown = {pair: made.get(pair) for pair in wanted(options.newest)}
    bare = [pair for pair, case in shown.items() if case is None and str(pair) not in excused]
    stale = [pair for pair, case in shown.items() if case is not None and str(pair) in excused]
    table(shown, failing)
    for title, some in (("no case", bare), ("has a case, and is listed in without_case.txt", stale)):
        for pair in some:
            print(f"FAIL {pair}: {title}")
    refused = sum(1 for case in shown.values() if case in failing)
    none = sum(1 for case in shown.values() if case is None)
    print(f"{len(shown) - none} of {len(shown)} pairs have a case, {refused} are refused")
    return harness.totals(len(shown) - none - refused - len(stale), len(bare) + len(stale), refused + none - len(bare))


if __name__ == "__main__":
    sys.exit(main())
