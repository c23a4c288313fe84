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
