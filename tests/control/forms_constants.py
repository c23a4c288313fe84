"""What a pass computes of constants is what the call computes of an input of the same content."""
import ml_dtypes
import numpy as np
from onnx import numpy_helper

from case_list import f32, graph

# ---- short integers ----
FAR = f32([300, -300, 1000.7, -1, -9, -8.5, 7.9, 8, 15, 16, 17, 3, 2, 1, 0, -0.5] * 20)  # more than are followed while a model is imported


def low_bits(values, bits, signed):
    """As docs/NUMERICS.md has it: rounded to zero, then the low bits."""
    kept = np.trunc(values).astype(np.int64) & (1 << bits) - 1
    return kept - ((kept >> bits - 1 & 1) << bits) if signed else kept


def far_cast(name, opset, ir, bits, signed, unsigned):
    text = ", ".join(f"{v:g}" if v % 1 else f"{v:.1f}" for v in FAR.tolist())
    graph(f"cast_of_a_constant_to_{name}", f"""
f (float[n] x) => (int8[a] s, uint8[b] u, int8[c] s_called, uint8[d] u_called) {{
  far = Constant <value = float[{len(FAR)}] {{{text}}}> ()
  short = Cast <to = {signed}> (far)
  s = Cast <to = 3> (short)
  ushort = Cast <to = {unsigned}> (far)
  u = Cast <to = 2> (ushort)
  called = Cast <to = {signed}> (x)
  s_called = Cast <to = 3> (called)
  ucalled = Cast <to = {unsigned}> (x)
  u_called = Cast <to = 2> (ucalled)
}}""", {"x": FAR}, opset=opset, ir=ir, expect=lambda x: [low_bits(x, bits, True).astype(np.int8), low_bits(x, bits, False).astype(np.uint8)] * 2)


far_cast("4_bits", 21, 10, 4, 22, 21)
far_cast("2_bits", 25, 13, 2, 26, 25)

WEIGHTS = np.random.default_rng(7).normal(0, 2, (16, 20)).astype(np.float32)  # many beyond 15 quarters
graph("weights_quantised_to_4_bits", f"""
f (float[n, 16] x) => (float[n, 20] y, float[n, 20] z) {{
  w = Constant <value = float[16, 20] {{{", ".join(f"{v:.4f}" for v in WEIGHTS.ravel().tolist())}}}> ()
  scale = Constant <value = float {{0.25}}> ()
  zero = Constant <value = int4 {{1}}> ()
  uzero = Constant <value = uint4 {{9}}> ()
  q = QuantizeLinear (w, scale, zero)
  d = DequantizeLinear (q, scale, zero)
  y = MatMul (x, d)
  uq = QuantizeLinear (w, scale, uzero)
  ud = DequantizeLinear (uq, scale, uzero)
  z = MatMul (x, ud)
}}""", {"x": np.eye(16, dtype=np.float32)}, opset=21, ir=10,
      expect=lambda x: [x @ ((np.clip(np.rint(np.round(WEIGHTS, 4) / 0.25) + zero, low, low + 15) - zero) * 0.25).astype(np.float32)
                        for zero, low in ((1, -8), (9, 0))])

# ---- sums in half precision ----

def cumulated(half, to, dtype):
    graph(f"cumulated_{half}_beyond_its_whole_numbers", f"""
f (float[n] x) => (float[a] folded, float[b] called) {{
  size = Constant <value = int64[1] {{3000}}> ()
  axis = Constant <value = int64 {{0}}> ()
  one = Constant <value = float {{1.0}}> ()
  half = Cast <to = {to}> (one)
  ones = Expand (half, size)
  sums = CumSum (ones, axis)
  folded = Cast <to = 1> (sums)
  x16 = Cast <to = {to}> (x)
  x_sums = CumSum (x16, axis)
  called = Cast <to = 1> (x_sums)
}}""", {"x": np.ones(3000, np.float32)}, opset=14, expect=lambda x: [np.cumsum(x).astype(dtype).astype(np.float32)] * 2)


cumulated("float16", 10, np.float16)
cumulated("bfloat16", 16, ml_dtypes.bfloat16)

# ---- weights that are computed: too large for each result on the way to be kept ----
LARGE = {"w": np.random.default_rng(8).normal(0, 2, (72, 96)).astype(np.float32), "s": np.random.default_rng(9).normal(0, 1, (72, 1)).astype(np.float32)}
graph("weights_scaled_shifted_turned", """
f (float[n, 96] x, float[3, 96, 72] z) => (float[n, 72] y, float[a, b] centred, float[3, c, d] added) {
  low = ReduceMean <axes = [1]> (w)
  centre = Sub (w, low)
  scaled = Mul (centre, s)
  bent = Tanh (scaled)
  turned = Transpose <perm = [1, 0]> (bent)
  y = MatMul (x, turned)
  centred = Add (centre, s)
  raised = Abs (turned)
  shape = Constant <value = int64[3] {3, 96, 72}> ()
  many = Expand (raised, shape)
  added = Add (many, z)
}""", {"x": np.eye(3, 96, 5, dtype=np.float32), "z": np.ones((3, 96, 72), np.float32)},
      change=lambda model: model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in LARGE.items()))

# ---- what is computed of constants alone, beside the same of an input ----
GRID = {"p": np.random.default_rng(10).normal(0, 1, (60, 2)), "v": np.random.default_rng(11).normal(0, 1, (2, 48)), "u": np.random.default_rng(12).normal(0, 1, (48, 7)),
        "c": np.random.default_rng(13).normal(0, 1, (3, 1, 9, 5)), "d": np.random.default_rng(14).normal(0, 1, (4, 5, 11)), "g": np.random.default_rng(15).normal(1, 1, 48)}
INTEGERS = {"i": np.random.default_rng(16).integers(-9, 9, (2, 7, 40), np.int32), "j": np.random.default_rng(17).integers(-9, 9, (2, 40, 3), np.int32)}


def with_constants(arrays):
    return lambda model: model.graph.initializer.extend(numpy_helper.from_array(v if v.dtype == np.int32 else v.astype(np.float32), k) for k, v in arrays.items())


graph("products_of_constants", """
f (float x) => (float[60, 7] y, float[3, 4, 9, 11] z, float[60, 48] w, int32[2, 7, 3] n) {
  h = MatMul (p, v)
  a = Relu (h)
  s = MatMul (a, u)
  t = Softmax <axis = 0> (s)
  y = Add (t, x)
  b = MatMul (c, d)
  z = Mul (b, x)
  l = LayerNormalization <axis = 1> (h, g)
  w = Sub (l, x)
  m = MatMul (i, j)
  k = Cast <to = 6> (x)
  n = Add (m, k)
}""", {"x": f32(0.0)}, {"x": f32(2.5)}, change=with_constants(GRID | INTEGERS))


def matrices(name, a, b, perm=None):
    """A product by a batch of constant matrices; every second of them has all its numbers in 16 bits."""
    turned = f"  t = Transpose <perm = [{', '.join(map(str, perm))}]> (b)\n" if perm else ""
    for half in (False, True):
        w = np.random.default_rng(len(name)).normal(0, 1, b)
        graph(f"constant_matrices_{name}{'_of_16_bits' if half else ''}", f"f (float[{', '.join(map(str, a))}] a) => (float y) {{\n{turned}  p = MatMul (a, {'t' if perm else 'b'})\n  y = Relu (p)\n}}",
              {"a": np.random.default_rng(len(name) + 1).normal(0, 1, [3 if d == "n" else d for d in a]).astype(np.float32)},
              change=with_constants({"b": w.astype(np.float16) if half else w}))


matrices("of_heads", (6, 20, 33), (6, 33, 70))
matrices("of_heads_of_images", ("n", 6, 20, 33), (6, 33, 70))
matrices("spread_over_rows", (2, 1, 20, 33), (3, 33, 70))
matrices("spread_over_columns", (2, 3, 20, 33), (2, 1, 33, 70))
matrices("of_one_row", (5, 1, 64), (5, 64, 40))
matrices("of_one_column", (5, 40, 64), (5, 64, 1))
matrices("turned", (4, 9, 32), (4, 100, 32), (0, 2, 1))
matrices("turned_heads", ("n", 4, 9, 32), (100, 4, 32), (1, 2, 0))
