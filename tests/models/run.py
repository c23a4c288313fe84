#!/usr/bin/env python3
"""Check castnet on real models with recorded outputs.

  run.py --castnet build/compiler/castnet --models DIR [--filter 'mnist*'] [--jobs 2]

DIR holds models.json and a folder a model (model.onnx, test_data_set_*). Each model is judged by `castnet check` under
the tolerances recorded for each of its data sets; data sets that share their tolerances share a call. must_pass.txt
lists the models that have to pass; it may only grow. The others may be refused as unsupported, and nothing else.
Where the recording itself is wrong (doubtful_recordings.txt), a float64 evaluation takes its place.

The tolerances reach castnet as a file: {"outputs": {name: {"atol": a, "rtol": r}}, "random": [name, ...]}; an output
that the file does not name must be exactly equal.
"""
import argparse
import fnmatch
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import harness  # noqa: E402
from harness import PASS, REFUSED  # noqa: E402

MUST_PASS = HERE / "must_pass.txt"
DOUBTFUL = HERE / "doubtful_recordings.txt"
HEAD = "# Models that have to pass. May only grow.\n"
MOST_ABOVE_BOUND = 1.05  # arena over the live-set bound of the order that was chosen
MAP_TOLERANCE = {"atol": 1e-4, "rtol": 0.0}  # values inside maps and sequences of maps
PASS_THROUGH = {"Add", "Concat", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze", "Flatten"}


def quanta(model_path):
    """{output: one step of the quantisation it came out of, or 0}: recorded and right results may differ by that."""
    import onnx
    from onnx import numpy_helper
    graph = onnx.load(model_path, load_external_data=False).graph
    producer = {name: node for node in graph.node for name in node.output}
    held = {t.name: t for t in graph.initializer}
    held.update({n.output[0]: a.t for n in graph.node if n.op_type == "Constant" for a in n.attribute if a.HasField("t")})

    def step(name, depth=0):
        node = producer.get(name)
        if node is None or depth > 8:
            return 0.0
        if node.op_type == "DequantizeLinear" and node.input[0] not in held:
            scale = held.get(node.input[1])
            small = scale is not None and scale.data_location != onnx.TensorProto.EXTERNAL
            return float(numpy_helper.to_array(scale).max()) if small else 0.0
        return sum(step(i, depth + 1) for i in node.input) if node.op_type in PASS_THROUGH else 0.0

    return {output.name: step(output.name) for output in graph.output}


def tolerances(data_set, quantum):
    outputs, random = {}, []
    for output in data_set["outputs"]:
        name = output["name"]
        if output.get("random"):
            random.append(name)
        elif output["kind"] != "tensor":
            outputs[name] = MAP_TOLERANCE
        elif "suggest_atol" in output:
            outputs[name] = {"atol": max(output["suggest_atol"], quantum.get(name, 0.0)),
                             "rtol": output["suggest_rtol"]}
    return {"outputs": outputs, "random": random}


def calls(root, model):
    """[(tolerances, data set folders)]: as few as the recorded tolerances allow."""
    grouped = {}
    quantum = quanta(root / model["file"])
    for data_set in model["test_sets"]:
        key = json.dumps(tolerances(data_set, quantum), sort_keys=True)
        grouped.setdefault(key, []).append(root / data_set["dir"])
    return list(grouped.items())


class Runner:
    def __init__(self, options):
        self.options = options
        self.castnet = harness.castnet_path(options.castnet)
        self.doubtful = harness.read_list(DOUBTFUL)
        self.common = [*harness.machine_options(options), "--json", "--timeout", options.run_timeout]

    def check(self, model):
        """(class, reason, last JSON object) over all calls of a model; the first that does not pass decides."""
        with tempfile.TemporaryDirectory() as scratch:
            return self.check_in(Path(scratch), model)

    def data_sets(self, scratch, model_path, folders):
        if model_path.parent.name not in self.doubtful:
            return folders
        import float64
        judged = [scratch / folder.name for folder in folders]
        for folder, copy in zip(folders, judged):
            float64.judged(model_path, folder, copy)
        return judged

    def check_in(self, scratch, model):
        root = self.options.models.resolve()
        record = None
        for text, folders in calls(root, model):
            folders = self.data_sets(scratch, root / model["file"], folders)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                command = [self.castnet, "check", root / model["file"], *folders, "--tolerances", file.name]
                outcome = harness.run([*command, *self.common], self.options.timeout)
            records = harness.json_lines(outcome.out)
            record = records[-1] if records else None
            cls, reason = harness.classify_outcome(outcome, record)
            if cls != PASS:
                return cls, reason, record
        return PASS, "", record


def memory_columns(record):
    """Arena, its lower bound, what nodes one by one would need, where the JSON has them."""
    record = record or {}
    arena, bound = record.get("arena_bytes"), record.get("arena_bound")
    share = f"{100 * arena / bound - 100:.1f} %" if arena and bound else ""
    return [arena if arena is not None else "", bound if bound is not None else "", share, record.get("file_order_peak", "")]


def far_from_bound(record):
    record = record or {}
    arena, bound = record.get("arena_bytes"), record.get("arena_bound")
    return bool(arena and bound and arena > bound * MOST_ABOVE_BOUND)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--castnet", required=True)
    parser.add_argument("--models", type=Path, default=HERE.parents[2] / "shared" / "models")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_machine_options(parser)
    parser.add_argument("--run-timeout", type=int, default=60, help="seconds a run of generated code")
    parser.add_argument("--filter", action="append", help="only models named like this")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a call")
    parser.add_argument("--results", type=Path, help="write {model: {class, reason}} here as JSON")
    parser.add_argument("--must-pass", type=Path, default=MUST_PASS, help="the list (default: %(default)s); a partial target has its own")
    parser.add_argument("--update", action="store_true", help="add the models that pass to the list")
    return parser.parse_args()


def main():
    options = parse()
    if harness.is_missing(options):
        return harness.totals(0, 0, 1)
    if not (options.models / "models.json").exists():
        print(f"no recorded models at {os.path.relpath(options.models)}: nothing checked (--models DIR)")
        return harness.totals(0, 0, 1)
    models = json.loads((options.models / "models.json").read_text())["models"]
    if options.filter:
        models = [m for m in models if any(fnmatch.fnmatch(m["name"], p) for p in options.filter)]
    runner = Runner(options)
    answers = dict(zip((m["name"] for m in models), harness.parallel(runner.check, models, options.jobs, "models")))
    if options.results:
        rows = {name: {"class": cls, "reason": reason} for name, (cls, reason, _) in answers.items()}
        options.results.write_text(json.dumps(rows, indent=0) + "\n")

    rows = [[name, cls, *memory_columns(record), reason[:110]] for name, (cls, reason, record) in answers.items()]
    harness.table(rows, ("model", "class", "arena", "bound", "above", "unfused", "codes and operators"))
    harness.class_table(cls for cls, _, _ in answers.values())

    must = harness.read_list(options.must_pass)
    if options.update:
        must.update({name: "" for name, (cls, _, _) in answers.items() if cls == PASS})
        options.must_pass.write_text(HEAD + "".join(f"{name}\n" for name in sorted(must)))
        print(f"{options.must_pass.name} rewritten: {len(must)} models")
    wrong = [(name, cls, reason) for name, (cls, reason, _) in answers.items()
             if cls not in (PASS, REFUSED) or (cls != PASS and name in must)]
    wrong += [(name, "memory", "the arena is more than 5 % above its bound")
              for name, (_, _, record) in answers.items() if far_from_bound(record)]
    for name, cls, reason in wrong:
        print(f"FAIL {name}: {cls}: {reason}")
        print(f"  again: {harness.rerun_line('--filter', name)}")
    news = [name for name, (cls, _, _) in answers.items() if cls == PASS and name not in must]
    if news:
        print(f"pass, but are not in {options.must_pass.name} yet (--update adds them): {' '.join(news)}")
    passed = sum(1 for name, (cls, _, _) in answers.items() if cls == PASS)
    return harness.totals(passed, len(wrong), len(answers) - passed - len(wrong))


if __name__ == "__main__":
    sys.exit(main())
