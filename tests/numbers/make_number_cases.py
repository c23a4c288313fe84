#!/usr/bin/env python3
"""Write cases for the rules of docs/NUMERICS.md: each operator that a rule is about, in each type, on values where the rule shows.

  make_number_cases.py -o DIR

rules_*.py hold the rules, transcribed into Python and NumPy. Each node comes alone; inside, between products by a one that only data tell, which fuse with it;
folded, of constants; with open sizes; operators of two operands also with one of them constant. A model holds the nodes of one rule and operator, in the suite's layout, for
tests/conformance/run.py.
"""
import argparse
import importlib
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import make_cases as suite  # noqa: E402
from case_list import FLOATS, INTEGERS, RULES, is_float  # noqa: E402

BATCH = 60  # nodes in one model


def declared(name, value, open_sizes):
    shape = [f"{name}_{k}" for k in range(value.ndim)] if open_sizes else value.shape
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)


class Graph:
    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.constants, self.judged = [], {}, {}, {}, {}

    def give(self, name, value, open_sizes=False):
        self.inputs[name] = (declared(name, value, open_sizes), value)
        return name

    def one(self, dtype):
        name = f"one_{dtype.name}"
        if name not in self.inputs:
            self.give(name, np.array(dtype != bool, dtype))
        return name

    def times_one(self, name, dtype):
        """The value, behind a node that changes no bit that counts."""
        if dtype not in INTEGERS + FLOATS and dtype != bool:
            return name
        self.nodes.append(helper.make_node("Or" if dtype == bool else "Mul", [name, self.one(dtype)], [f"{name}_same"]))
        return f"{name}_same"

    def result(self, name, value, open_sizes, near):
        self.outputs[name] = (declared(name, value, open_sizes), value)
        self.judged[name] = {"rtol": near, "atol": 0.0}

    def add(self, case, form, name):
        operands = []
        for k, value in enumerate(case.inputs):
            if value is None:
                operands.append("")
                continue
            operand = f"{name}_x{k}"
            if k in case.fixed or form == "folded" or form == f"constant_{k}":
                self.constants[operand] = value
            else:
                self.give(operand, value, form == "open")
                operand = self.times_one(operand, value.dtype) if form == "inside" else operand
            operands.append(operand)
        results = [f"{name}_y{k}" if value is not None else "" for k, value in enumerate(case.outputs)]
        self.nodes.append(helper.make_node(case.op, operands, results, domain=case.domain, **case.attributes))
        for result, value in zip(results, case.outputs):
            if value is not None:
                found = self.times_one(result, value.dtype) if form == "inside" else result
                self.result(found, value, form == "open", case.near)
                if case.zeros and is_float(value.dtype):
                    self.signs(found, value, form, case.near)

    def signs(self, name, value, form, near):
        """Infinite where the value is a zero, of the zero's sign."""
        self.nodes.append(helper.make_node("Reciprocal", [name], [f"{name}_inverse"]))
        wide = value.astype(np.float64 if value.dtype == np.float64 else np.float32)
        self.result(f"{name}_inverse", (1 / wide).astype(value.dtype), form == "open", near)

    def model(self, name, domains):
        graph = helper.make_graph(self.nodes, name, [info for info, _ in self.inputs.values()], [info for info, _ in self.outputs.values()],
                                  [numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        imports = [helper.make_opsetid("", onnx.defs.onnx_opset_version())] + [helper.make_opsetid(d, onnx.defs.get_schema("Imputer", domain=d).since_version) for d in domains if d]
        return helper.make_model(graph, opset_imports=imports, ir_version=onnx.IR_VERSION, producer_name="castnet-tests")


def forms_of(case):
    free = [k for k, value in enumerate(case.inputs) if value is not None and k not in case.fixed]
    return [*case.forms, *(f"constant_{k}" for k in free if len(free) == 2 and "folded" in case.forms)]


def write(out, name, rows):
    graph = Graph()
    for case, form in rows:
        graph.add(case, form, f"{case.label}_{form}")
    model = graph.model(name, {case.domain for case, _ in rows})
    onnx.checker.check_model(model)
    folder = out / "numbers" / name
    folder.mkdir(parents=True)
    suite.write_message(folder / "model.onnx", model)
    suite.write_data_set(folder / "test_data_set_0", model.graph, [v for _, v in graph.inputs.values()], [v for _, v in graph.outputs.values()])
    return {"kind": "numbers", "name": name, "rtol": 0.0, "atol": 0.0, "outputs": graph.judged, "op": rows[0][0].op, "ops": [rows[0][0].op]}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-o", "--output", type=Path, required=True)
    out = options.parse_args().output
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    for rules in sorted(HERE.glob("rules_*.py")):
        importlib.import_module(rules.stem)
    shutil.rmtree(out / "numbers", ignore_errors=True)
    index, n = [], 0
    for (name, op), cases in RULES.items():
        rows = [(case, form) for case in cases for form in forms_of(case)]
        n += len(rows)
        for part in range(0, len(rows), BATCH):
            index.append(write(out, f"{name}_{op.lower()}_{part // BATCH}", rows[part:part + BATCH]))
    (out / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    print(f"{n} nodes in {len(index)} models in {out}")


if __name__ == "__main__":
    main()
