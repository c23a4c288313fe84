#!/usr/bin/env python3
"""Make a failing graph small, and keep it as a test.

  reduce.py --castnet BIN CASE_DIR -o tests/random/kept/NAME [--check=--no-fuse]

What fails stays: nodes are replaced by inputs that hold what the oracle computes there, nodes of bodies and functions by one of their operands,
outputs are dropped, as long as castnet still does wrong in the same way. Works for any case of the suite's layout.
"""
import argparse
import copy
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "control"), str(HERE.parent / "conformance"), str(HERE.parent / "lib")]
import harness  # noqa: E402
import judge  # noqa: E402
import make_cases as suite  # noqa: E402
from make_mutants import read_value  # noqa: E402
from make_random import write_tolerance  # noqa: E402
from ops_control import bodies_of, names_in, rename  # noqa: E402

PATIENCE = 1  # seconds that the oracle may take: the loops of a graph that a reduction has changed may not end
ROUNDS = 3  # bodies, then what became needless about them, and again


class Lost(Exception):
    """No verdict on this model: it is not valid, or the oracle does not run it."""


def needed_by(node):
    return {name for name in node.input if name} | {name for body in bodies_of(node) for name in names_in(body)}


class Reducer:
    def __init__(self, castnet, check, case):
        self.castnet, self.check = castnet, check
        self.model = onnx.load(case / "model.onnx")
        data = case / "test_data_set_0"
        self.given = {info.name: read_value(data / f"input_{i}.pb", info) for i, info in enumerate(self.model.graph.input)}
        self.values, self.infos = self.everything(self.model)

    def everything(self, model):
        """(what the oracle computes, how it is declared), of all values of the graph, by name."""
        try:
            inferred = onnx.shape_inference.infer_shapes(model).graph
        except Exception as error:
            raise Lost from error
        known = {v.name: v for v in [*inferred.value_info, *inferred.output]}
        infos = [open_sizes(known[name]) for node in model.graph.node for name in node.output if name in known]
        given = [self.given[info.name] for info in model.graph.input]
        results, why, _ = judge.everything(model, given, infos, PATIENCE)
        if results is None:
            raise Lost(why)
        infos = {i.name: i for i in [*model.graph.input, *infos]}
        return self.given | {i.name: r for i, r in zip(list(infos.values())[len(model.graph.input):], results)}, infos

    def cut(self, model, nodes, outputs):
        """A model of these nodes and outputs, without what it does not need; operands that no node makes become inputs."""
        needed, kept = set(outputs), []
        for node in reversed(nodes):
            if needed & set(node.output):
                kept.insert(0, node)
                needed |= needed_by(node)
        made = {name for node in kept for name in node.output}
        constants = [t for t in model.graph.initializer if t.name in needed]
        inputs = [self.infos[name] for name in sorted((needed & set(self.infos)) - made - {t.name for t in constants})]
        small = onnx.ModelProto()
        small.CopyFrom(model)
        small.graph.CopyFrom(helper.make_graph(kept, "reduced", inputs, [self.infos[name] for name in outputs], constants))
        if not any(node.domain for node in kept):
            del small.functions[:]
        return small

    def verdict(self, model):
        """How castnet does wrong with a model, or None."""
        with tempfile.TemporaryDirectory() as folder:
            self.write(model, Path(folder))
            outcome = harness.run([self.castnet, "check", f"{folder}/model.onnx", "--json", *self.check], 120)
        records = harness.json_lines(outcome.out)
        cls, reason = harness.classify_outcome(outcome, records[-1] if records else None)
        return None if cls == harness.PASS else (cls, reason.split(":")[0])

    def write(self, model, folder):
        folder.mkdir(parents=True, exist_ok=True)
        suite.write_message(folder / "model.onnx", model)
        suite.write_data_set(folder / "test_data_set_0", model.graph, *([self.values[i.name] for i in side] for side in (model.graph.input, model.graph.output)))

    def wrong(self, model, nodes, outputs):
        """The smaller model, if it is wrong as the whole is."""
        try:
            small = self.cut(model, nodes, outputs)
            return small if self.verdict(small) == self.fault else None
        except (KeyError, ValueError):  # a value that is not known would be an input
            return None

    def fewer_outputs(self, model):
        for info in list(model.graph.output):
            rest = [o.name for o in model.graph.output if o.name != info.name]
            model = (rest and self.wrong(model, list(model.graph.node), rest)) or model
        return model

    def fewer_nodes(self, model):
        k = len(model.graph.node) - 1
        while k >= 0:
            k = min(k, len(model.graph.node) - 1)
            nodes, outputs = list(model.graph.node), [o.name for o in model.graph.output]
            node = nodes.pop(k)
            made = {name for n in nodes for name in n.output}
            ends = [o for o in outputs if o not in node.output]
            for last in (outputs, ends, [name for name in node.input if name in made]):
                small = self.wrong(model, nodes, last) if last and set(last) <= made else None
                if small:
                    model = small
                    break
            k -= 1
        return model

    def simpler_bodies(self, model):
        """Nodes of bodies and functions, one after the other from the back: gone, their readers read an operand of theirs."""
        k = 0
        while True:
            places = [(n, i) for n, (nodes, _) in enumerate(inner(model)) for i in reversed(range(len(nodes)))]
            if k >= len(places):
                return model
            for operand in range(3):
                small = copy.deepcopy(model)
                if not bypass(*list(inner(small))[places[k][0]], places[k][1], operand):
                    break
                try:
                    values, infos = self.everything(small)
                except (Lost, ValueError):
                    continue
                kept = self.values, self.infos
                self.values, self.infos = values, infos
                if self.verdict(small) == self.fault:
                    model, k = small, k - 1
                    break
                self.values, self.infos = kept
            k += 1

    def reduce(self):
        self.fault = self.verdict(self.model)
        if not self.fault:
            return None
        model = self.model
        for _ in range(ROUNDS):
            before = model.ByteSize()
            model = self.fewer_nodes(self.fewer_outputs(model))
            self.given = {i.name: self.values[i.name] for i in model.graph.input}
            model = self.simpler_bodies(model)
            if model.ByteSize() == before:
                break
        return model


def open_sizes(info):
    """A declaration without the sizes that are true of this model alone."""
    info = copy.deepcopy(info)
    for kind in (info.type, info.type.sequence_type.elem_type, info.type.optional_type.elem_type):
        for d in kind.tensor_type.shape.dim:
            d.Clear()
    return info


def inner(model):
    """(nodes, whose) of every body and function."""
    def within(nodes):
        for node in nodes:
            for body in bodies_of(node):
                yield body.node, body
                yield from within(body.node)
    yield from within(model.graph.node)
    for f in model.functions:
        yield f.node, f
        yield from within(f.node)


def bypass(nodes, whose, k, operand):
    """Takes node k away; False where it has no such operand."""
    node = nodes[k]
    if operand >= len(node.input) or not node.input[operand]:
        return False
    to = {name: node.input[operand] for name in node.output if name}
    if any((o if isinstance(o, str) else o.name) in to for o in whose.output):
        node.CopyFrom(helper.make_node("Identity", [node.input[operand]], [node.output[0]])) if node.op_type != "Identity" and len(to) == 1 else None
        return node.op_type == "Identity"
    del nodes[k]
    for reader in nodes:
        reader.input[:] = [to.get(name, name) for name in reader.input]
        for body in bodies_of(reader):
            rename(body, to)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("--castnet", required=True, type=Path)
    parser.add_argument("-o", "--output", required=True, type=Path)
    parser.add_argument("--rtol", default="1e-3")
    parser.add_argument("--atol", default="1e-4")
    parser.add_argument("--check", action="append", default=[], metavar="OPTION")
    options = parser.parse_args()
    np.seterr(all="ignore")
    reducer = Reducer(options.castnet, ["--rtol", options.rtol, "--atol", options.atol, *options.check], options.case)
    small = reducer.reduce()
    if small is None:
        raise SystemExit("castnet does nothing wrong here")
    print(f"{reducer.fault[0]} {reducer.fault[1]}: {len(reducer.model.graph.node)} nodes become {len(small.graph.node)}")
    shutil.rmtree(options.output, ignore_errors=True)
    reducer.write(small, options.output)
    write_tolerance(options.output, float(options.rtol), float(options.atol))
    print(onnx.printer.to_text(small))
    return 0


if __name__ == "__main__":
    sys.exit(main())
