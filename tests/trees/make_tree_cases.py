#!/usr/bin/env python3
"""Write cases of tree ensembles with random trees: their shapes, comparisons, what NaN does, rows, targets.

  make_tree_cases.py -o DIR [--count N]

What has to come out is walked here, node by node, and summed in float32 in the order of the trees: castnet has to give the same bits on every
target, whichever way it finds the leaves. The layout is the official suite's, so that tests/conformance/run.py runs it.
"""
import argparse
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
import make_cases as suite  # noqa: E402

MODES = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
         "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}
ROWS = (1, 1, 2, 7, 8, 15, 16, 17, 31, 33, 70)


class Ensemble:
    """The attributes of a TreeEnsembleRegressor as they grow, and the trees as nested tuples: (feature, mode, value, tracks, yes, no) or
    [(target, weight)]."""

    def __init__(self, draw):
        self.draw = draw
        self.features = draw.choice((1, 3, 28, 32, 33, 80, 700))
        self.targets = draw.choice((1, 1, 1, 2, 3))
        self.modes = draw.choice((["BRANCH_LEQ"], ["BRANCH_LT"], ["BRANCH_GTE"], ["BRANCH_GT"], list(MODES)[:4], list(MODES)))
        self.tracks = draw.choice(((0,), (1,), (0, 1), (0, 1)))
        self.shape = draw.choice(("even", "even", "uneven", "large", "chain"))
        self.leaf_targets = draw.choice(("the tree's", "the tree's", "the tree's", "any", "many"))
        self.values = [draw.choice((draw.uniform(-2, 2), float(draw.randint(-2, 2)), -0.0, 1e-45, float("inf"))) for _ in range(30)]
        self.trees = [self.grow(self.size(), t % self.targets) for t in range(draw.choice((1, 2, 15, 16, 17, 40)))]

    def size(self):
        return {"even": self.draw.randint(1, 32), "uneven": self.draw.randint(2, 60), "large": self.draw.randint(33, 200), "chain": self.draw.randint(2, 70)}[self.shape]

    def grow(self, leaves, target):
        draw = self.draw
        if leaves == 1:
            others = {"the tree's": [target], "any": [draw.randrange(self.targets)], "many": list(range(self.targets))}[self.leaf_targets]
            return [(t, float(np.float32(draw.uniform(-1, 1)))) for t in others]
        left = {"even": leaves // 2, "chain": draw.choice((1, leaves - 1))}.get(self.shape, draw.randint(1, leaves - 1))
        value = float(np.float32(draw.choice(self.values)))
        return (draw.randrange(self.features), draw.choice(self.modes), value, draw.choice(self.tracks), self.grow(left, target), self.grow(leaves - left, target))

    def attributes(self):
        a = {f"nodes_{n}": [] for n in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids", "modes", "values", "missing_value_tracks_true")}
        a |= {f"target_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}
        for number, tree in enumerate(self.trees):
            order = [tree]  # node ids: the order of the walk by levels
            for node in order:
                order += [] if isinstance(node, list) else node[4:]
            place = {id(node): i for i, node in enumerate(order)}
            for i, node in enumerate(order):
                leaf = isinstance(node, list)
                row = (number, i, 0, 0, 0, "LEAF", 0.0, 0) if leaf else (number, i, node[0], place[id(node[4])], place[id(node[5])], *node[1:4])
                for key, value in zip(list(a)[:8], row):
                    a[key].append(value)
                for target, weight in node if leaf else []:
                    for key, value in zip(list(a)[8:], (number, i, target, weight)):
                        a[key].append(value)
        return a

    def inputs(self):
        draw = self.draw
        x = np.array([[draw.choice((draw.uniform(-3, 3), draw.choice(self.values))) for _ in range(self.features)] for _ in range(draw.choice(ROWS))], np.float32)
        if draw.random() < 0.6:
            x[draw.randrange(len(x)), draw.randrange(self.features)] = np.nan
        if draw.random() < 0.3:
            x[draw.randrange(len(x))] = np.nan
        return x

    def scores(self, x):
        y = np.zeros((len(x), self.targets), np.float32)
        for i, row in enumerate(x):
            for node in self.trees:
                while isinstance(node, tuple):
                    v = row[node[0]]
                    node = node[4] if MODES[node[1]](v, np.float32(node[2])) or (node[3] and v != v) else node[5]
                for target, weight in node:
                    y[i, target] += np.float32(weight)
        return y


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=120)
    options = parser.parse_args()
    shutil.rmtree(options.out / "trees", ignore_errors=True)
    index = []
    for seed in range(options.count):
        e, name = Ensemble(random.Random(seed)), f"seed_{seed}"
        rows = "n" if e.draw.random() < 0.3 else None
        x = e.inputs()
        node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=e.targets, **e.attributes())
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows or len(x), width]) for n, width in (("x", e.features), ("y", e.targets))]
        model = helper.make_model(helper.make_graph([node], name, values[:1], values[1:]), opset_imports=[helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
        folder = options.out / "trees" / name
        folder.mkdir(parents=True)
        suite.write_message(folder / "model.onnx", model)
        calls = [x] if rows is None else [x, e.inputs()]
        for k, given in enumerate(calls):
            suite.write_data_set(folder / f"test_data_set_{k}", model.graph, [given], [e.scores(given)])
        index.append({"kind": "trees", "name": name, "rtol": 0, "atol": 0, "op": "TreeEnsembleRegressor", "ops": ["TreeEnsembleRegressor"]})
    (options.out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
