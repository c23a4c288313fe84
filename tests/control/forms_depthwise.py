"""A depthwise convolution and the pointwise one that reads it: what may become one step, and what may not."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random

ACTIVATIONS = {
    "": "  {y} = Identity ({x})\n",
    "relu": "  {y} = Relu ({x})\n",
    "clip": "  {y}_lo = Constant <value = float {{-0.5}}> ()\n  {y}_hi = Constant <value = float {{0.75}}> ()\n  {y} = Clip ({x}, {y}_lo, {y}_hi)\n",
    "hard_swish": "  {y} = HardSwish ({x})\n",
    "silu": "  {y}_s = Sigmoid ({x})\n  {y} = Mul ({x}, {y}_s)\n",
}


class Chain:
    """A graph's nodes and the weights that text would be too long for."""

    def __init__(self):
        self.nodes, self.weights = "", {}

    def conv(self, y, x, shape, group=1, strides=1, dilations=1, bias=True):
        reach = (shape[2] - 1) * dilations + 1
        self.weights[y + "_w"] = random(len(self.weights), *shape) / np.float32(np.sqrt(np.prod(shape[1:])))
        if bias:
            self.weights[y + "_b"] = random(50 + len(self.weights), shape[0]) * np.float32(0.25)
        attributes = f"group = {group}, strides = [{strides}, {strides}], dilations = [{dilations}, {dilations}], pads = [{', '.join([str(reach // 2)] * 4)}]"
        self.nodes += f"  {y} = Conv <{attributes}> ({x}, {y}_w{f', {y}_b' if bias else ''})\n"

    def act(self, name, y, x):
        self.nodes += ACTIVATIONS[name].format(y=y, x=x)

    def add(self, model):
        model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in self.weights.items())


def pair(chain, y, x, channels, out, kernel, strides=1, dilations=1, first="relu", second="relu"):
    chain.conv(y + "_d", x, (channels, 1, kernel, kernel), channels, strides, dilations, bias=kernel != 5)
    chain.act(first, y + "_a", y + "_d")
    chain.conv(y + "_p", y + "_a", (out, channels, 1, 1))
    chain.act(second, y, y + "_p")


def chain_of(*pairs, channels=32):
    chain = Chain()
    chain.conv("s", "x", (channels, 3, 3, 3), strides=2)
    chain.act("relu", "v0", "s")
    for k, p in enumerate(pairs):
        pair(chain, f"v{k + 1}", f"v{k}", *p)
    return chain


def form(name, chain, declared_in, declared_out, *calls):
    graph(name, f"f ({declared_in}) => ({declared_out}) {{\n{chain.nodes}}}", *calls, change=chain.add)


PAIRS = ((32, 64, 3), (64, 40, 3, 2, 1, "clip", "hard_swish"), (40, 96, 5, 1, 1, "silu"), (96, 33, 5, 2, 1, "hard_swish", ""), (33, 128, 7, 1, 1, ""), (128, 16, 3, 1, 2, "silu", "silu"),
         (16, 256, 3, 3, 1, "clip"))
form("depthwise_pairs", chain_of(*PAIRS), "float[2, 3, 97, 75] x", "float[2, 256, a, b] v7", {"x": random(1, 2, 3, 97, 75)})
form("depthwise_pairs_of_open_sizes", chain_of(*PAIRS), "float[n, 3, h, w] x", "float[n, 256, a, b] v7",
     *[{"x": random(2, *shape)} for shape in ((1, 3, 64, 80), (2, 3, 33, 17), (1, 3, 1, 1), (0, 3, 16, 16), (1, 3, 0, 8), (1, 3, 8, 0), (3, 3, 5, 100))])

# An inverted residual, one whose residual is the depthwise's own input, images that somebody else reads, too, and one that is a graph output.
residual = chain_of((32, 24, 3))
residual.conv("e", "v1", (144, 24, 1, 1))
residual.act("clip", "f", "e")
pair(residual, "g", "f", 144, 24, 3, second="")
residual.nodes += "  v2 = Add (g, v1)\n"
residual.conv("i_d", "v2", (24, 1, 3, 3), 24)
residual.act("relu", "i_a", "i_d")
residual.conv("i_p", "i_a", (24, 24, 1, 1))
residual.nodes += "  v3 = Add (i_p, v2)\n"
pair(residual, "k", "v3", 24, 48, 3)
residual.conv("l", "k_a", (48, 24, 1, 1))
residual.nodes += "  v4 = Add (k, l)\n"
residual.conv("m", "v4", (48, 1, 3, 3), 48)
residual.conv("o", "m", (64, 48, 1, 1))
form("depthwise_images_that_others_read", residual, "float[1, 3, 70, 58] x", "float[1, 64, a, b] o, float[1, 48, a, b] m", {"x": random(3, 1, 3, 70, 58)})

# Volumes whose depth is padded, or cropped, while the window has one slice: the slice that a result sees is another one.
volumes = Chain()
for name, channels, kernel, pads, strides in (("a", 2, 3, (1, 1, 1, 1, 1, 1), 1), ("b", 2, 5, (2, 2, 2, 0, 2, 2), 2), ("c", 2, 3, (0, 1, 1, 3, 1, 1), 2)):
    volumes.weights[name + "_w"] = random(len(name), channels, 1, 1, kernel, kernel)
    volumes.weights[name + "_b"] = random(9, channels)
    volumes.nodes += f"  {name} = Conv <group = 2, pads = [{', '.join(map(str, pads))}], strides = [1, {strides}, {strides}]> (x, {name}_w, {name}_b)\n"
form("depthwise_volumes_of_padded_depth", volumes, "float[1, 2, 3, 17, 9] x", "float[1, 2, 5, 17, 9] a, float[1, 2, 5, e, f] b, float[1, 2, 6, g, h] c", {"x": random(5, 1, 2, 3, 17, 9)})

# The same in a chain over blocks of channels.
blocks = Chain()
for name, shape in (("s", (32, 16, 3, 3, 3)), ("d", (32, 1, 1, 3, 3)), ("o", (48, 32, 1, 1, 1))):
    blocks.weights[name + "_w"] = random(shape[0], *shape) / np.float32(np.sqrt(np.prod(shape[1:])))
blocks.nodes = """  s = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, s_w)
  r = Relu (s)
  d = Conv <group = 32, pads = [2, 1, 1, 1, 1, 1]> (r, d_w)
  e = Relu (d)
  o = Conv (e, o_w)
"""
form("depthwise_volumes_of_padded_depth_in_blocks", blocks, "float[1, 16, 4, 12, 12] x", "float[1, 48, 7, 12, 12] o", {"x": random(6, 1, 16, 4, 12, 12)})

# Between the two a reshape: the pointwise convolution sees rows of another length.
def reshaped(shape):
    chain = Chain()
    chain.conv("v", "x", (128, 3, 3, 3))
    chain.act("relu", "v0", "v")
    chain.conv("d", "v0", (128, 1, 3, 3), 128)
    chain.act("relu", "a", "d")
    chain.nodes += f"  shape = Constant <value = int64[{len(shape)}] {{{', '.join(map(str, shape))}}}> ()\n  r = Reshape (a, shape)\n"
    chain.weights["o_w"] = random(7, 32, 128, *[1] * (len(shape) - 2))
    chain.nodes += "  o = Conv (r, o_w)\n"
    return chain


for name, shape in (("one_row", (1, 128, 2240)), ("turned", (1, 128, 40, 56))):
    declared = ", ".join(map(str, (1, 32, *shape[2:])))
    form(f"depthwise_and_a_reshape_{name}", reshaped(shape), "float[1, 3, 56, 40] x", f"float[{declared}] o", {"x": random(4, 1, 3, 56, 40)})
