#!/usr/bin/env python3
"""Write random valid graphs with the outputs that ONNX Runtime computes of them without optimisations.

  make_random.py -o DIR --count 300 [--seed 1]

Seed and count decide the graphs. The layout is that of the conformance suite, so that tests/conformance/run.py runs them. A graph
whose values leave the range in which results can be compared, or that ONNX Runtime has no kernels for, is drawn again.
"""
import argparse
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "versions")]
import ops_control  # noqa: E402
import ops_move  # noqa: E402
import ops_nn  # noqa: E402
import ops_patterns  # noqa: E402
import ops_simple  # noqa: E402
import oracles  # noqa: E402
from graph import LOCAL, Graph, Unfit  # noqa: E402

ROWS = ops_simple.ROWS + ops_move.ROWS + ops_nn.ROWS + ops_patterns.ROWS + ops_control.ROWS
OPSETS = (13, 15, 17, 18, 19, 20, 21, 22)
LARGEST = {np.dtype(np.float16): 500.0}  # else 1e4: beyond that, float32 keeps too few digits behind the point
INPUT_TYPES = (np.float32,) * 6 + (np.int64, np.int32, np.float64, np.bool_, np.uint8, np.int8, np.float16)


def grow(seed):
    """A graph of some 4 to 20 nodes."""
    g = Graph(seed, 0)
    g.opset = g.r.choice(OPSETS)
    images = g.r.random() < 0.4
    for k in range(g.r.randint(1, 4)):
        shape = g.shape(3, 4) if images and k == 0 else g.shape()
        g.pool.append(g.input(g.draw(np.float32 if k == 0 else g.r.choice(INPUT_TYPES), shape)))
    functions, weights = zip(*ROWS)
    wanted, tries = g.r.randint(3, 16), 0
    while len(g.nodes) < wanted and tries < 400:
        tries += 1
        mark = len(g.nodes), len(g.pool), len(g.inputs), len(g.constants), len(g.functions)
        try:
            g.r.choices(functions, weights)[0](g)
        except (Unfit, IndexError, ValueError):
            g.nodes, g.pool, g.constants, g.functions = g.nodes[:mark[0]], g.pool[:mark[1]], g.constants[:mark[3]], g.functions[:mark[4]]
            g.inputs, g.data = g.inputs[:mark[2]], g.data[:mark[2]]
    return g


def declared(g, value):
    """An input's sizes: numbers, or symbols that equal sizes share."""
    return [n if n < 2 or value.static or not g.symbolic or g.r.random() < 0.5 else f"n{n}" for n in value.shape]


def model_of(g):
    used = {name for node in g.nodes for name in node.input}
    made = [v for v in g.pool if v not in g.inputs]
    outputs = [v for v in made if v.name not in used or g.r.random() < 0.1]
    inputs = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(np.dtype(v.dtype)), declared(g, v))
              for v in g.inputs]
    results = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(np.dtype(v.dtype)), [None] * v.rank) for v in outputs]
    graph = helper.make_graph(g.nodes, "random", inputs, results, g.constants)
    imports = [helper.make_opsetid("", g.opset)] + ([helper.make_opsetid(LOCAL, 1)] if g.functions else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=g.functions, producer_name="castnet-tests"), outputs


def unusable(values, expected):
    """Why recorded values show nothing, or None."""
    for value, result in zip(values, expected):
        if result.shape != value.shape or result.dtype != np.dtype(value.dtype):
            raise AssertionError(f"{value} came out as {result.dtype} {result.shape}")
        if result.dtype.kind == "f" and result.size:
            if not np.isfinite(result).all():
                return "not finite"
            if np.abs(result).max() > LARGEST.get(result.dtype, 1e4):
                return "too large"
    return None


def draw(seed):
    """(graph, model, outputs, expected, None), or what is wrong with the graph of this seed as the last."""
    g = grow(seed)
    model, outputs = model_of(g)
    if not outputs:
        return None, "no outputs"
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # a fault of this generator: it must not be silent
        raise SystemExit(f"seed {seed}: the generator made an invalid model: {error}")
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    del whole.graph.output[:]
    made = [v for v in g.pool if v not in g.inputs]
    whole.graph.output.extend(helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(np.dtype(v.dtype)), [None] * v.rank) for v in made)
    everything, why = oracles.attempt(oracles.runtime, whole, g.data)
    if everything is None:
        return None, why.split(" node ")[0][:110]
    why = unusable(made, everything)
    if why:
        return None, why
    by_name = {v.name: r for v, r in zip(made, everything)}
    return (g, model, [by_name[o.name] for o in outputs], tolerance(made, everything)), None


def tolerance(values, results):
    """Absolute: what the largest value on the way may lose."""
    largest = max([1.0] + [float(np.abs(r).max()) for r in results if r.dtype.kind == "f" and r.size])
    return largest * (4e-3 if any(v.dtype is np.float16 for v in values) else 3e-5)


def write(folder, g, model, expected):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for side, infos, arrays in (("input", model.graph.input, g.data), ("output", model.graph.output, expected)):
        for i, (info, array) in enumerate(zip(infos, arrays, strict=True)):
            (data / f"{side}_{i}.pb").write_bytes(numpy_helper.from_array(array, info.name).SerializeToString(deterministic=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph; the next ones count on")
    options = parser.parse_args()
    shutil.rmtree(options.output / "random", ignore_errors=True)
    options.output.mkdir(parents=True, exist_ok=True)
    index, refused, seed, shown = [], Counter(), options.seed, Counter()
    while len(index) < options.count:
        drawn, why = draw(seed)
        if drawn is None:
            refused[why] += 1
        else:
            g, model, expected, atol = drawn
            name = f"seed_{seed:06}"
            write(options.output / "random" / name, g, model, expected)
            ops = sorted({n.op_type for n in model.graph.node if n.domain == ""})
            shown.update(ops)
            index.append({"kind": "random", "name": name, "rtol": 1e-3, "atol": atol, "op": f"opset {g.opset}", "ops": ops})
        seed += 1
    for folder in sorted(p for p in (HERE / "kept").iterdir() if p.is_dir()):  # graphs that were wrong once, reduced
        shutil.copytree(folder, options.output / "random" / folder.name)
        index.append({"kind": "random", "name": folder.name, "op": "kept", "ops": [], **json.loads((folder / "tolerance.json").read_text())})
    (options.output / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    for why, n in refused.most_common(12):
        print(f"  drawn again: {n} times: {why}")
    print(f"{len(index)} graphs, those kept among them, of {len(shown)} operators in {options.output}; {seed - options.seed} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
