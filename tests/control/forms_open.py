"""Lists of open length: shapes, axes, bounds, indices, windows whose number or size another call changes."""
import numpy as np

from case_list import f32, graph, random


def ints(*values):
    return np.array(values, np.int64)


graph("expand_to_fewer_or_more_axes", """
f (float[3, 1] x, int64[n] shape) => (float[a, b] y) {
  y = Expand (x, shape)
}""", *[{"x": f32([[1], [2], [3]]), "shape": ints(*s)} for s in ((), (4,), (3, 2), (1, 5))])

graph("expand_to_the_declared_rank", """
f (float[2] x, int64[n] shape) => (float[a, b, c] y) {
  y = Expand (x, shape)
}""", *[{"x": f32(1, 2), "shape": ints(*s)} for s in ((3, 2, 2), (1, 1, 1))])

graph("reduce_over_any_number_of_axes", """
f (float[2, 3, 2] x, int64[n] axes) => (float[a, b, c] y, float[d, e, g] z) {
  y = ReduceSum (x, axes)
  z = ReduceSum <noop_with_empty_axes = 1> (x, axes)
}""", *[{"x": random(3, 2, 3, 2), "axes": ints(*a)} for a in ((), (1,), (-1, 0), (0, 1, 2))])

graph("reduce_to_the_declared_rank", """
f (float[2, 3, 2] x, int64[n] axes) => (float[a] y) {
  y = ReduceMax <keepdims = 0> (x, axes)
}""", *[{"x": random(4, 2, 3, 2), "axes": ints(*a)} for a in ((0, 2), (1, -1))], opset=18)

graph("reduce_all_named_or_not", """
f (float[2, 3] x, int64[n] axes) => (float y) {
  y = ReduceSum <keepdims = 0> (x, axes)
}""", *[{"x": random(5, 2, 3), "axes": ints(*a)} for a in ((), (1, 0))])

graph("slice_of_the_first_axes", """
f (float[4, 5] x, int64[n] first, int64[n] last) => (float[a, b] y) {
  y = Slice (x, first, last)
}""", *[{"x": random(6, 4, 5), "first": ints(*a), "last": ints(*b)} for a, b in (((), ()), ((1,), (3,)), ((1, -2), (9, 5)))])

graph("slice_of_named_axes", """
f (float[4, 5] x, int64[n] first, int64[n] last, int64[n] axes, int64[n] steps) => (float[a, b] y) {
  y = Slice (x, first, last, axes, steps)
}""", *[{"x": random(7, 4, 5), "first": ints(*a), "last": ints(*b), "axes": ints(*k), "steps": ints(*s)}
        for a, b, k, s in (((1,), (5,), (1,), (2,)), ((3, -1), (0, -9), (0, -1), (-1, -2)))])

graph("pad_of_named_axes", """
f (float[2, 3] x, int64[m] pads, float v, int64[n] axes) => (float[a, b] y) {
  y = Pad (x, pads, v, axes)
}""", *[{"x": random(8, 2, 3), "pads": ints(*p), "v": f32(2).reshape(()), "axes": ints(*a)} for p, a in (((1, 2), (-1,)), ((1, 0, 2, 1), (1, 0)))], opset=18)

graph("gather_tuples_of_the_declared_rank", """
f (float[3, 4, 5] x, int64[n, k] at) => (float[n, m] y) {
  y = GatherND (x, at)
}""", *[{"x": random(9, 3, 4, 5), "at": np.array(a, np.int64)} for a in ([[0, 1], [2, -1]], [[1, 3]])])

graph("windows_that_the_weights_bring", """
f (float[1, 2, 7, 8] x, float[m, 2, h, w] k, float[2, 3, h, w] t) => (float[1, m, a, b] y, float[1, m, 4, 4] same, float[1, 3, c, d] up) {
  y = Conv <pads = [1, 0, 1, 2], dilations = [1, 2]> (x, k)
  same = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, k)
  up = ConvTranspose <strides = [2, 1], output_padding = [1, 0]> (x, t)
}""", *[{"x": random(10, 1, 2, 7, 8), "k": random(11, m, 2, h, w), "t": random(12, 2, 3, h, w)} for m, h, w in ((2, 3, 2), (1, 1, 1), (4, 2, 3))])

graph("index_of_many_sizes", """
f (float[a, b, c, d, e, g] x) => (float[m, n, o, p, q, r] y) {
  two = Constant <value = int64[12] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}> ()
  wide = Pad (x, two)
  y = Transpose <perm = [5, 4, 3, 2, 1, 0]> (wide)
}""", *[{"x": random(13, *s)} for s in ((1, 2, 1, 3, 2, 1), (2, 1, 2, 1, 1, 3))])

MANY = 300


def names(letter, n=MANY):
    return [f"{letter}{i}" for i in range(n)]


def parts(seed, most, letter, shape):
    r = np.random.default_rng(seed)
    return {name: r.normal(size=shape(int(r.integers(0, most)))).astype(np.float32) for name in names(letter)}


graph("concatenation_of_hundreds_of_open_inputs", f"""
f ({", ".join(f"float[n{x}, 2] {x}" for x in names("x"))}) => (float[a, 2] y, float[a, a] g) {{
  c = Concat <axis = 0> ({", ".join(names("x"))})
  y = Add (c, c)
  t = Transpose (c)
  g = MatMul (c, t)
}}""", *[parts(k, 3, "x", lambda n: (n, 2)) for k in (14, 15)])

graph("product_of_sums_of_hundreds_of_open_sizes", f"""
f ({", ".join(f"float[n{x}] {x}" for x in names("x"))}, {", ".join(f"float[n{x}, 1] {x}" for x in names("z"))}) => (float[a] y, float[b] last) {{
  c = Concat <axis = 0> ({", ".join(names("x"))})
  d = Concat <axis = 0> ({", ".join(names("z"))})
  p = Mul (c, d)
  all = Constant <value = int64[1] {{-1}}> ()
  y = Reshape (p, all)
  end = Constant <value = int64[1] {{100000}}> ()
  first = Constant <value = int64[1] {{7}}> ()
  last = Slice (c, first, end)
}}""", {**parts(16, 2, "x", lambda n: (n,)), **parts(17, 2, "z", lambda n: (n, 1))})

graph("size_of_many_factors", f"""
f (float[n] x, {", ".join(f"int64[1] r{k}" for k in range(24))}) => (float[m] y) {{
  {chr(10).join(f"  t{k} = Tile ({f't{k - 1}' if k else 'x'}, r{k})" for k in range(24))}
  y = Identity (t23)
}}""", {"x": f32(1, 2), **{f"r{k}": ints(1 + (k % 6 == 0)) for k in range(24)}})

for mode, pads in (("edge", [[0, 1, 2, 0, 3, 4, 0, 0, 1, 2], [1, -1, 0, 2, 0, 0, 1, -2, 0, 1], [0] * 10]), ("reflect", [[1, 0, 2, 0, 0, 1, 2, 0, 0, 0]])):
    graph(f"pads_of_five_axes_that_only_data_tell_{mode}", f"""
f (float[2, 3, 4, 1, n] x, int64[10] pads) => (float[a, b, c, d, e] y, float[g, h] z) {{
  y = Pad <mode = "{mode}"> (x, pads)
  t = Flatten <axis = 2> (y)
  z = Neg (t)
}}""", *[{"x": random(60, 2, 3, 4, 1, 5), "pads": np.array(p, np.int64)} for p in pads], opset=18)
