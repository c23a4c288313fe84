"""Rows of constant tables: one-hot numbers multiplied by a matrix, by comparison and by operator, in and out of range; gathered rows and what is computed of them."""
import numpy as np

from case_list import graph, random, s64


def initializer(name, values, kind="float"):
    values = np.asarray(values)
    return f"{kind}[{','.join(map(str, values.shape))}] {name} = {{{', '.join(repr(float(v)) if kind == 'float' else str(v) for v in values.ravel())}}}"


W, V, BIAS = random(1, 5, 4), random(2, 4, 5), random(3, 4)
LIMITS = np.iinfo(np.int32)


def form(name, inputs, outputs, constants, body, *calls, **more):
    graph(name, f"f ({inputs}) => ({outputs}) <{', '.join(constants)}> {{{body}}}", *calls, **more)


def compared():
    return """
  u = Unsqueeze (ids, axis)
  e = Equal (u, range)
  h = Cast <to = 1> (e)
"""


def numbers(kind):
    return [initializer("range", [[0, 1, 2, 3, 4]], kind), "int64[1] axis = {-1}"]


form("rows_one_hot_by_comparison", "int32[n,6] ids", "float[n,6,4] y, float[n,6,4] z", [*numbers("int32"), initializer("w", W), initializer("bias", BIAS)],
     compared() + "  y = MatMul (h, w)\n  s = Add (y, bias)\n  z = Tanh (s)\n",
     {"ids": np.array([[0, 1, 4, 2, 3, 0]], np.int32)}, {"ids": np.array([[-1, 5, 6, LIMITS.min, LIMITS.max, 3], [1, 1, 0, -5, 4, 2]], np.int32)}, {"ids": np.zeros((0, 6), np.int32)})
form("rows_one_hot_alone", "int32[3] ids", "float[3,4] z", [*numbers("int32"), initializer("w", W), initializer("bias", BIAS)],
     compared() + "  y = MatMul (h, w)\n  s = Add (bias, y)\n  z = Relu (s)\n", {"ids": np.array([2, 9, -1], np.int32)})
for kind in ("uint8", "int8", "int64"):
    form(f"rows_one_hot_of_{kind}", f"{kind}[9] ids", "float[9,4] y", [*numbers(kind), initializer("w", W)], compared() + "  y = MatMul (h, w)\n",
         {"ids": np.array([0, 1, 2, 3, 4, 5, 127, -1, -5]).astype(kind)})
form("rows_one_hot_by_operator", "int64[2,4] ids", "float[2,4,4] y, float[2,4,5] h", ["int64 depth = {5}", "float[2] values = {0.0, 1.0}", initializer("w", W)],
     "\n  h = OneHot (ids, depth, values)\n  y = MatMul (h, w)\n", {"ids": s64([[0, 4, -1, -5], [5, -6, 2, 9]])})
form("rows_one_hot_by_columns", "int32[4] ids", "float[4,4] y", ["int64 depth = {5}", "float[2] values = {0.0, 1.0}", initializer("w", V), initializer("bias", BIAS)],
     "\n  h = OneHot (ids, depth, values)\n  y = Gemm <transB = 1> (h, w, bias)\n", {"ids": np.array([3, -2, 7, 0], np.int32)})
form("rows_one_hot_kept", "int64[5] ids", "float[5,4] a, float[5,4] b, float[5,4] c, float[4,4] d",
     ["int64 depth = {5}", "float[2] twos = {0.0, 2.0}", "float[2] values = {0.0, 1.0}", initializer("w", W), "int64[1] axis = {-1}", "int64[5] other = {0, 1, 3, 2, 4}", initializer("wide", random(4, 5, 4))],
     """
  h = OneHot (ids, depth, twos)
  a = MatMul (h, w)
  k = OneHot <axis = 0> (ids, depth, values)
  b = MatMul (k, w)
  u = Unsqueeze (ids, axis)
  e = Equal (u, other)
  f = Cast <to = 1> (e)
  c = MatMul (f, w)
  t = Transpose (f)
  g = MatMul (t, wide)
  from = Constant <value_ints = [1]> ()
  to = Constant <value_ints = [5]> ()
  first = Constant <value_ints = [0]> ()
  d = Slice (g, from, to, first)
""", {"ids": s64([4, 0, 3, 2, 2])})
form("rows_of_table_activated", "int64[b,7] ids", "float[b,7,4] y, float[b,7,4] z, float[b,7,4] p", [initializer("w", W), initializer("own", W + 1), initializer("bias", BIAS[None]), "float scale = {3.0}", initializer("at", random(5, 7, 4))],
     """
  g = Gather (w, ids)
  s = Mul (g, scale)
  t = Add (s, bias)
  y = Sigmoid (t)
  p = Add (t, at)
  v = Gather (own, ids)
  r = Exp (v)
  z = Div (bias, r)
""", {"ids": s64([[0, 1, 2, 3, 4, -1, -5]])}, {"ids": s64(np.arange(14).reshape(2, 7) % 5)})
