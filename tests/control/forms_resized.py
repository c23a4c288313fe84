"""Pointwise convolutions of resized images, alone and side by side with others, which compilers may compute before they resize: modes, orders, what else reads them."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


class Net:
    def __init__(self):
        self.nodes, self.constants = "", {"none": np.zeros(0, np.float32)}

    def resize(self, y, x, scales, mode="linear", coordinates="half_pixel"):
        self.constants[y + "_scales"] = np.array(scales, np.float32)
        self.nodes += f'  {y} = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}", nearest_mode = "floor"> ({x}, none, {y}_scales)\n'

    def conv(self, y, x, outputs, inputs, taps=(1, 1), bias=True):
        self.constants[y + "_w"] = random(len(self.constants), outputs, inputs, *taps) / np.float32(np.sqrt(inputs * np.prod(taps)))
        self.constants[y + "_b"] = random(len(self.constants) + 40, outputs)
        self.nodes += f"  {y} = Conv <pads = {[n // 2 for n in taps] * 2}> ({x}, {y}_w{', ' + y + '_b' if bias else ''})\n"

    def form(self, name, declared_in, declared_out, feeds):
        def change(model):
            model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in self.constants.items())

        graph("resized_" + name, f"f ({declared_in}) => ({declared_out}) {{\n{self.nodes}}}", feeds, change=change)


def alone(name, channels, shape, scales, outputs=24, images=1, inputs=None, **how):
    n = Net()
    n.resize("r", "x", scales, **how)
    n.conv("y", "r", outputs, inputs or channels, (1,) * len(shape))
    dims = ", ".join(f"d{k}" for k in range(len(shape) + 2))
    n.form(name, f"float[{images}, {channels}, {', '.join(map(str, shape))}] x", f"float[{dims}] y",
           {"x": random(len(name), images if isinstance(images, int) else 2, channels, *shape)})


alone("linear", 40, (7, 9), [1, 1, 2, 2])
alone("linear_aligned", 33, (6, 5), [1, 1, 3, 2], coordinates="align_corners")
alone("nearest", 48, (7, 9), [1, 1, 2, 2], mode="nearest", coordinates="asymmetric")
alone("cubic", 32, (6, 8), [1, 1, 2, 4], mode="cubic")
alone("down", 40, (12, 12), [1, 1, 0.5, 0.5])
alone("to_many_channels", 32, (5, 6), [1, 1, 2, 2], outputs=70)
alone("of_few_channels", 8, (5, 6), [1, 1, 2, 2])
alone("row", 40, (30,), [1, 1, 2.5])
alone("volume", 34, (3, 4, 5), [1, 1, 2, 2, 1])
alone("of_any_images", 40, (7, 9), [1, 1, 2, 2], images="n")
alone("channels_too", 20, (4, 4), [1, 2, 2, 2], inputs=40, mode="nearest", coordinates="asymmetric")


def between(name, node, inputs, **constants):
    """Something else between the resizing and the convolution."""
    n = Net()
    n.constants |= constants
    n.resize("r", "x", [1, 1, 2, 2])
    n.nodes += f"  m = {node}\n"
    n.conv("y", "m", 24, inputs)
    n.form(name, "float[2, 40, 6, 7] x", "float[p, q, r, s] y", {"x": random(len(name), 2, 40, 6, 7)})


between("scaled_by_channel", "Mul (r, f)", 40, f=random(4, 40, 1, 1))
between("scaled_by_channel_of_all_axes", "Mul (f, r)", 40, f=random(5, 1, 40, 1, 1))
between("scaled_by_place", "Mul (r, f)", 40, f=random(6, 12, 14))
between("scaled_by_one", "Mul (r, f)", 40, f=random(7, 1, 1, 1))
between("first_channels", "Slice (r, low, high, axis)", 34, low=np.array([0]), high=np.array([34]), axis=np.array([1]))
between("other_channels", "Slice (r, low, high, axis)", 36, low=np.array([4]), high=np.array([40]), axis=np.array([1]))
between("images_turned", "Slice (r, low, high, axis, step)", 40, low=np.array([-1]), high=np.array([-9]), axis=np.array([0]), step=np.array([-1]))
between("squared", "Mul (r, r)", 40)

HEAD = "float[1, 40, 16, 12] a, float[1, 36, 8, 6] b, float[1, 48, 4, 3] c"
FEEDS = {"a": random(1, 1, 40, 16, 12), "b": random(2, 1, 36, 8, 6), "c": random(3, 1, 48, 4, 3)}


def head(name, order, inputs, bias=True, more="", results="float[p, q, r, s] z", last="  z = Relu (y)\n"):
    n = Net()
    n.conv("d", "a", 40, 40, (3, 3))
    n.conv("e", "b", 36, 36)
    n.resize("u", "e", [1, 1, 2, 2])
    n.resize("v", "c", [1, 1, 4, 4], mode="nearest", coordinates="asymmetric")
    n.nodes += f"  t = Concat <axis = 1> ({', '.join(order)})\n"
    n.conv("y", "t", 32, inputs, bias=bias)
    n.nodes += more + last
    n.form(name, HEAD, results, FEEDS)


head("with_others", "duv", 124)
head("others_between", "udv", 124)
head("others_around", "duvd", 164)
head("none_else", "uv", 84)
head("none_else_no_bias", "vu", 84, bias=False)
head("read_twice", "duv", 124, more="  w = Neg (u)\n", results="float[p, q, r, s] z, float[g, h, i, j] w")
head("put_together_for_two", "duv", 124, more="  w = Abs (t)\n", results="float[p, q, r, s] z, float[g, h, i, j] w")
head("an_output_itself", "duv", 124, results="float[p, q, r, s] y", last="")
