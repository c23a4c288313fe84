"""Tensors without elements where windows, sums and routines meet them: what comes out is empty too, or the sum of nothing."""
import numpy as np
from case_list import graph, random

WINDOWS = """
f ({x}, float[2, 1, 3, 3] k) => (float[n, 1, a, b] most, float[n, 1, c, d] mean, float[n, 2, h, w] same, float[n, 1, h, w] each) {{
  most = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)
  mean = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x)
  same = Conv <pads = [1, 1, 1, 1]> (x, k)
  one = Constant <value = float[1, 1, 1, 1] {{2.0}}> ()
  each = Conv (x, one)
}}"""


def windows(x, k):
    n, _, h, w = x.shape
    assert x.size == 0
    return [np.zeros(shape, np.float32) for shape in ((n, 1, (h - 2) // 2 + 1 if h else 0, (w - 2) // 2 + 1 if w else 0), (n, 1, h // 2, w // 2), (n, 2, h, w), (n, 1, h, w))]


graph("windows_over_no_rows", WINDOWS.format(x="float[1, 1, 0, 5] x"), {"x": np.zeros((1, 1, 0, 5), np.float32), "k": random(1, 2, 1, 3, 3)}, expect=windows)
graph("windows_over_no_rows_or_columns_of_open_sizes", WINDOWS.format(x="float[n, 1, h, w] x"),
      *[{"x": np.zeros(shape, np.float32), "k": random(2, 2, 1, 3, 3)} for shape in ((1, 1, 0, 5), (2, 1, 7, 0), (0, 1, 5, 7))], expect=windows)

def convolved(x, value, m, side, group=1):
    """What a convolution of stride 1 with its input's size gives where all weights are one value."""
    n, c, h, w = x.shape
    padded = np.pad(x, [(0, 0), (0, 0), (side // 2,) * 2, (side // 2,) * 2])
    sums = sum(padded[:, :, i:i + h, j:j + w] for i in range(side) for j in range(side)).reshape(n, group, c // group, h, w).sum(axis=2)
    return np.repeat(value * sums, m // group, axis=1)


def layers(x):
    x = np.maximum(convolved(np.maximum(convolved(x, 0.125, 16, 3), 0), 0.0625, 32, 3), 0)
    return [convolved(np.maximum(convolved(x, 0.03125, 64, 1), 0), 0.5, 64, 3, 64)]


def filled(name, value, *shape):
    return f"float[{', '.join(map(str, shape))}] {name} = {{{', '.join([str(value)] * int(np.prod(shape)))}}}"


graph("layers_over_no_rows_columns_or_images", f"""
f (float[n, 3, h, w] x) => (float[n, 64, h, w] y)
  <{filled("k", 0.125, 16, 3, 3, 3)}, {filled("l", 0.0625, 32, 16, 3, 3)}, {filled("o", 0.03125, 64, 32, 1, 1)}, {filled("p", 0.5, 64, 1, 3, 3)}> {{
  a = Conv <pads = [1, 1, 1, 1]> (x, k)
  b = Relu (a)
  c = Conv <pads = [1, 1, 1, 1]> (b, l)
  d = Relu (c)
  e = Conv (d, o)
  g = Relu (e)
  y = Conv <pads = [1, 1, 1, 1], group = 64> (g, p)
}}""", *[{"x": random(5, *shape)} for shape in ((1, 3, 0, 8), (1, 3, 8, 0), (0, 3, 8, 8), (2, 3, 9, 7))], expect=layers)

PRODUCTS = """
f ({a}, {b}, {x}, {w}) => (int32[m, n] y, int32[o, p, q, r] z) {{
  y = MatMulInteger (a, b)
  z = ConvInteger (x, w)
}}"""


def products(a, b, x, w):
    z = np.zeros((x.shape[0], w.shape[0], x.shape[2] - 1, x.shape[3] - 1), np.int32)
    for i in range(2):
        for j in range(2):
            z += np.einsum("ncij,mc->nmij", x[:, :, i:i + z.shape[2], j:j + z.shape[3]].astype(np.int32), w[:, :, i, j].astype(np.int32))
    return [a.astype(np.int32) @ b.astype(np.int32), z]


def operands(depth):
    r = np.random.default_rng(depth)
    return {name: r.integers(0, 255, shape).astype(np.uint8) for name, shape in (("a", (2, depth)), ("b", (depth, 3)), ("x", (1, depth, 4, 5)), ("w", (2, depth, 2, 2)))}


graph("integer_products_of_no_depth", PRODUCTS.format(a="uint8[2, 0] a", b="uint8[0, 3] b", x="uint8[1, 0, 4, 5] x", w="uint8[2, 0, 2, 2] w"), operands(0), expect=products)
graph("integer_products_of_open_depth", PRODUCTS.format(a="uint8[2, k] a", b="uint8[k, 3] b", x="uint8[1, c, 4, 5] x", w="uint8[2, c, 2, 2] w"),
      operands(0), operands(5), expect=products)

graph("transform_of_no_signals", """
f (float[n, 4, 5, 2] x, int64 axis) => (float[n, a, b, 2] y) {
  y = DFT <inverse = 1> (x, "", axis)
}""", {"x": np.zeros((0, 4, 5, 2), np.float32), "axis": np.array(1, np.int64)}, {"x": random(3, 2, 4, 5, 2), "axis": np.array(2, np.int64)}, opset=20, ir=9)

graph("pads_of_other_axes_than_the_empty_one", """
f (float[0, 3, 4] x, int64[6] pads) => (float[a, b, c] edge, float[d, e, f] reflected) {
  edge = Pad <mode = "edge"> (x, pads)
  reflected = Pad <mode = "reflect"> (x, pads)
}""", {"x": np.zeros((0, 3, 4), np.float32), "pads": np.array([0, 1, 2, 0, 1, 0], np.int64)}, expect=lambda x, pads: [np.zeros((0, 5, 6), np.float32)] * 2)

graph("recurrent_layers_of_no_sequences", """
f (float[5, 0, 3] x) => (float[t, d, n, 4] y, float[d, n, 4] yh, float[t, d, n, 4] g, float[t, d, n, 4] l, float[d, n, 4] lc)
  <int64[3] ws = {1, 4, 3}, int64[3] rs = {1, 4, 4}, int64[3] gws = {1, 12, 3}, int64[3] grs = {1, 12, 4}, int64[3] lws = {1, 16, 3}, int64[3] lrs = {1, 16, 4}> {
  w = ConstantOfShape (ws)
  r = ConstantOfShape (rs)
  y, yh = RNN <hidden_size = 4> (x, w, r)
  gw = ConstantOfShape (gws)
  gr = ConstantOfShape (grs)
  g = GRU <hidden_size = 4> (x, gw, gr)
  lw = ConstantOfShape (lws)
  lr = ConstantOfShape (lrs)
  l, lh, lc = LSTM <hidden_size = 4> (x, lw, lr)
}""", {"x": np.zeros((5, 0, 3), np.float32)},
      expect=lambda x: [np.zeros(shape, np.float32) for shape in ((5, 1, 0, 4), (1, 0, 4), (5, 1, 0, 4), (5, 1, 0, 4), (1, 0, 4))])

# ---- what one side crops beyond the input, it takes from the other side's pad ----
def cropping_pads(x, z, image):
    def padded(a, *pads):  # by axis: front and end
        wide = np.pad(a, [(max(lo, 0), max(hi, 0)) for lo, hi in pads], constant_values=7)
        return wide[tuple(slice(max(-lo, 0), wide.shape[i] - max(-hi, 0)) for i, (lo, hi) in enumerate(pads))]
    strided = np.pad(image, [(0, 0), (0, 0), (2, 0), (2, 0)])[:, :, ::3, ::3] * 2
    return [padded(x, (3, -4)), padded(x, (-4, 3)), padded(z, (3, -4), (-5, 7)), strided]


graph("pads_that_crop_more_than_there_is", """
f (float[2] x, float[n, 3] z, double[1, 1, h, w] image) => (float[a] front, float[b] behind, float[c, d] open, double[1, 1, e, g] strided)
  <float seven = {7.0}, int64[2] p = {3, -4}, int64[2] q = {-4, 3}, int64[4] r = {3, -5, -4, 7}, double[1, 1, 1, 1] k = {2.0}> {
  front = Pad (x, p, seven)
  behind = Pad (x, q, seven)
  open = Pad (z, r, seven)
  strided = Conv <strides = [3, 3], pads = [2, 2, 0, 0]> (image, k)
}""", *[{"x": random(1, 2), "z": random(2, n, 3), "image": random(3, 1, 1, n, 2 * n - 1).astype(np.float64)} for n in (2, 1, 6)],
      expect=cropping_pads)
