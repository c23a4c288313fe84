#!/usr/bin/env python3
"""`castnet inspect` of many models, as text and as JSON: reports read what compiling left behind, so castnet is to be a sanitized build.

  reports.py --castnet build-asan/compiler/castnet --cases CASES [--models DIR] [--every N] [--target T]
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402

MODELS = ("micro_kws_fp32", "dtln_1", "mnist_cntk", "sinet_seg", "yunet_s_320", "bert_toy")


def fault(castnet, model, target, environment):
    """What is wrong with the reports on a model, or None."""
    for form in ([], ["--json"]):
        outcome = harness.run([castnet, "inspect", str(model), "--no-run", "--target", target, *form], timeout=600, env=environment)
        if outcome.status:
            return f"exit code {outcome.status}: {outcome.err.strip()[-1500:]}"
    steps = json.loads(outcome.out)["steps"]
    unnamed = [s for s in steps if not s["function"] or not s["how"]]
    return f"a step without a name: {unnamed[0]}" if unnamed else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet")
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--models", type=lambda text: Path(text) if text else None)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--target", default="x86-64-v3")
    options = parser.parse_args()
    castnet = harness.castnet_path(options.castnet)
    environment = harness.sanitizer_environment()
    environment["ASAN_OPTIONS"] += ":detect_stack_use_after_return=1"
    models = sorted(options.cases.glob("*/*/model.onnx"))[::options.every]
    named = [options.models / name / "model.onnx" for name in MODELS] if options.models else []
    faults = harness.parallel(lambda m: fault(castnet, m, options.target, environment), models + named, 2, "reports")
    for model, why in zip(models + named, faults):
        if why:
            print(f"FAIL {model}: {why}")
    failed = sum(map(bool, faults))
    return harness.totals(len(faults) - failed, failed, 0 if options.models else len(MODELS))


if __name__ == "__main__":
    sys.exit(main())
