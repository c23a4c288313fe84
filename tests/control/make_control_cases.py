#!/usr/bin/env python3
"""Write cases of control flow in forms that the official suite lacks.

  make_control_cases.py -o DIR

Each graph is ONNX's text form with the inputs of one or more calls (forms_*.py); ONNX Runtime without its optimisations says what comes out, onnx's
reference where that cannot, or the case itself. The layout is the suite's own, so that tests/conformance/run.py runs it; every call is a data set of the
one compiled model.
"""
import argparse
import importlib
import json
import shutil
import sys
from pathlib import Path

import onnx
from onnx import parser

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent / "versions")]
import make_cases as suite  # noqa: E402
import oracles  # noqa: E402
from case_list import GRAPHS  # noqa: E402

for forms in sorted(HERE.glob("forms_*.py")):
    importlib.import_module(forms.stem)


def expected(case, model, feeds):
    """What the call has to give: by the case's own word, else by ONNX Runtime, else by onnx's reference."""
    if case.expect:
        return case.expect(**feeds)
    values = [feeds[i.name] for i in model.graph.input]
    found, why = oracles.attempt(oracles.runtime, model, values)
    if found is None:
        found, again = oracles.attempt(lambda m, v: onnx.reference.ReferenceEvaluator(m).run(None, oracles.feed(m, v)), model, values)
    if found is None:
        raise SystemExit(f"{model.graph.name}: {why}; {again}")
    return found


def operators(graph):
    found = {node.op_type for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            found |= operators(attribute.g)
    return found


def write(folder, case):
    model = parser.parse_model(case.text)
    if case.change:
        case.change(model)
    folder.mkdir(parents=True)
    suite.write_message(folder / "model.onnx", model)
    for k, feeds in enumerate(case.calls):
        inputs = [feeds[i.name] for i in model.graph.input]
        suite.write_data_set(folder / f"test_data_set_{k}", model.graph, inputs, expected(case, model, feeds))
    return sorted(operators(model.graph))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-o", "--out", type=Path, required=True)
    out = options.parse_args().out
    shutil.rmtree(out / "control", ignore_errors=True)
    index = []
    for name, case in GRAPHS.items():
        ops = write(out / "control" / name, case)
        index.append({"kind": "control", "name": name, "rtol": 1e-3, "atol": 1e-5, "op": ops[0], "ops": ops})
    (out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
