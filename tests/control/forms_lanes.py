"""GELU as exporters write it and as one operator, and tanh, which vectors compute by tables: over axes of all lengths, in and behind other loops, twice, reduced, open."""
import numpy as np

from case_list import graph, random

GELU = """
  {y}_q = Div ({x}, root)
  {y}_e = Erf ({y}_q)
  {y}_p = Add ({y}_e, one)
  {y}_m = Mul ({x}, {y}_p)
  {y} = Mul ({y}_m, half)
"""
NUMBERS = """
  root = Constant <value = float {1.41421354}> ()
  one = Constant <value = float {1.0}> ()
  half = Constant <value = float {0.5}> ()
"""


def gelu(y, x):
    return GELU.format(y=y, x=x)


def numbers(*shape):
    return random(len(shape) + shape[-1], *shape) * np.float32(2)


def form(name, inputs, outputs, body, *calls):
    graph(name, f"f ({inputs}) => ({outputs}) {{{NUMBERS}{body}}}", *calls)


def constant(name, *values):
    return f"  {name} = Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> ()\n"


def filled(name, value, *shape):
    return constant(f"{name}_shape", *shape) + f"  {name} = ConstantOfShape <value = float[1] {{{value}}}> ({name}_shape)\n"


def declared(prefix, shapes):
    return ", ".join(f"float[{','.join(map(str, s))}] {prefix}{k}" for k, s in enumerate(shapes))


SHAPES = [(1,), (3,), (7,), (16,), (17,), (64,), (100,), (5, 3), (4, 7), (3, 16), (2, 20), (3, 48), (2, 64), (2, 80), (3, 101), (2, 3, 4, 8), (0,), (3, 0)]
form("gelu_of_axes_of_all_lengths", declared("x", SHAPES), declared("y", SHAPES), "".join(gelu(f"y{k}", f"x{k}") for k in range(len(SHAPES))),
     {f"x{k}": numbers(*s) for k, s in enumerate(SHAPES)})
form("gelu_between_other_steps", "float[5,70] x, float[70] c, float[5,1] r", "float[70,5] a, float[5,70] b, float[5,35] d",
     "\n  s = Add (x, c)\n" + gelu("g", "s") + "\n  a = Transpose (g)\n  t = Mul (x, r)\n" + gelu("h", "t") + gelu("b", "h")
     + constant("from", 0) + constant("to", 70) + constant("axis", 1) + constant("two", 2) + "  z = Slice (x, from, to, axis, two)\n" + gelu("d", "z"),
     {"x": numbers(5, 70), "c": numbers(70), "r": numbers(5, 1)})
form("gelu_reduced", "float[6,50] x, float[40,3] z", "float[6] a, float[3] b, float[50] d", gelu("g", "x") + gelu("h", "z") + """
  a = ReduceMean <keepdims = 0, axes = [1]> (g)
  b = ReduceMax <keepdims = 0, axes = [0]> (h)
  d = ReduceMean <keepdims = 0, axes = [0]> (g)
""", {"x": numbers(6, 50), "z": numbers(40, 3)})
form("gelu_behind_products", "float[9,20] x, float[1,3,11,13] v", "float[9,33] a, float[1,20,11,13] b, float[1,20,11,13] d",
     "\n" + filled("w", 0.125, 20, 33) + "  p = MatMul (x, w)\n" + gelu("a", "p") + filled("k", 0.0625, 20, 3, 3, 3) + "  q = Conv <pads = [1, 1, 1, 1]> (v, k)\n" + gelu("b", "q")
     + filled("l", 0.125, 20, 1, 3, 3) + "  o = Conv <pads = [1, 1, 1, 1], group = 20> (b, l)\n" + gelu("d", "o"), {"x": numbers(9, 20), "v": numbers(1, 3, 11, 13)})
form("gelu_of_open_sizes", "float[n,m] x", "float[n,m] y, float[n] s", gelu("y", "x") + constant("axis", 1) + "  s = ReduceSum <keepdims = 0> (y, axis)\n",
     *[{"x": numbers(n, m)} for n, m in ((1, 1), (3, 16), (4, 33), (2, 0), (5, 100))])

# One operator, whose values far below 0 are computed apart: none, some, all of a vector's.
def wide(*shape, low=-9.0, high=6.0):
    return np.random.default_rng(sum(shape)).uniform(low, high, shape).astype(np.float32)


def operator(name, *more, **calls):
    graph(name, *more, **calls, opset=20, ir=9)


TANH = ' <approximate = "tanh"> '
SHIFTS = ((-9.0, 6.0), (-4.6, 4.6), (-15.0, -4.7), (-0.5, 0.5))
operator("gelu_operator_of_axes_of_all_lengths", f"f ({declared('x', SHAPES)}) => ({declared('y', SHAPES)}) {{" + "".join(f"\n  y{k} = Gelu{(' ', TANH)[k % 2]}(x{k})" for k in range(len(SHAPES))) + "\n}",
         *[{f"x{k}": wide(*s, low=low, high=high) for k, s in enumerate(SHAPES)} for low, high in SHIFTS])
operator("gelu_operator_behind_products", "f (float[9,20] x, float[1,3,11,13] v) => (float[9,33] a, float[1,20,11,13] b, float[1,20,11,13] d, float[9] s) {\n" + filled("w", 0.125, 20, 33)
         + "  p = MatMul (x, w)\n  a = Gelu" + TANH + "(p)\n" + filled("k", 0.0625, 20, 3, 3, 3) + "  q = Conv <pads = [1, 1, 1, 1]> (v, k)\n  b = Gelu (q)\n" + filled("l", 0.125, 20, 1, 3, 3)
         + "  o = Conv <pads = [1, 1, 1, 1], group = 20> (b, l)\n  d = Gelu" + TANH + "(o)\n" + constant("axis", 1) + "  h = Gelu (x)\n  s = ReduceSum <keepdims = 0> (h, axis)\n}",
         *[{"x": wide(9, 20, low=low, high=high), "v": wide(1, 3, 11, 13, low=low, high=high)} for low, high in SHIFTS])
operator("gelu_operator_of_open_sizes", "f (float[n,m] x, float[n,m] z) => (float[n,m] y, float[n,m] w) {\n  y = Gelu <approximate = \"tanh\"> (x)\n  t = Mul (x, z)\n  w = Gelu (t)\n}",
         *[{"x": wide(n, m), "z": wide(n, m, low=-1.0, high=1.0)} for n, m in ((1, 1), (3, 16), (4, 33), (2, 0), (5, 100))])
operator("gelu_operator_reduced", """f (float[40,3,70] x, float[5,64,33] z, float[n,m] v) => (float[40,3] a, float[5,33] b, float[n] c, float[m] d, float[5,64] e) {
  last = Constant <value = int64[1] {2}> ()
  middle = Constant <value = int64[1] {1}> ()
  first = Constant <value = int64[1] {0}> ()
  g = Gelu (x)
  a = ReduceMean <keepdims = 0> (g, last)
  h = Gelu""" + TANH + """(z)
  b = ReduceSum <keepdims = 0> (h, middle)
  i = Gelu (v)
  c = ReduceMax <keepdims = 0> (i, middle)
  j = Gelu""" + TANH + """(v)
  d = ReduceSum <keepdims = 0> (j, first)
  k = Gelu (z)
  e = ReduceSum <keepdims = 0> (k, last)
}""", *[{"x": wide(40, 3, 70), "z": wide(5, 64, 33), "v": wide(*v)} for v in ((1, 1), (3, 16), (17, 33), (70, 5), (2, 150))])

operator("tanh_of_axes_of_all_lengths", f"f ({declared('x', SHAPES)}) => ({declared('y', SHAPES)}) {{" + "".join(f"\n  y{k} = Tanh (x{k})" for k in range(len(SHAPES))) + "\n}",
         *[{f"x{k}": wide(*s, low=low, high=high) for k, s in enumerate(SHAPES)} for low, high in ((-1.0, 1.0), (-10.0, 10.0))])
operator("tanh_behind_product_and_reduced", "f (float[9,20] x, float[n,m] z) => (float[9,33] a, float[9] s, float[n,m] d) {\n" + filled("w", 0.125, 20, 33) + "  p = MatMul (x, w)\n  e = Tanh (p)\n  a = Mul (e, p)\n"
         + constant("axis", 1) + "  h = Tanh (x)\n  s = ReduceSum <keepdims = 0> (h, axis)\n  t = Tanh (z)\n  g = Gelu (t)\n  d = Tanh (g)\n}",
         *[{"x": wide(9, 20), "z": wide(n, m)} for n, m in ((1, 1), (3, 16), (5, 100))])
