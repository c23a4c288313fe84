"""Convolutions of 3x3, each larger than the one before: the first does not bound what the scratch of the others may take."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CHANNELS = [1, 16, 32, 64, 64]
draw = np.random.RandomState(1)
weights = [numpy_helper.from_array(draw.uniform(-1, 1, (m, c, 3, 3)).astype(np.float32), f"w{i}") for i, (c, m) in enumerate(zip(CHANNELS, CHANNELS[1:]))]
nodes = []
for i, w in enumerate(weights):
    nodes.append(helper.make_node("Conv", [f"y{i}", w.name], [f"x{i}"], name=f"conv{i}", pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Relu", [f"x{i}"], [f"y{i + 1}"], name=f"relu{i}"))
nodes.append(helper.make_node("GlobalAveragePool", [f"y{len(weights)}"], ["y"], name="pool"))
image = helper.make_tensor_value_info("y0", TensorProto.FLOAT, [1, 1, 64, 64])
result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, CHANNELS[-1], 1, 1])
graph = helper.make_graph(nodes, "tiles", [image], [result], weights)
sys.stdout.buffer.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString())
