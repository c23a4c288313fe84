"""Recurrent layers over each other, of known sizes: a wide one first, so that the workspace has room for what threads would need of the others."""
from case_list import graph, random
from onnx import numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def stacked(op, steps, batch, width, units):
    """Layers of both directions, each over what both directions of the one before gave."""
    lines, held, x, inner = [], {}, "x", width
    for k, n in enumerate(units):
        rows = GATES[op] * n
        held |= {f"w{k}": random(k, 2, rows, inner) / 4, f"r{k}": random(k + 10, 2, rows, n) / 8, f"b{k}": random(k + 20, 2, 2 * rows) / 4}
        lines += [f'h{k} = {op} <hidden_size = {n}, direction = "bidirectional"> ({x}, w{k}, r{k}, b{k})', f"t{k} = Transpose <perm = [0, 2, 1, 3]> (h{k})",
                  f"sizes{k} = Constant <value = int64[3] {{{steps}, {batch}, {2 * n}}}> ()", f"y{k} = Reshape (t{k}, sizes{k})"]
        x, inner = f"y{k}", 2 * n
    body = "\n  ".join(lines)
    graph(f"stacked_{op.lower()}_{batch}", f"f (float[{steps}, {batch}, {width}] x) => (float {x}) {{\n  {body}\n}}", {"x": random(30, steps, batch, width)},
          change=lambda model: model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in held.items()))


for name in GATES:
    stacked(name, 48, 1, 32, (128, 64))
stacked("LSTM", 20, 3, 32, (64, 24))
