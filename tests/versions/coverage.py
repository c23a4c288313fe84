#!/usr/bin/env python3
"""Print how many of ONNX's (operator, version) pairs have a case, and how many castnet passes.

  coverage.py --versions DIR    (written by make_version_cases.py)

What fails is what the committed lists of expected failures name: the runs of the suites hold them to be exact. A pair counts as
passed when a case of it passes; those of which no case passes yet are listed.
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

LISTS = (HERE.parent / "conformance" / "expected_failures.txt", HERE / "expected_failures.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", required=True, type=Path)
    rows = json.loads((parser.parse_args().versions / "pairs.json").read_text())
    listed = {name for path in LISTS for name in harness.read_list(path)}
    bare = [row for row in rows if not row["cases"]]
    failing = [row for row in rows if row["cases"] and listed.issuperset(row["cases"])]
    whole = sum(1 for row in rows if row["cases"] and listed.isdisjoint(row["cases"]))
    for title, some in (("without a case", bare), ("no case passes yet", failing)):
        for row in some:
            print(f"  {title}: {row['domain'] or 'ai.onnx'} {row['op']}-{row['version']}")
    print(f"{len(rows) - len(bare)} of {len(rows)} (operator, version) pairs have a case; {len(rows) - len(bare) - len(failing)} pass, "
          f"{whole} of them in every case")
    return harness.totals(len(rows) - len(bare) - len(failing), len(bare), len(failing))


if __name__ == "__main__":
    sys.exit(main())
