"""Depthwise convolutions between tokens, [image][pixel][channel]: those that read and write them in place, and those that must not."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


class Tokens:
    """A graph's nodes and the weights that text would be too long for."""

    def __init__(self):
        self.nodes, self.weights = "", {}

    def constant(self, name, *values):
        self.nodes += f"  {name} = Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> ()\n"

    def linear(self, y, x, k, n):
        self.weights[y + "_w"] = random(len(self.weights), k, n) / np.float32(np.sqrt(k))
        self.weights[y + "_b"] = random(60 + len(self.weights), n)
        self.nodes += f"  {y}_m = MatMul ({x}, {y}_w)\n  {y} = Add ({y}_m, {y}_b)\n"

    def image(self, y, x, images, height, width, channels):
        """Tokens as an image, channels first."""
        self.constant(y + "_shape", images, height, width, channels)
        self.nodes += f"  {y}_r = Reshape ({x}, {y}_shape)\n  {y} = Transpose <perm = [0, 3, 1, 2]> ({y}_r)\n"

    def tokens(self, y, x, images, pixels, channels):
        self.constant(y + "_shape", images, pixels, channels)
        self.nodes += f"  {y}_t = Transpose <perm = [0, 2, 3, 1]> ({x})\n  {y} = Reshape ({y}_t, {y}_shape)\n"

    def depthwise(self, y, x, channels, kernel, strides=1, pad=None):
        self.weights[y + "_w"] = random(len(self.weights), channels, 1, kernel, kernel) / np.float32(kernel)
        self.weights[y + "_b"] = random(80 + len(self.weights), channels)
        pads = ", ".join([str(kernel // 2 if pad is None else pad)] * 4)
        self.nodes += f"  {y} = Conv <group = {channels}, strides = [{strides}, {strides}], pads = [{pads}]> ({x}, {y}_w, {y}_b)\n"

    def gelu(self, y, x):
        self.nodes += f"  {y}_s = Sigmoid ({x})\n  {y} = Mul ({x}, {y}_s)\n"

    def add(self, model):
        model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in self.weights.items())


def form(name, t, declared_in, declared_out, *calls):
    graph("tokens_" + name, f"f ({declared_in}) => ({declared_out}) {{\n{t.nodes}}}", *calls, change=t.add)


def size(n, kernel, strides, pad):
    return (n + 2 * pad - kernel) // strides + 1


def mlp(images, height, width, channels, kernel, strides=1, pad=None, hidden=48):
    """A transformer's feed-forward part with a convolution within."""
    t = Tokens()
    pad = kernel // 2 if pad is None else pad
    t.linear("a", "x", 32, channels)
    t.image("i", "a", images, height, width, channels)
    t.depthwise("d", "i", channels, kernel, strides, pad)
    t.gelu("g", "d")
    pixels = size(height, kernel, strides, pad) * size(width, kernel, strides, pad)
    t.tokens("k", "g", images, pixels, channels)
    t.linear("y", "k", channels, hidden)
    return t, f"float[{images}, {height * width}, 32] x", f"float[{images}, {pixels}, {hidden}] y", {"x": random(7, images, height * width, 32)}


# Windows, strides, images, blocks; one column, one row; channels that are no whole blocks; a crop.
for name, shape in {"3x3": (1, 14, 14, 128, 3), "3x3_images": (3, 9, 17, 64, 3), "3x3_stride": (2, 15, 11, 64, 3, 2), "5x5": (1, 12, 20, 48, 5), "5x5_stride": (1, 13, 12, 32, 5, 2),
                    "7x7": (2, 10, 9, 96, 7), "one_block": (1, 8, 8, 16, 3), "column": (1, 40, 1, 64, 3), "row": (1, 1, 40, 64, 3), "part_of_a_block": (1, 9, 9, 40, 3), "crop": (1, 9, 9, 64, 3, 1, 0),
                    "wide_pad": (1, 9, 9, 64, 3, 1, 2)}.items():
    form(name, *mlp(*shape))

# A convolution's own input added to its result, and another sum.
own = Tokens()
own.linear("a", "x", 32, 64)
own.image("i", "a", 1, 12, 13, 64)
own.depthwise("d", "i", 64, 3)
own.nodes += "  s = Add (d, i)\n"
own.tokens("k", "s", 1, 156, 64)
own.linear("y", "k", 64, 32)
form("own_input_added", own, "float[1, 156, 32] x", "float[1, 156, 32] y", {"x": random(3, 1, 156, 32)})

other = Tokens()
other.linear("a", "x", 32, 64)
other.linear("b", "x", 32, 64)
other.image("i", "a", 1, 12, 13, 64)
other.image("j", "b", 1, 12, 13, 64)
other.depthwise("d", "i", 64, 5)
other.nodes += "  s = Add (d, j)\n  p = Mul (s, j)\n"
other.tokens("k", "p", 1, 156, 64)
other.linear("y", "k", 64, 32)
form("others_added_and_multiplied", other, "float[1, 156, 32] x", "float[1, 156, 32] y", {"x": random(4, 1, 156, 32)})

# A scale for each channel behind the activation, which a result in tokens does not do.
scale = Tokens()
scale.linear("a", "x", 32, 64)
scale.image("i", "a", 1, 12, 13, 64)
scale.depthwise("d", "i", 64, 3)
scale.gelu("g", "d")
scale.weights["c"] = random(5, 1, 64, 1, 1)
scale.nodes += "  s = Mul (g, c)\n"
scale.depthwise("e", "s", 64, 3)
scale.gelu("f", "e")
scale.weights["b"] = random(15, 1, 64, 1, 1)
scale.nodes += "  h = Mul (f, b)\n"
scale.tokens("k", "h", 1, 156, 64)
scale.linear("y", "k", 64, 32)
form("scale_between_two", scale, "float[1, 156, 32] x", "float[1, 156, 32] y", {"x": random(5, 1, 156, 32)})

# Some of the tokens' channels, from any on, whose results go where others lie beside them; the graph's own input and output.
parts = Tokens()
parts.linear("a", "x", 32, 117)
parts.constant("sizes", 37, 32, 48)
parts.nodes += "  p, q, r = Split <axis = 2> (a, sizes)\n"
parts.image("i", "r", 2, 7, 11, 48)
parts.depthwise("d", "i", 48, 7)
parts.tokens("k", "d", 2, 77, 48)
parts.nodes += "  y = Concat <axis = 2> (q, k, p)\n"
form("parts", parts, "float[2, 77, 32] x", "float[2, 77, 117] y", {"x": random(6, 2, 77, 32)})

ends = Tokens()
ends.image("i", "x", 2, 9, 8, 32)
ends.depthwise("d", "i", 32, 3)
ends.tokens("y", "d", 2, 72, 32)
form("ends_of_the_graph", ends, "float[2, 72, 32] x", "float[2, 72, 32] y", {"x": random(8, 2, 72, 32)})

# Two readers of a result, of an input; a result that is padded, transposed otherwise; channels in another order.
twice = Tokens()
twice.linear("a", "x", 32, 64)
twice.image("i", "a", 1, 10, 10, 64)
twice.depthwise("d", "i", 64, 3)
twice.depthwise("e", "i", 64, 5)
twice.tokens("k", "d", 1, 100, 64)
twice.tokens("l", "e", 1, 100, 64)
twice.linear("y", "k", 64, 32)
twice.linear("z", "k", 64, 16)
twice.linear("w", "l", 64, 16)
form("twice", twice, "float[1, 100, 32] x", "float[1, 100, 32] y, float[1, 100, 16] z, float[1, 100, 16] w, float[1, 64, 10, 10] e", {"x": random(9, 1, 100, 32)})

padded = Tokens()
padded.linear("a", "x", 32, 64)
padded.image("i", "a", 1, 10, 10, 64)
padded.depthwise("d", "i", 64, 3)
padded.tokens("k", "d", 1, 100, 64)
padded.constant("pads", 0, 1, 16, 0, 2, 0)
padded.nodes += "  y = Pad (k, pads)\n  t = Transpose <perm = [0, 2, 3, 1]> (d)\n  z = Transpose <perm = [0, 2, 1, 3]> (t)\n"
form("padded_and_turned", padded, "float[1, 100, 32] x", "float[1, 103, 80] y, float[1, 10, 10, 64] z", {"x": random(10, 1, 100, 32)})

shuffled = Tokens()
shuffled.linear("a", "x", 32, 64)
shuffled.constant("split", 1, 10, 10, 32, 2)
shuffled.constant("joined", 1, 10, 10, 64)
shuffled.nodes += """  b = Reshape (a, split)
  c = Transpose <perm = [0, 1, 2, 4, 3]> (b)
  e = Reshape (c, joined)
  i = Transpose <perm = [0, 3, 1, 2]> (e)
"""
shuffled.depthwise("d", "i", 64, 3)
shuffled.nodes += "  f = Transpose <perm = [0, 2, 3, 1]> (d)\n  g = Reshape (f, split)\n  h = Transpose <perm = [0, 1, 2, 4, 3]> (g)\n  y = Reshape (h, joined)\n"
form("channels_in_another_order", shuffled, "float[1, 100, 32] x", "float[1, 10, 10, 64] y", {"x": random(11, 1, 100, 32)})
