#!/usr/bin/env python3
"""Make a failing graph small, and keep it as a test.

  reduce.py --castnet BIN CASE_DIR -o tests/random/kept/NAME [--check=--no-fuse]

What fails stays: nodes are replaced by inputs that hold what ONNX Runtime computes there, outputs are dropped, as long as
castnet still does wrong in the same way. Works for any case of the suite's layout whose values are tensors.
"""
import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper, utils

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "versions"), str(HERE.parent / "lib")]
import harness  # noqa: E402
import oracles  # noqa: E402


# What ONNX Runtime does not hand out: the nodes about such values stay together.
NO_ARRAY = {onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT8E4M3FN, onnx.TensorProto.FLOAT8E5M2}


class Reducer:
    def __init__(self, options):
        self.options = options
        self.model = onnx.load(options.case / "model.onnx")
        data = options.case / "test_data_set_0"
        self.values = {info.name: numpy_helper.to_array(onnx.load_tensor(data / f"input_{i}.pb")) for i, info in enumerate(self.model.graph.input)}
        self.values |= self.everything()

    def everything(self):
        """What ONNX Runtime computes, of every tensor of the graph."""
        whole = onnx.ModelProto()
        whole.CopyFrom(self.model)
        inferred = onnx.shape_inference.infer_shapes(self.model)
        known = {v.name: v for v in [*inferred.graph.value_info, *inferred.graph.output]}
        names = [name for node in whole.graph.node for name in node.output
                 if name in known and known[name].type.tensor_type.elem_type not in NO_ARRAY]
        del whole.graph.output[:]
        whole.graph.output.extend(known[name] for name in names)
        results = oracles.runtime(whole, [self.values[info.name] for info in self.model.graph.input])
        return dict(zip(names, results))

    def cut(self, nodes, outputs):
        """A model of these nodes and outputs, without what it does not need; operands that no node makes become inputs."""
        needed, kept = set(outputs), []
        for node in reversed(nodes):
            if needed & set(node.output):
                kept.insert(0, node)
                needed |= set(filter(None, node.input))
        made = {name for node in kept for name in node.output}
        constants = [t for t in self.model.graph.initializer if t.name in needed]
        known = made | {t.name for t in constants}
        declared = {info.name: info for info in self.model.graph.input}
        inputs = [declared.get(name) or self.info(name) for name in sorted(needed - known)]
        graph = helper.make_graph(kept, "reduced", inputs, [self.info(name, rank_only=True) for name in outputs], constants)
        called = {node.op_type for node in kept}
        functions = [f for f in self.model.functions if f.name in called]
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version, functions=functions,
                                 producer_name="castnet-tests")

    def info(self, name, rank_only=False):
        value = self.values[name]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim if rank_only else value.shape)

    def write(self, model, folder):
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
            for i, info in enumerate(infos):
                array = np.asarray(self.values[info.name])
                (data / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(array, info.name).SerializeToString(deterministic=True))

    def verdict(self, nodes, outputs):
        """How castnet does wrong with these nodes and outputs, or None."""
        try:
            model = self.cut(nodes, outputs)
        except KeyError:  # a value that is not known would be an input
            return None
        with tempfile.TemporaryDirectory() as folder:
            self.write(model, Path(folder))
            command = [self.options.castnet, "check", f"{folder}/model.onnx", "--json", "--rtol", self.options.rtol, "--atol", self.options.atol, *self.options.check]
            outcome = harness.run(command, 60)
        records = harness.json_lines(outcome.out)
        cls, reason = harness.classify_outcome(outcome, records[-1] if records else None)
        return None if cls == harness.PASS else (cls, reason.split(":")[0])

    def reduce(self):
        nodes, outputs = list(self.model.graph.node), [o.name for o in self.model.graph.output]
        fault = self.verdict(nodes, outputs)
        if not fault:
            raise SystemExit("castnet does nothing wrong here")
        for name in list(outputs):
            fewer = [o for o in outputs if o != name]
            if fewer and self.verdict(nodes, fewer) == fault:
                outputs = fewer
        changed = True
        while changed:
            changed = False
            for node in list(nodes):
                fewer = [n for n in nodes if n is not node]
                ends = [o for o in outputs if o not in node.output] or None
                for last in (outputs, ends, [name for name in node.input if name in self.values and name in {o for n in fewer for o in n.output}]):
                    made = {o for n in fewer for o in n.output}
                    if last and set(last) <= made and self.verdict(fewer, last) == fault:
                        nodes, outputs, changed = fewer, last, True
                        break
        print(f"{fault[0]} {fault[1]}: {len(self.model.graph.node)} nodes become {len(self.cut(nodes, outputs).graph.node)}")
        return self.cut(nodes, outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("--castnet", required=True, type=Path)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--rtol", default="1e-3")
    parser.add_argument("--atol", default="1e-4")
    parser.add_argument("--check", action="append", default=[], metavar="OPTION")
    options = parser.parse_args()
    reducer = Reducer(options)
    small = reducer.reduce()
    shutil.rmtree(options.output, ignore_errors=True)
    reducer.write(small, options.output)
    (options.output / "tolerance.json").write_text(json.dumps({"rtol": float(options.rtol), "atol": float(options.atol)}) + "\n")
    print(onnx.printer.to_text(small.graph))
    return 0


if __name__ == "__main__":
    sys.exit(main())
