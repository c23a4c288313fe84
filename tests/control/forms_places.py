"""Elements assigned and taken at constant places that exporters expand along axes: whole tensors, boxes, steps, backwards, one place again and again."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


def form(name, shape, ranges, order=None, read=False, reduction="none", gather=False, cut=None):
    """ranges: the places along each axis, in the data's order; order: that of the axes of what is assigned; read: it depends on what was there; cut: an axis
    along which the places are put together of two parts."""
    rank, order = len(shape), order or list(range(len(shape)))
    ranges = [np.array(r, np.int64) for r in ranges]
    box = [len(ranges[a]) for a in order]
    constants, nodes, parts = {"last": np.array([-1], np.int64)}, "", []
    for a, places in enumerate(ranges):
        at = order.index(a)
        pieces = [places] if cut != a else [places[:2], places[2:]]
        for i, piece in enumerate(pieces):
            wanted = [len(piece) if k == at else n for k, n in enumerate(box)]
            constants[f"p{a}_{i}"] = piece.reshape([-1] + [1] * (rank - 1 - at))
            constants[f"s{a}_{i}"] = np.array(wanted, np.int64)
            nodes += f"  e{a}_{i} = Expand (p{a}_{i}, s{a}_{i})\n"
        joined = f"e{a}_0"
        if len(pieces) > 1:
            nodes += f"  j{a} = Concat <axis = {at}> (e{a}_0, e{a}_1)\n"
            joined = f"j{a}"
        nodes += f"  u{a} = Unsqueeze ({joined}, last)\n"
        parts.append(f"u{a}")
    nodes += f"  places = Concat <axis = -1> ({', '.join(parts)})\n"
    feeds = {"x": random(len(name), *shape)}
    declared = f"float[{', '.join(map(str, shape))}] x"
    if gather:
        nodes += "  y = GatherND (x, places)\n"
    else:
        declared += f", float[{', '.join(map(str, box))}] r"
        feeds["r"] = random(len(name) + 1, *box)
        if read:
            nodes += "  g = GatherND (x, places)\n"
        nodes += ("  t = Mul (g, r)\n" if read else "  t = Neg (r)\n") + f'  y = ScatterND <reduction = "{reduction}"> (x, places, t)\n'

    def change(model):
        model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in constants.items())

    graph("places_" + name, f"f ({declared}) => (float[...] y) {{\n{nodes}}}".replace("float[...] y", "float[" + ", ".join(f"d{k}" for k in range(rank)) + "] y"), feeds, change=change, opset=18)


def whole(shape):
    return [range(n) for n in shape]


form("whole", (2, 3, 20, 17), whole((2, 3, 20, 17)))
form("whole_read", (2, 3, 20, 17), whole((2, 3, 20, 17)), read=True)
form("whole_of_one", (1, 1, 9, 5), [[0], [-1], range(9), range(5)])
form("whole_turned", (2, 3, 20, 17), whole((2, 3, 20, 17)), order=[3, 1, 0, 2])
form("whole_backwards", (2, 3, 20, 17), [range(2), range(2, -1, -1), range(20), range(-1, -18, -1)])
form("whole_added", (2, 3, 20, 17), whole((2, 3, 20, 17)), reduction="add")
form("whole_in_parts", (2, 6, 20), whole((2, 6, 20)), cut=1)
form("box", (2, 3, 20, 17), [range(2), range(1, 3), range(1, 20), range(2, 16)], read=True)
form("box_turned", (2, 3, 20, 17), [range(2), range(1, 3), range(1, 20), range(2, 16)], order=[2, 3, 0, 1])
form("box_of_one", (4, 5), [[-1], [2]], read=True)
form("stepped", (3, 40, 33), [[0, 2], range(1, 40, 3), range(32, 0, -2)], read=True)
form("again_and_again", (4, 7), [[1, 1, 1], range(7)])
form("again_and_again_of_one", (1, 7), [[0, 0, 0], range(7)])
form("neither_range_nor_step", (6, 9), [[0, 3, 1, 5], range(9)], read=True)
form("box_multiplied", (6, 9), [range(2, 5), range(9)], reduction="mul")
form("taken", (3, 40, 33), [[0, 2], range(1, 40, 3), range(32, 0, -2)], gather=True)
