"""Channel shuffles behind grouped convolutions: what the convolution may write in turns itself, and what it may not."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


class Groups:
    """A graph's nodes and the constants that text would be too long for."""

    def __init__(self):
        self.nodes, self.constants = "", {}

    def conv(self, y, x, shape, group, strides=1, relu=True):
        """shape: [outputs][inputs of a group][taps...]"""
        taps = shape[2:]
        self.constants[y + "_w"] = random(len(self.constants), *shape) / np.float32(np.sqrt(np.prod(shape[1:])))
        self.constants[y + "_b"] = random(60 + len(self.constants), shape[0]) * np.float32(0.25)
        pads = [n // 2 for n in taps] * 2
        target = y + "_s" if relu else y
        self.nodes += f"  {target} = Conv <group = {group}, strides = {[strides] * len(taps)}, pads = {pads}> ({x}, {y}_w, {y}_b)\n"
        if relu:
            self.nodes += f"  {y} = Relu ({target})\n"

    def shuffle(self, y, x, split, joined, perm=(0, 2, 1, 3, 4)):
        """split: [images][groups][channels][pixels...]; joined: its shape again"""
        self.constants[y + "_split"], self.constants[y + "_joined"] = np.array(split, np.int64), np.array(joined, np.int64)
        self.nodes += f"  {y}_r = Reshape ({x}, {y}_split)\n  {y}_t = Transpose <perm = {list(perm)}> ({y}_r)\n  {y} = Reshape ({y}_t, {y}_joined)\n"

    def form(self, name, declared_in, declared_out, *calls, prefix="shuffle_"):
        def change(model):
            model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in self.constants.items())

        graph(prefix + name, f"f ({declared_in}) => ({declared_out}) {{\n{self.nodes}}}", *calls, change=change)


def unit(images, size, groups, channels, read_by=None):
    """A grouped 1x1 convolution, the shuffle, a depthwise convolution, another grouped one."""
    g, c = Groups(), groups * channels
    g.conv("a", "x", (c, 6, 1, 1), groups)
    g.shuffle("b", "a", (images, groups, channels, size, size), (images, c, size, size))
    g.conv("d", "b", (c, 1, 3, 3), c, strides=2, relu=False)
    g.conv("y", "d", (2 * groups, channels, 1, 1), groups, relu=False)
    if read_by:
        g.nodes += f"  z = {read_by}\n"
    return g


for name, images, size, groups, channels in (("unit", 1, 28, 4, 17), ("of_two_images", 2, 9, 3, 28), ("of_few_pixels", 1, 2, 8, 5), ("of_one_channel_a_group", 1, 8, 6, 1)):
    unit(images, size, groups, channels).form(name, f"float[{images}, {6 * groups}, {size}, {size}] x", f"float[{images}, {2 * groups}, h, w] y",
                                              {"x": random(images + size, images, 6 * groups, size, size)})
unit(1, 8, 4, 9, "Add (a, b)").form("unshuffled_too", "float[1, 24, 8, 8] x", "float[1, 8, 4, 4] y, float[1, 36, 8, 8] z", {"x": random(2, 1, 24, 8, 8)})
unit(1, 8, 4, 9, "Identity (b)").form("is_an_output", "float[1, 24, 8, 8] x", "float[1, 8, 4, 4] y, float[1, 36, 8, 8] z", {"x": random(3, 1, 24, 8, 8)})

back = Groups()  # [channels][groups] are not the convolution's own
back.conv("a", "x", (36, 6, 1, 1), 4)
back.shuffle("b", "a", (1, 9, 4, 8, 8), (1, 36, 8, 8))
back.conv("d", "b", (36, 1, 3, 3), 36)
back.shuffle("c", "d", (1, 2, 18, 8, 8), (1, 36, 8, 8))
back.conv("y", "c", (12, 9, 3, 3), 4)
back.form("of_other_groups", "float[1, 24, 8, 8] x", "float[1, 12, 8, 8] y", {"x": random(4, 1, 24, 8, 8)})

for images in (1, 2):  # into a part of a wider tensor
    part = Groups()
    part.conv("a", "x", (36, 6, 1, 1), 4)
    part.shuffle("b", "a", (images, 4, 9, 8, 8), (images, 36, 8, 8))
    part.conv("c", "x", (12, 24, 1, 1), 1)
    part.nodes += "  y = Concat <axis = 1> (c, b)\n"
    part.form(f"part_of_{images}", f"float[{images}, 24, 8, 8] x", f"float[{images}, 48, 8, 8] y", {"x": random(5, images, 24, 8, 8)})

added = Groups()
added.conv("s", "x", (24, 1, 3, 3), 24)
added.conv("a", "s", (24, 6, 1, 1), 4, relu=False)
added.nodes += "  r = Add (a, x)\n"
added.shuffle("b", "r", (1, 4, 6, 8, 8), (1, 24, 8, 8))
added.conv("y", "b", (24, 1, 3, 3), 24)
added.form("behind_a_sum", "float[1, 24, 8, 8] x", "float[1, 24, 8, 8] y", {"x": random(6, 1, 24, 8, 8)})

row = Groups()  # one dimension, another activation, pixels of a shuffle turned
row.conv("a", "x", (20, 3, 1), 5, relu=False)
row.nodes += "  e = Elu (a)\n"
row.shuffle("b", "e", (2, 5, 4, 33), (2, 20, 33), (0, 2, 1, 3))
row.conv("y", "b", (20, 1, 3), 20)
row.conv("f", "x", (20, 3, 1), 5)
row.shuffle("c", "f", (2, 5, 4, 3, 11), (2, 20, 33), (0, 2, 1, 4, 3))
row.conv("z", "c", (20, 1, 3), 20)
row.form("row", "float[2, 15, 33] x", "float[2, 20, 33] y, float[2, 20, 33] z", {"x": random(7, 2, 15, 33)})

for name, behind in (("triangle", "Trilu (a)"), ("triangle_of_relu", "Trilu <upper = 0> (a_r)")):  # what is behind the convolution asks for places
    cut = Groups()
    cut.conv("a", "x", (8, 4, 1), 2, relu=False)
    cut.nodes += f"  a_r = Relu (a)\n  t = {behind}\n"
    cut.shuffle("b", "t", (1, 2, 4, 20), (1, 8, 20), (0, 2, 1, 3))
    cut.conv("y", "b", (8, 1, 3), 8)
    cut.form(name, "float[1, 8, 20] x", "float[1, 8, 20] y", {"x": random(8, 1, 8, 20)})

sized = Groups()  # into a tensor whose size is known only behind the convolution
sized.conv("a", "x", (8, 4, 1), 2)
sized.constants |= {"split": np.array([1, 2, 4, 20], np.int64), "rest": np.array([4, 2, 20], np.int64), "half": np.array([[[[0.5]]]], np.float32)}
sized.nodes += """  r = Reshape (a, split)
  t = Transpose <perm = [0, 2, 1, 3]> (r)
  shape = Concat <axis = 0> (k, rest)
  more = Expand (half, shape)
  y = Concat <axis = 0> (t, more)
"""
sized.form("size_from_data", "float[1, 8, 20] x, int64[1] k", "float[m, 4, 2, 20] y", {"x": random(9, 1, 8, 20), "k": np.array([2], np.int64)})
