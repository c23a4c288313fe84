"""Convolutions over volumes whose windows do not overlap in depth, as embeddings of a video's patches: few channels, many, slices left over, what follows."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


def form(name, images, shape, outputs, kernel, strides, bias=True, rest="", result="y", pads=(0,) * 6):
    """shape: [channels][depth][height][width]"""
    held = {"w": random(len(name), outputs, shape[0], *kernel) / np.float32(np.sqrt(np.prod(kernel) * shape[0])), "b": random(len(name) + 1, outputs)}

    def change(model):
        model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in held.items())

    graph("slices_" + name, f"""
f (float[{images}, {', '.join(map(str, shape))}] x) => (float[p, q, r, s, t] {result}) {{
  y = Conv <kernel_shape = {list(kernel)}, strides = {list(strides)}, pads = {list(pads)}> (x, w{', b' if bias else ''})
{rest}}}""", {"x": random(len(name) + 2, images if isinstance(images, int) else 3, *shape)}, change=change)


form("patches", 1, (3, 4, 32, 48), 24, (2, 16, 16), (2, 16, 16))
form("of_images", 2, (3, 7, 20, 18), 18, (2, 3, 3), (2, 2, 1), pads=(0, 1, 1, 0, 1, 1))
form("of_any_images", "n", (1, 9, 12, 12), 17, (4, 4, 4), (4, 4, 4), bias=False)
form("left_over", 1, (2, 11, 9, 9), 16, (3, 3, 3), (3, 2, 2), rest="  z = Relu (y)\n", result="z")
form("one_window", 2, (3, 2, 10, 10), 8, (2, 3, 3), (2, 1, 1))
form("of_many_channels", 1, (16, 6, 10, 10), 16, (2, 2, 2), (2, 2, 2))
form("padded_in_depth", 1, (3, 5, 10, 10), 8, (2, 3, 3), (2, 1, 1), pads=(1, 0, 0, 0, 0, 0))
form("chained", 1, (3, 8, 18, 18), 16, (2, 3, 3), (2, 1, 1), rest="  a = Relu (y)\n  z = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (a)\n", result="z")
