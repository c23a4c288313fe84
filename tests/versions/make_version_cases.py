#!/usr/bin/env python3
"""Write a case for every (operator, version) pair of ONNX that the official suite does not show.

  make_version_cases.py -o DIR --cases OFFICIAL    (the folder that tests/conformance/make_cases.py wrote)

The layout is the suite's own, so that tests/conformance/run.py runs it. DIR/pairs.json says by which cases every pair is shown.
Cases come from three places: derived from an official case of another version (derive.py), written by hand (by_hand.py,
by_hand_ml.py), or an official model whose opset is another one (control flow, sequences: restamp below).
"""
import argparse
import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import by_hand  # noqa: E402
import by_hand_ml  # noqa: E402,F401
import derive  # noqa: E402
import make_cases as suite  # noqa: E402
import oracles  # noqa: E402
import sources  # noqa: E402

MOST_DERIVED, MOST_RESTAMPED = 3, 2
RTOL, ATOL = 1e-3, 1e-5


def map_proto(values, name=""):
    """A dictionary as a message: values are a sequence of scalars. (numpy_helper.from_dict takes some strings for names of types.)"""
    message = onnx.MapProto(name=name)
    words = all(isinstance(key, str) for key in values)
    message.key_type = onnx.TensorProto.STRING if words else onnx.TensorProto.INT64
    if words:
        message.string_keys.extend(key.encode() for key in values)
    else:
        message.keys.extend(values)
    message.values.elem_type = onnx.SequenceProto.TENSOR
    message.values.tensor_values.extend(numpy_helper.from_array(np.asarray(v)) for v in values.values())
    return message


def value_proto(value, info):
    if isinstance(value, dict):
        return map_proto(value, info.name)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        message = onnx.SequenceProto(name=info.name, elem_type=onnx.SequenceProto.MAP)
        message.map_values.extend(map(map_proto, value))
        return message
    return suite.value_proto(value, info)


def write_data_set(folder, graph, inputs, outputs):
    folder.mkdir()
    for side, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        for i, (value, info) in enumerate(zip(values, infos, strict=True)):
            suite.write_message(folder / f"{side}_{i}.pb", value_proto(value, info))


class Writer:
    def __init__(self, out):
        self.out, self.index, self.pairs = out, [], {}

    def name(self, pair, label):
        domain, op, version = pair
        prefix = "ml_" if domain else ""
        return f"{prefix}{op.lower()}_v{version}_{label}"

    def folder(self, pair, label):
        path = self.out / "versions" / self.name(pair, label)
        path.mkdir(parents=True)
        return path

    def add(self, pair, label, oracle, rtol=RTOL, atol=ATOL, random=()):
        domain, op, _ = pair
        name = self.name(pair, label)
        qualified = f"{domain}::{op}" if domain else op
        self.index.append({"kind": "versions", "name": name, "rtol": rtol, "atol": atol, "op": qualified, "ops": [qualified],
                           "random": list(random), "oracle": oracle})
        self.pairs.setdefault(pair, []).append(f"versions/{name}")

    def write(self, pair, label, model, inputs, outputs, oracle, **judged):
        folder = self.folder(pair, label)
        suite.write_message(folder / "model.onnx", model)
        write_data_set(folder / "test_data_set_0", model.graph, derive.present(inputs), derive.present(outputs))
        self.add(pair, label, oracle, **judged)


def derived(writer, pair, candidates):
    """Cases from official ones: newer versions first, nearest first; then older ones, where nothing newer is shown."""
    version, count = pair[2], 0
    for source in sorted(candidates, key=lambda s: (s.version < version, abs(s.version - version))):
        if count == MOST_DERIVED:
            break
        try:
            model, inputs, outputs, oracle = derive.derive(source, pair)
            onnx.checker.check_model(model)
        except (derive.Skip, onnx.checker.ValidationError):
            continue
        label = source.name.removeprefix("test_")
        writer.write(pair, label, model, inputs, outputs, oracle, rtol=source.rtol, atol=max(source.atol, 1e-6))
        count += 1


def declared_model(pair, case, outputs):
    """The model of a hand-written case; value types are declared where they are no tensors."""
    domain, op, version = pair
    if not case.types:
        return derive.model_of(domain, op, version, case.inputs, outputs, case.attributes)
    model = derive.model_of(domain, op, version, [np.zeros(1)] * len(case.types[0]), [np.zeros(1)] * len(case.types[1]), case.attributes)
    for infos, types in ((model.graph.input, case.types[0]), (model.graph.output, case.types[1])):
        for info, kind in zip(infos, types):
            info.type.CopyFrom(kind)
    return model


def question(pair, case):
    """A hand-written case's model with all the outputs that the version has, their types left to the oracle."""
    domain, op, version = pair
    n = 1 if op == "BatchNormalization" else min(onnx.defs.get_schema(op, version, domain).max_output, 2)
    model = declared_model(pair, case, [np.zeros(0, np.float32)] * n)
    if not case.types:
        labels = onnx.TensorProto.STRING if "classlabels_strings" in case.attributes else onnx.TensorProto.INT64
        for info, kind in zip(model.graph.output, (labels, onnx.TensorProto.FLOAT) if domain and n == 2 else (0, 0)):
            info.type.Clear()
            if kind:
                info.type.tensor_type.elem_type = kind
    return model


def judged_outputs(pair, case, versions):
    """(outputs, oracle) of a hand-written case. ONNX Runtime is asked about the nearest older of the case's versions
    when it lacks this one: they share the function that wrote the case, and what it says."""
    if case.outputs is not None:
        return case.outputs, "the text of the version"
    said = []
    for version in sorted((v for v in versions if v <= pair[2]), reverse=True):
        outputs, why = oracles.attempt(oracles.runtime, question((*pair[:2], version), case), case.inputs)
        if outputs is not None:
            return outputs, "runtime" + (f" at version {version}" if version != pair[2] else "")
        said.append(why)
    raise SystemExit(f"no oracle for {pair} {case.label}: {'; '.join(said)}")


def by_hand_cases(writer, pair):
    for pairs, op, function in by_hand.CASES:
        if pair in pairs and op == pair[1]:
            for case in function(pair[2], op):
                outputs, oracle = judged_outputs(pair, case, [v for _, _, v in pairs])
                model = declared_model(pair, case, outputs)
                random = [o.name for o in model.graph.output] if case.random else ()
                writer.write(pair, case.label, model, case.inputs, outputs, oracle, random=random)


def restamped(writer, pair, official, cases):
    """Official models with another opset, where every node stays valid and ONNX Runtime, if it takes the model, agrees."""
    count = 0
    for source in official:
        if count == MOST_RESTAMPED:
            break
        model = onnx.load(cases / source / "model.onnx")
        for entry in model.opset_import:
            if sources.domain_name(entry.domain) == pair[0]:
                entry.version = pair[2]
        model.ir_version = max(model.ir_version, 13 if pair[2] > 22 else 3)
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception:  # the checker and shape inference raise several kinds
            continue
        if pair not in sources.pairs_of_model(model):
            continue
        label = source.split("/")[1].removeprefix("test_")
        folder = writer.folder(pair, label)
        shutil.copytree(cases / source, folder, dirs_exist_ok=True)
        suite.write_message(folder / "model.onnx", model)
        writer.add(pair, label, f"official case {source}")
        count += 1


def shown_by_operator(shown):
    found = {}
    for (domain, op, version), names in sorted(shown.items()):
        for name in names:
            found.setdefault((domain, op), []).append((version, name))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--cases", required=True, type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    shutil.rmtree(options.output / "versions", ignore_errors=True)
    options.output.mkdir(parents=True, exist_ok=True)

    shown, by_op = sources.read_cases(options.cases)
    models = shown_by_operator(shown)
    writer, everything = Writer(options.output), sources.all_pairs()
    for pair in everything:
        if pair in shown:
            continue
        by_hand_cases(writer, pair)
        derived(writer, pair, by_op.get(pair[:2], []))
        if pair not in writer.pairs:
            near = sorted(models.get(pair[:2], []), key=lambda row: (abs(row[0] - pair[2]), row[1]))
            restamped(writer, pair, [name for _, name in near], options.cases)
    rows = [{"domain": d, "op": op, "version": v, "cases": shown.get((d, op, v), []) + writer.pairs.get((d, op, v), [])}
            for d, op, v in everything]
    (options.output / "pairs.json").write_text(json.dumps(rows, indent=0) + "\n")
    (options.output / "index.json").write_text(json.dumps(writer.index, indent=0) + "\n")
    print(f"{len(writer.index)} cases in {options.output}; {sum(bool(r['cases']) for r in rows)} of {len(rows)} pairs have one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
