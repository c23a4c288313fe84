"""Activations with parameters, judged in the model itself by the same formula in double: rounded once, where several roundings would show."""
import numpy as np

from case_list import f32, graph

SAMPLES = f32(np.concatenate([np.linspace(-40, 0, 4001), np.linspace(0, 20, 999), [-3e-5, -1e-20, 1e-20]]))
WITHIN = """
  exact = Cast <to = 11> (y)
  off = Sub (exact, wide)
  far = Abs (off)
  size = Abs (wide)
  allowed = Mul (size, part)
  bad = Greater (far, allowed)
  count = Cast <to = 7> (bad)
  wrong = ReduceSum <keepdims = 0> (count)
"""


def judged(name, operator, formula, opset=17, part=2**-23.95):
    """`formula` computes `wide` from `x64`. `part` of the value is the distance allowed: half a unit of the last place is 2^-24 of it at most."""
    graph(name, f"""
f (float[n] x) => (int64 wrong) {{
  y = {operator} (x)
  x64 = Cast <to = 11> (x)
  part = Constant <value = double {{{part!r}}}> ()
  {formula}
  {WITHIN}
}}""", {"x": SAMPLES}, opset=opset, ir=9, expect=lambda x: [np.array(0, np.int64)])


def number(name, value):
    return f"{name} = Constant <value = double {{{float(np.float32(value))!r}}}> ()\n"


EXPONENTIAL = """
  zero = Constant <value = double {0.0}> ()
  one = Constant <value = double {1.0}> ()
  half = Constant <value = double {0.5}> ()
  scaled = Div (x64, divisor)
  low = Min (scaled, zero)
  sinh_of = Mul (low, half)
  sinh = Sinh (sinh_of)
  root = Exp (sinh_of)
  two_sinh = Add (sinh, sinh)
  less = Mul (two_sinh, root)
  negative = Mul (less, factor)
  linear = Mul (x64, gain)
  above = Greater (x64, zero)
  wide = Where (above, linear, negative)
"""


def exponential(divisor, factor, gain):
    """e^u - 1 as 2 sinh(u / 2) e^(u / 2), which keeps small results."""
    return number("divisor", divisor) + f"factor = Constant <value = double {{{factor!r}}}> ()\n" + number("gain", gain) + EXPONENTIAL


SIGMOID = """
  scaled = Mul (x64, alpha)
  share = Sigmoid (scaled)
  wide = Mul (x64, share)
"""
judged("swish_with_alpha_rounded_once", "Swish <alpha = 1.702>", number("alpha", 1.702) + SIGMOID, opset=24)
judged("swish_within_one_ulp", "Swish", number("alpha", 1) + SIGMOID, opset=24, part=2**-23)
judged("elu_with_alpha_rounded_once", "Elu <alpha = 1.3>", exponential(1, float(np.float32(1.3)), 1))
judged("celu_with_alpha_rounded_once", "Celu <alpha = 0.7>", exponential(0.7, float(np.float32(0.7)), 1))
ALPHA, GAMMA = float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))
judged("selu_rounded_once", "Selu", exponential(1, ALPHA * GAMMA, GAMMA))

# ---- bounds that are no numbers, exponents that the base's type does not have ----
CLIPPED = f32(-1, 2, 9, np.nan, 5, -3)
graph("clip_by_bounds_that_are_nan", """
f (float[6] x, float lo, float hi) => (float[6] a, float[6] b, float[6] c, float[6] d) {
  nan = Constant <value = float {nan}> ()
  six = Constant <value = float {6.0}> ()
  a = Clip (x, lo, hi)
  b = Clip (x, nan, six)
  c = Clip (x, , nan)
  d = Clip (x, lo)
}""", *[{"x": CLIPPED, "lo": f32(lo).reshape(()), "hi": f32(hi).reshape(())} for lo, hi in ((np.nan, 6), (0, np.nan), (np.nan, np.nan), (0, 6))])

graph("powers_of_odd_exponents", """
f (float16[3] half, float[3] single, int32[3] y, int64[3] z) => (float16[3] a, float[3] b, float16[3] c, float[3] d) {
  odd = Constant <value = int64[3] {2049, 2050, 3}> ()
  large = Constant <value = int64[3] {16777217, 2, 16777218}> ()
  a = Pow (half, y)
  b = Pow (single, z)
  c = Pow (half, odd)
  d = Pow (single, large)
}""", {"half": np.array([-1, -1, -1.5], np.float16), "single": f32(-1, -1.5, -1), "y": np.array([2049, 4098, 3], np.int32), "z": np.array([16777217, 3, 16777218], np.int64)})
