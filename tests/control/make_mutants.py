#!/usr/bin/env python3
"""Write mutants of the official suite's control-flow cases, and of tests/control's own.

  make_mutants.py --cases DIR -o DIR --count 60 [--seed 1]

A seed picks a case with If, Loop or Scan and changes it one to five times (mutations.py): operators and constants in bodies, trip counts and
conditions, captured values, one inside another. Every mutant is called up to three times with inputs drawn anew. What comes out is
ONNX Runtime's word without optimisations, or onnx's reference where ONNX Runtime fails; a mutant that neither can run is drawn again.
"""
import argparse
import copy
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance"), str(HERE.parent / "versions")]
import make_cases as suite  # noqa: E402
import forms_first  # noqa: E402, F401
import mutations  # noqa: E402
import oracles  # noqa: E402
from case_list import GRAPHS  # noqa: E402
from mutations import Mutant, Unfit  # noqa: E402

CONTROL = {"If", "Loop", "Scan"}
COMMON = 17  # the opset that parents get which allow it, so that they can be nested in each other
LARGEST = 1e4
FOREIGN = ("NOT_IMPLEMENTED", "NotImplemented", "Numpy_type", "Unsupported model", "opset")  # what ONNX Runtime says of what it does not know
PATIENCE = 3  # seconds: a loop whose condition was changed may never end


def read_value(path, info):
    """A recorded value; None for an optional that is empty."""
    kind = info.type.WhichOneof("value")
    proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    if kind == "sequence_type":
        return numpy_helper.to_list(proto)
    return numpy_helper.to_optional(proto) if kind == "optional_type" else numpy_helper.to_array(proto)


def valid(model):
    try:
        onnx.checker.check_model(model, full_check=True)
        return True
    except Exception:  # onnx.checker and shape inference raise what they like
        return False


def sound(model):
    """Like valid(), of a model whose outputs have no sizes yet."""
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        return True
    except Exception:
        return False


def raised(model):
    """At the common opset, if the model means the same there as far as the checker can say."""
    if len(model.opset_import) != 1 or model.functions:
        return model
    changed = copy.deepcopy(model)
    changed.opset_import[0].version = COMMON
    changed.ir_version = max(changed.ir_version, 8)
    return changed if valid(changed) else model


def parents(cases):
    """[(name, model, feeds)]"""
    found = []
    for row in json.loads((cases / "index.json").read_text()):
        if CONTROL & set(row["ops"]) and row["kind"] in ("node", "simple"):
            folder = cases / row["kind"] / row["name"]
            model = onnx.load(folder / "model.onnx")
            feeds = {info.name: read_value(folder / "test_data_set_0" / f"input_{i}.pb", info) for i, info in enumerate(model.graph.input)}
            found.append((row["name"], raised(model), feeds))
    for name, case in GRAPHS.items():
        model = onnx.parser.parse_model(case.text)
        found.append((name, model, {i.name: case.calls[0][i.name] for i in model.graph.input}))
    return found


def families(found):
    """Parents by what their names begin with: a draw among these first, else the expanded cases of few operators were most of it."""
    by = {}
    for parent in found:
        by.setdefault("_".join(parent[0].split("_")[:3]), []).append(parent)
    return list(by.values())


def other_inputs(m):
    """Inputs of another call: numbers of trips, truth values, data, lengths of sequences."""
    feeds = {}
    for name, value in m.feeds.items():
        if isinstance(value, list):
            feeds[name] = [m.draw(v.dtype, v.shape) for v in value] if m.r.random() < 0.5 else value[:m.r.randint(0, len(value))]
        elif value is None or isinstance(value, dict):
            feeds[name] = value
        elif value.ndim == 0 and (value.dtype.kind == "f" or value.dtype == np.int32):  # a step, perhaps: none is of no use
            feeds[name] = np.asarray(m.r.choice((-2, -1, 1, 2)), value.dtype)
        elif value.dtype.kind == "f":
            feeds[name] = m.draw(value.dtype, value.shape)
        elif value.dtype.kind == "b" or value.ndim == 0:
            feeds[name] = m.draw(value.dtype, value.shape)
        else:
            feeds[name] = value
    return feeds


def every_node(model):
    """Those of bodies and functions, too."""
    graphs = [model.graph, *(helper.make_graph(f.node, f.name, [], []) for f in model.functions)]
    return [n for graph in graphs for part, _ in mutations.walk(graph) for n in part.node]


def judged(model, values):
    results, why = oracles.attempt(lambda m, v: oracles.runtime(m, v, PATIENCE), model, values)
    if results is not None:
        return results, "ONNX Runtime"
    if not any(text in why for text in FOREIGN):
        raise Unfit(why)
    if any(n.op_type == "Loop" and len(n.output) > len(n.input) - 2 for n in every_node(model)):
        raise Unfit("onnx's reference stacks numbers with an axis too many")
    results, again = oracles.attempt(reference, model, values)
    if results is None:
        raise Unfit(again)
    return results, "onnx's reference"


def reference(model, values):
    np.seterr(all="ignore")
    return onnx.reference.ReferenceEvaluator(model).run(None, oracles.feed(model, values))


def evaluate(model, values):
    """What the oracle says, if it rests neither on sizes declared in bodies, which a mutation may have made wrong, nor on a condition of many elements."""
    results, judge = judged(model, values)
    bare = copy.deepcopy(model)
    mutations.forget_sizes(bare)
    again, _ = judged(bare, values)
    if [a.shape for r in results for a in arrays(r)] != [a.shape for r in again for a in arrays(r)]:
        raise Unfit("sizes rest on declarations")
    _, why = oracles.attempt(reference, model, values)
    if why and "truth value" in why:
        raise Unfit("a condition of many elements")
    return results, judge


def arrays(value):
    """Arrays of a result of whatever kind."""
    if value is None:
        return []
    return [a for v in value for a in arrays(v)] if isinstance(value, list) else [np.asarray(value)]


def usable(results):
    for a in (a for value in results for a in arrays(value)):
        if 0 in a.shape[1:]:
            raise Unfit("items of no elements: broadcast by data alone, or made by no iteration")
        if a.dtype.kind == "f" and a.size and (not np.isfinite(a).all() or np.abs(a).max() > LARGEST):
            raise Unfit("not finite, or too large")


def declare(model, calls):
    """Results are declared by type and rank, as all calls have it."""
    for k, info in enumerate(model.graph.output):
        kind = info.type.WhichOneof("value")
        if kind != "tensor_type":
            continue
        ranks = {np.ndim(results[k]) for _, results in calls}
        if len(ranks) != 1:
            raise Unfit("ranks differ between calls")
        dtype = helper.np_dtype_to_tensor_dtype(np.asarray(calls[0][1][k]).dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, dtype, [None] * ranks.pop()))


def draw(seed, groups):
    """(name, model, [(feeds, results)], oracle), or Unfit."""
    choose = np.random.default_rng(seed)
    def pick():
        group = groups[choose.integers(len(groups))]
        return group[choose.integers(len(group))]
    name, model, feeds = pick()
    m = Mutant(seed, model, feeds)
    del m.model.graph.value_info[:]
    functions, weights = zip(*mutations.MUTATIONS)
    for _ in range(m.r.randint(1, 5)):
        mutation = m.r.choices(functions, weights)[0]
        mark = copy.deepcopy(m.model), dict(m.feeds)
        try:
            mutation(m, pick()[1:]) if mutation is mutations.another_case else mutation(m)
            for info in m.model.graph.output:
                if info.type.HasField("tensor_type"):
                    info.type.tensor_type.ClearField("shape")
            if not sound(m.model):
                raise Unfit
            m.learn()
            m.hold_ranks()
            m.done.append(mutation.__name__)
        except (Unfit, KeyError):
            m.model, m.feeds = mark
            m.learn()
    if not m.done:
        raise Unfit("nothing to change")
    calls, judges = [], set()
    for k in range(m.r.randint(1, 3)):
        feeds = dict(m.feeds) if k == 0 else other_inputs(m)
        feeds = {i.name: feeds[i.name] for i in m.model.graph.input}
        try:
            results, judge = evaluate(m.model, list(feeds.values()))
            usable(results)
        except Unfit:
            if k == 0:
                raise
            continue
        calls.append((feeds, results))
        judges.add(judge)
    declare(m.model, calls)
    if not valid(m.model):
        raise Unfit("not valid as declared")
    return name, m, calls, " ".join(sorted(judges))


def write(folder, model, calls):
    folder.mkdir(parents=True)
    suite.write_message(folder / "model.onnx", model)
    for k, (feeds, results) in enumerate(calls):
        suite.write_data_set(folder / f"test_data_set_{k}", model.graph, list(feeds.values()), results)


def operators(graph):
    return {n.op_type for g, _ in mutations.walk(graph) for n in g.node}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, type=Path, help="folder written by make_cases.py")
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first mutant; the next ones count on")
    options = parser.parse_args()
    groups = families(parents(options.cases))
    shutil.rmtree(options.output / "mutant", ignore_errors=True)
    options.output.mkdir(parents=True, exist_ok=True)
    index, refused, done, judges, seed = [], Counter(), Counter(), Counter(), options.seed
    while len(index) < options.count:
        try:
            parent, m, calls, judge = draw(seed, groups)
            name = f"seed_{seed:06}"
            write(options.output / "mutant" / name, m.model, calls)
            ops = sorted(operators(m.model.graph))
            index.append({"kind": "mutant", "name": name, "rtol": 1e-3, "atol": 1e-3, "op": parent, "ops": ops, "mutations": m.done, "judge": judge})
            done.update(m.done)
            judges[judge] += 1
        except Unfit as why:
            refused[str(why)[:60]] += 1
        seed += 1
    (options.output / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    for why, n in refused.most_common(8):
        print(f"  drawn again: {n} times: {why}")
    print(f"{len(index)} mutants in {options.output}, judged by {dict(judges)}; {dict(done)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
