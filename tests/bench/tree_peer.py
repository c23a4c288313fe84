#!/usr/bin/env python3
"""tl2cgen's code for a tree ensemble, built as a shared library: a peer of tests/bench/run.py.

  tree_peer.py MODEL.onnx FOLDER CC...

Writes FOLDER/trees.so. Needs the packages onnx, treelite and tl2cgen. A model that is something else than one TreeEnsembleRegressor of sums with one
target is an error.
"""
import subprocess
import sys
from pathlib import Path

import onnx
import tl2cgen
from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

OPERATORS = {"BRANCH_LEQ": "<=", "BRANCH_LT": "<", "BRANCH_GTE": ">=", "BRANCH_GT": ">"}
PARTS = 32  # files of an ensemble of more than 200 trees: in one it would take a compiler minutes


def attributes(path):
    graph = onnx.load(path).graph
    if len(graph.node) != 1 or graph.node[0].op_type != "TreeEnsembleRegressor":
        raise SystemExit("not one TreeEnsembleRegressor")
    found = {a.name: onnx.helper.get_attribute_value(a) for a in graph.node[0].attribute}
    if found.get("n_targets", 1) != 1 or found.get("aggregate_function", b"SUM") != b"SUM" or found.get("post_transform", b"NONE") != b"NONE":
        raise SystemExit("not sums of one target")
    return found, graph.input[0].type.tensor_type.shape.dim[1].dim_value


def build_model(path):
    import treelite
    a, features = attributes(path)
    weight = {(t, n): w for t, n, w in zip(a["target_treeids"], a["target_nodeids"], a["target_weights"])}
    trees = sorted(set(a["nodes_treeids"]))
    builder = ModelBuilder(threshold_type="float32", leaf_output_type="float32",
                           metadata=Metadata(num_feature=features, task_type="kRegressor", average_tree_output=False, num_target=1, num_class=[1], leaf_vector_shape=(1, 1)),
                           tree_annotation=TreeAnnotation(num_tree=len(trees), target_id=[0] * len(trees), class_id=[0] * len(trees)),
                           postprocessor=PostProcessorFunc(name="identity"), base_scores=[float(a.get("base_values", [0.0])[0])])
    of_tree = {t: [] for t in trees}
    for i, t in enumerate(a["nodes_treeids"]):
        of_tree[t].append(i)
    for t in trees:
        builder.start_tree()
        for i in of_tree[t]:
            mode, node = a["nodes_modes"][i].decode(), a["nodes_nodeids"][i]
            builder.start_node(node)
            if mode == "LEAF":
                builder.leaf(weight[t, node])
            else:
                builder.numerical_test(feature_id=a["nodes_featureids"][i], threshold=a["nodes_values"][i], default_left=False, opname=OPERATORS[mode],
                                       left_child_key=a["nodes_truenodeids"][i], right_child_key=a["nodes_falsenodeids"][i])
            builder.end_node()
        builder.end_tree()
    return builder.commit(), len(trees)


def main():
    folder = Path(sys.argv[2])
    model, n_trees = build_model(sys.argv[1])
    tl2cgen.generate_c_code(model, dirpath=str(folder), params={"parallel_comp": PARTS if n_trees > 200 else 0})
    sources = sorted(str(s) for s in folder.glob("*.c"))
    return subprocess.run([*sys.argv[3:], "-O2", "-shared", "-fPIC", "-o", str(folder / "trees.so"), *sources, "-lm"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
