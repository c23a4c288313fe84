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
