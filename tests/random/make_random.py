#!/usr/bin/env python3
"""Write random valid graphs with the outputs that ONNX Runtime computes of them without optimisations.

  make_random.py -o DIR --count 300 [--seed 1]

Seed and count decide the graphs. The layout is that of the conformance suite, so that tests/conformance/run.py runs them. A graph
whose values leave the range in which results can be compared, or that ONNX Runtime has no kernels for, is drawn again.
"""
import argparse
import itertools
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
import judge  # noqa: E402
import make_cases as suite  # noqa: E402
import ops_control  # noqa: E402
import ops_data  # noqa: E402
import ops_functions  # noqa: E402
import ops_move  # noqa: E402
import ops_nn  # noqa: E402
import ops_patterns  # noqa: E402
import ops_sequences  # noqa: E402
import ops_simple  # noqa: E402
from forms import OPSETS, Unfit  # noqa: E402
from graph import BF16, EVERY, LOCAL, TEXT, Graph, Seq  # noqa: E402

PLAIN = ops_simple.ROWS + ops_move.ROWS + ops_nn.ROWS + ops_patterns.ROWS + ops_functions.ROWS + ops_data.ROWS
FOCUS = (ops_control.ROWS, ops_sequences.ROWS, [])  # what a graph has much of
LARGEST = {np.dtype(np.float16): 500.0}  # else 1e4: beyond that, float32 keeps too few digits behind the point
INPUT_TYPES = (np.float32,) * 14 + (np.int64, np.int32, np.float64, np.bool_, np.uint8, np.int8, np.float16) * 2 + EVERY


def rows_of(g):
    """Rows with their weights: some graphs are mostly control flow, or mostly sequences."""
    focus = g.r.choice(FOCUS)
    return PLAIN + [(row, weight * (5 if rows is focus else 1)) for rows in FOCUS for row, weight in rows]


def grow(seed):
    """A graph of some 4 to 20 nodes."""
    g = Graph(seed, 0)
    g.opset = g.r.choice(OPSETS)
    images = g.r.random() < 0.4
    for k in range(g.r.randint(1, 4)):
        shape = g.shape(3, 4) if images and k == 0 else g.shape()
        g.pool.append(g.input(g.draw(np.float32 if k == 0 else g.r.choice(INPUT_TYPES), shape)))
    functions, weights = zip(*rows_of(g))
    wanted, tries = g.r.randint(3, 16), 0
    while len(g.nodes) < wanted and tries < 400:
        tries += 1
        mark, inputs = g.mark(), len(g.inputs)
        try:
            g.r.choices(functions, weights)[0](g)
        except (Unfit, IndexError, ValueError):
            g.back_to(mark)
            del g.inputs[inputs:], g.data[inputs:]
    return g


def declared(g, value):
    """An input's sizes: numbers, or symbols that equal sizes share."""
    return [n if n < 2 or value.static or not g.open or g.r.random() < 0.5 else f"n{n}" for n in value.shape]


def info(value, shape=None):
    """How a value is declared; of what outputs and items of sequences have, the rank."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    tensor = helper.make_tensor_type_proto(element, [None] * value.rank if shape is None else shape)
    if isinstance(value, Seq):
        wrap = helper.make_sequence_type_proto if value.wrapper.startswith("seq") else helper.make_optional_type_proto
        return helper.make_value_info(value.name, wrap(tensor))
    return helper.make_value_info(value.name, tensor)


def results_of(g):
    return [v for v in g.pool + g.seqs + g.options if v not in g.inputs]


def reads(nodes):
    """Names that nodes and their bodies read."""
    names = {name for node in nodes for name in node.input}
    for node in nodes:
        for body in ops_control.bodies_of(node):
            names |= ops_control.names_in(body)
    return names


def model_of(g):
    used = reads(g.nodes)
    outputs = [v for v in results_of(g) if v.name not in used or g.r.random() < 0.1]
    inputs = [info(v) if isinstance(v, Seq) else info(v, declared(g, v)) for v in g.inputs]
    graph = helper.make_graph(g.nodes, "random", inputs, [info(v) for v in outputs], g.constants)
    imports = [helper.make_opsetid("", g.opset)] + ([helper.make_opsetid(LOCAL, 1)] if g.functions else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=10, functions=g.functions, producer_name="castnet-tests"), outputs


def unusable(values, expected):
    """Why recorded values show nothing, or None."""
    for value, result in zip(values, expected):
        shapes = value.shapes if isinstance(value, Seq) else [value.shape]
        results = result if isinstance(result, list) else [result]
        if value.dtype is TEXT and not all(isinstance(text, str) for r in results for text in np.asarray(r, object).reshape(-1)):
            raise AssertionError(f"{value} came out as other objects than strings")
        if [np.shape(r) for r in results] != shapes or any(np.asarray(r).dtype != np.dtype(value.dtype) for r in results):
            raise AssertionError(f"{value} came out as {[(np.asarray(r).dtype, np.shape(r)) for r in results]}")
        for r in map(number, results):
            if r.dtype.kind in "fc" and r.size:
                if not np.isfinite(r).all():
                    return "not finite"
                if np.abs(r).max() > LARGEST.get(np.dtype(value.dtype), 1e4):
                    return "too large"
    return None


def number(array):
    """An array of a type that numpy computes with."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == BF16 else array


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
    made = results_of(g)
    everything, why, by_reference = judge.everything(model, g.data, [info(v) for v in made])
    if everything is None:
        return None, why.split(" node ")[0][:110]
    try:
        why = unusable(made, everything)
    except AssertionError as error:
        if by_reference:
            return None, "onnx's reference gives another shape or type"
        raise SystemExit(f"seed {seed}: {error}") from None
    if why:
        return None, why
    by_name = {v.name: r for v, r in zip(made, everything)}
    return (g, model, [by_name[o.name] for o in outputs], tolerance(made, everything)), None


def tolerance(values, results):
    """Absolute: what the largest value on the way may lose."""
    arrays = [number(a) for r in results for a in (r if isinstance(r, list) else [r])]
    largest = max([1.0] + [float(np.abs(a).max()) for a in arrays if a.dtype.kind in "fc" and a.size])
    dtypes = {v.dtype for v in values}
    return largest * (3e-2 if BF16 in dtypes else 4e-3 if np.float16 in dtypes else 3e-5)


def write(folder, g, model, expected):
    folder.mkdir(parents=True)
    suite.write_message(folder / "model.onnx", model)
    suite.write_data_set(folder / "test_data_set_0", model.graph, g.data, expected)


def write_tolerance(folder, rtol, atol):
    (folder / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}) + "\n")


def make(seed, output):
    """Draws a graph and writes it: its row of the index, or why there is none."""
    drawn, why = draw(seed)
    if drawn is None:
        return {"why": why}
    g, model, expected, atol = drawn
    name = f"seed_{seed:06}"
    write(output / "random" / name, g, model, expected)
    ops = sorted({n.op_type for n in model.graph.node if n.domain == ""})
    return {"kind": "random", "name": name, "rtol": 1e-3, "atol": atol, "op": f"opset {g.opset}", "ops": ops}


def rows(seed, output):
    """What make() says of seed after seed, by a child: ONNX Runtime divides by zero on some graphs, and is started again behind them."""
    while True:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w") as out:
                try:
                    for k in itertools.count(seed):
                        print(json.dumps(make(k, output)), file=out, flush=True)
                except BrokenPipeError:  # enough
                    pass
                except BaseException:
                    print(json.dumps({"fault": traceback.format_exc()}), file=out, flush=True)
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as lines:
            for line in lines:
                yield json.loads(line)
                seed += 1
        os.waitpid(child, 0)
        yield {"why": "ONNX Runtime ended its process"}
        seed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1, help="of the first graph; the next ones count on")
    options = parser.parse_args()
    for kind in ("random", "kept"):
        shutil.rmtree(options.output / kind, ignore_errors=True)
    options.output.mkdir(parents=True, exist_ok=True)
    index, refused, shown, drawn = [], Counter(), Counter(), 0
    for row in rows(options.seed, options.output):
        drawn += 1
        if "fault" in row:
            raise SystemExit(row["fault"])
        if "why" in row:
            refused[row["why"]] += 1
            continue
        index.append(row)
        shown.update(row["ops"])
        if len(index) == options.count:
            break
    for folder in sorted(p for p in (HERE / "kept").iterdir() if p.is_dir()):  # graphs that were wrong once, reduced
        shutil.copytree(folder, options.output / "kept" / folder.name)
        index.append({"kind": "kept", "name": folder.name, "op": "kept", "ops": [], **json.loads((folder / "tolerance.json").read_text())})
    (options.output / "index.json").write_text(json.dumps(index, indent=0) + "\n")
    for why, n in refused.most_common(12):
        print(f"  drawn again: {n} times: {why}")
    print(f"{len(index)} graphs, those kept among them, of {len(shown)} operators in {options.output}; {drawn} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main())
