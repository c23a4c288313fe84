"""Products of one row or one column with a matrix that only the call knows, however it lies; of few rows by few constant columns; powers with constant exponents, of special numbers too."""
import numpy as np
from onnx import numpy_helper

from case_list import graph, random


def shape(s):
    return f"float[{', '.join(map(str, s))}]"


def product(name, a, b, perm_a=None, perm_b=None):
    nodes = "".join(f"  {t} = Transpose <perm = [{', '.join(map(str, p))}]> ({x})\n" for t, x, p in (("s", "a", perm_a), ("t", "b", perm_b)) if p)
    graph(f"thin_{name}", f"f ({shape(a)} a, {shape(b)} b) => (float y) {{\n{nodes}  p = MatMul ({'s' if perm_a else 'a'}, {'t' if perm_b else 'b'})\n  y = Relu (p)\n}}",
          {"a": random(len(name), *a), "b": random(len(name) + 1, *b)})


for depth in (1, 7, 64, 300, 2500):
    product(f"row_{depth}", (1, depth), (depth, 37))
    product(f"row_of_transposed_{depth}", (1, depth), (37, depth), None, (1, 0))
    product(f"column_{depth}", (37, depth), (depth, 1))
    product(f"column_of_transposed_{depth}", (depth, 37), (depth, 1), (1, 0))
    product(f"both_{depth}", (3, 1, depth), (3, depth, 1))
product("of_heads", (2, 1, 5, 32), (2, 40, 5, 32), (0, 2, 1, 3), (0, 2, 3, 1))
product("of_heads_back", (2, 5, 1, 40), (2, 40, 5, 32), None, (0, 2, 1, 3))
product("spread", (4, 1, 300), (300, 20))
product("vector", (300,), (300, 20))
product("of_vector", (4, 20, 300), (300,))
product("vectors", (300,), (300,))
special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-42, -1e-42, 3e38, -3e38, 1e-20, -1e20, 2.5, -7.25, 0.3, 1.0000001, -0.9999999], np.float32)


def power(x, exponent):
    with np.errstate(all="ignore"):
        return [np.power(x.astype(np.float64), np.full(x.shape, exponent)).astype(np.float32)]  # of an array: numpy takes a root for a number 1/2


for exponent in (-64, -9, -4, -3, -2, -1, -0.5, 0.5, 1, 4, 5, 9, 10, 31, 64, 65, 0):
    graph(f"thin_power_{exponent}", f"f (float[18] x) => (float[18] y) {{\n  e = Constant <value = float {{{float(exponent)}}}> ()\n  y = Pow (x, e)\n}}",
          {"x": special}, expect=lambda x, exponent=exponent: power(x, float(exponent)))
for order in (1, 2, 3):
    graph(f"thin_norm_{order}", f"f (float[2, 3, 9, 40] x) => (float[a, b, c, d] y) {{\n  y = LpPool <kernel_shape = [3, 3], p = {order}> (x)\n}}", {"x": random(order, 2, 3, 9, 40)})


def few_columns(m):
    """Constant columns, fewer and more than vectors have lanes, along depths that fill vectors or do not; in both layouts, and what may follow a product."""
    held, lines, names = {}, [], []
    for k in (1, 7, 30, 200):
        held[f"x{k}"] = random(k, m, k)
        for n in (1, 2, 3, 5, 8, 13, 16, 17):
            name = f"{k}_{n}"
            turned = n % 2
            held |= {f"w{name}": random(n, *((n, k) if turned else (k, n))), f"b{name}": random(n + 50, n)}
            lines += [f"p{name} = Gemm <transB = {turned}> (x{k}, w{name}, b{name})",
                      f"y{name} = {('Relu', 'Sigmoid', 'Identity')[n % 3]} (p{name})"]
            names.append(f"float y{name}")
    inputs = ", ".join(f"float[{m}, {k}] x{k}" for k in (1, 7, 30, 200))
    body = "\n  ".join(lines)
    graph(f"few_columns_of_{m}", f"f ({inputs}) => ({', '.join(names)}) {{\n  {body}\n}}", {k: v for k, v in held.items() if k[0] == "x"},
          change=lambda model: model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in held.items() if k[0] != "x"))


for rows in (1, 3, 8, 9):
    few_columns(rows)
