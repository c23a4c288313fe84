"""Sizes, places and counts that data decide, inside of loops: each iteration has others."""
import numpy as np

from case_list import f32, flag, graph, random, s64

STEPS = """
f (float[n] x, int64 times) => (float[k] y) {
  none = Constant <value = float[0] {}> ()
  axis = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64[1] {2}> ()
  flat = Constant <value = int64[1] {-1}> ()
  y = Loop (times, , none) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q] t) {
    again = Identity (more)
    next = Add (i, one)
    size = Unsqueeze (next, axis)
    BODY
    t = Concat <axis = 0> (s, part)
  }>
}"""


def in_a_loop(name, body, *calls, **how):
    graph(f"in_a_loop_{name}", STEPS.replace("BODY", body), *(calls or [{"x": random(n, n), "times": s64(t)} for n, t in ((5, 3), (4, 0), (6, 4))]), **how)


in_a_loop("range", "r = Range (i, i3, one) part = Cast <to = 1> (r)".replace("r = Range", "i2 = Add (next, next) i3 = Add (i2, one) r = Range"))
in_a_loop("range_empty_at_first", "r0 = Constant <value = int64 {0}> () r = Range (r0, i, one) part = Cast <to = 1> (r)")
in_a_loop("tile", "part = Tile (x, size)")
in_a_loop("tile_nothing_at_first", "i1 = Unsqueeze (i, axis) part = Tile (x, i1)")
in_a_loop("expand", "i1 = Unsqueeze (i, axis) first = Slice (x, i1, size, axis) part = Expand (first, size)")
in_a_loop("expand_to_nothing", "i1 = Unsqueeze (i, axis) zero = Constant <value = int64[1] {0}> () f0 = Constant <value = int64[1] {1}> () first = Slice (x, zero, f0, axis) part = Expand (first, i1)")
in_a_loop("slice_backwards", "back = Neg (size) m = Constant <value = int64[1] {-1}> () zero = Constant <value = int64[1] {-1000}> () part = Slice (x, m, zero, axis, back)")
in_a_loop("slice_of_two_ends", "i1 = Unsqueeze (i, axis) end = Neg (size) part = Slice (x, i1, end, axis)")
in_a_loop("pad", "i1 = Unsqueeze (i, axis) pads = Concat <axis = 0> (i1, size) part = Pad (x, pads)")
in_a_loop("pad_negative", "i1 = Unsqueeze (i, axis) less = Neg (i1) pads = Concat <axis = 0> (less, size) part = Pad (x, pads)")
in_a_loop("pad_reflect", 'i1 = Unsqueeze (i, axis) pads = Concat <axis = 0> (i1, i1) part = Pad <mode = "reflect"> (x, pads)')
in_a_loop("top_k", "part, at = TopK (x, size)")
in_a_loop("top_k_none", "i1 = Unsqueeze (i, axis) part, at = TopK (x, i1)")
in_a_loop("constant_of_shape", "part = ConstantOfShape <value = float[1] {2.5}> (size)")
in_a_loop("constant_of_shape_of_two", "both = Concat <axis = 0> (size, size) m = ConstantOfShape <value = float[1] {2.5}> (both) part = Reshape (m, flat)")
in_a_loop("one_hot", "depth = Add (next, one) v = Constant <value = float[2] {0.0, 1.0}> () hot = OneHot (size, depth, v) part = Reshape (hot, flat)")
in_a_loop("reshape", "n = Size (x) n1 = Unsqueeze (n, axis) big = Tile (x, size) both = Concat <axis = 0> (size, n1) m = Reshape (big, both) part = ReduceSum <keepdims = 0> (m, axis)")
in_a_loop("reshape_to_open", "big = Tile (x, size) fl = Constant <value = int64[1] {-1}> () both = Concat <axis = 0> (size, fl) m = Reshape (big, both) part = ReduceMax <axes = [1], keepdims = 0> (m)")
in_a_loop("resize_by_size", """a = Constant <value = int64[2] {0, 1}> () image = Unsqueeze (x, a) both = Concat <axis = 0> (one1, one1, size)
    resized = Resize <mode = "linear"> (image, , , both) part = Reshape (resized, flat)""".replace("both =", "one1 = Constant <value = int64[1] {1}> () both ="))
in_a_loop("resize_by_scale", """a = Constant <value = int64[2] {0, 1}> () image = Unsqueeze (x, a) k = Constant <value = float[2] {1.0, 1.0}> () c = Cast <to = 1> (size)
    scales = Concat <axis = 0> (k, c) resized = Resize <mode = "nearest"> (image, , scales) part = Reshape (resized, flat)""")
in_a_loop("split", "n = Size (x) n1 = Unsqueeze (n, axis) rest = Sub (n1, size) sizes = Concat <axis = 0> (size, rest) u, part = Split <axis = 0> (x, sizes)")
in_a_loop("gather_of_range", "zero = Constant <value = int64 {0}> () r = Range (zero, next, one) part = Gather (x, r)")
in_a_loop("scatter", "i1 = Unsqueeze (i, axis) v = Constant <value = float[1] {7.0}> () part = ScatterElements (x, i1, v)")
in_a_loop("non_zero", "f = Cast <to = 1> (i) g = Greater (x, f) z = NonZero (g) zz = Reshape (z, flat) part = Cast <to = 1> (zz)")
in_a_loop("compress", "f = Cast <to = 1> (i) b = Neg (f) g = Greater (x, b) part = Compress (x, g)")
in_a_loop("unique", "r = Round (x) f = Cast <to = 1> (next) m = Div (r, f) k = Floor (m) part = Unique (k)")
in_a_loop("where_of_broadcast", "m = ConstantOfShape <value = float[1] {1.0}> (size) c = Unsqueeze (m, one1) w = Add (c, x) part = Reshape (w, flat)".replace("c = Unsq", "one1 = Constant <value = int64[1] {1}> () c = Unsq"))
in_a_loop("eye", "both = Concat <axis = 0> (size, size) m = ConstantOfShape <value = float[1] {0.0}> (both) e = EyeLike (m) part = Reshape (e, flat)")
in_a_loop("matmul", "both = Concat <axis = 0> (size, nn) m = ConstantOfShape <value = float[1] {0.5}> (both) part = MatMul (m, x)".replace("both =", "nn = Shape (x) both ="))
in_a_loop("mean_of_what_there_is", "i1 = Unsqueeze (i, axis) zero = Constant <value = int64[1] {0}> () e = Slice (x, zero, size, axis) part = ReduceMean <keepdims = 1> (e)")
in_a_loop("cum_sum", "zero = Constant <value = int64[1] {0}> () e = Slice (x, zero, size, axis) a0 = Constant <value = int64 {0}> () part = CumSum (e, a0)")
in_a_loop("sum_of_nothing", "i1 = Unsqueeze (i, axis) zero = Constant <value = int64[1] {0}> () e = Slice (x, zero, i1, axis) part = ReduceSum <keepdims = 1> (e)")
in_a_loop("softmax", "zero = Constant <value = int64[1] {0}> () e = Slice (x, zero, size, axis) part = Softmax <axis = 0> (e)")
in_a_loop("trilu", "both = Concat <axis = 0> (size, size) m = ConstantOfShape <value = float[1] {1.0}> (both) u = Trilu (m, i) part = Reshape (u, flat)")

# ---- sizes that change between 1 and more ----
graph("state_broadcast_from_one", """
grow (float[1] x, float[n] v, int64 times) => (float[k] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q] t) {
    again = Identity (more)
    t = Add (s, v)
  }>
}""", *[{"x": f32([1]), "v": random(n, n), "times": s64(t)} for n, t in ((4, 3), (4, 0), (1, 2), (1, 0))])

graph("state_broadcast_against_another", """
two (float[n] x, float[1] z, int64 times) => (float[k] a, float[m] b) {
  a, b = Loop (times, , x, z) <body = step (int64 i, bool more, float[p] s, float[r] u) => (bool again, float[q] t, float[w] v) {
    again = Identity (more)
    t = Mul (s, u)
    v = Add (u, t)
  }>
}""", *[{"x": random(n, n), "z": f32([2]), "times": s64(t)} for n, t in ((3, 2), (3, 0), (1, 3))])

graph("state_of_two_axes_broadcast", """
two (float[1, n] x, float[m, 1] z, int64 times) => (float[a, b] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[p, r] s) => (bool again, float[q, w] t) {
    again = Identity (more)
    t = Sub (s, z)
  }>
}""", *[{"x": random(n, 1, n), "z": random(m, m, 1), "times": s64(t)} for n, m, t in ((3, 2, 2), (3, 2, 0), (1, 1, 3), (2, 1, 1))])

graph("where_of_state_and_mask", """
two (float[1] x, bool[n] mask, float[n] v, int64 times) => (float[a] y, float[b] n1) {
  y, n1 = Loop (times, , x, x) <body = step (int64 i, bool more, float[p] s, float[r] c) => (bool again, float[q] t, float[w] e) {
    again = Identity (more)
    t = Where (mask, s, v)
    e = Max (c, t, v)
  }>
}""", *[{"x": f32([3]), "mask": flag([k % 2 for k in range(n)]), "v": random(n, n), "times": s64(t)} for n, t in ((3, 2), (3, 0), (1, 2))])

graph("broadcast_of_sizes_that_data_decide", """
f (float[n] x, float[n] z) => (float[k] y) {
  zero = Constant <value = float {0.0}> ()
  flat = Constant <value = int64[1] {-1}> ()
  a = Greater (x, zero)
  b = Greater (z, zero)
  p = Compress (x, a)
  q = Compress (z, b)
  y = Add (p, q)
}""", *[{"x": f32(x), "z": f32(z)} for x, z in (([1, -2, 3], [1, -5, 9]), ([1, -2, -3], [1, -5, 9]), ([1, 2, 3], [-1, -5, 9]), ([1, -2, -3], [-1, -5, 9]), ([1, -2, -3], [-1, -5, -9]))])

graph("expand_state_by_data", """
f (float[1] x, int64 times) => (float[a] y) {
  axis = Constant <value = int64[1] {0}> ()
  y = Loop (times, , x) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q] t) {
    again = Identity (more)
    three = Constant <value = int64[1] {3}> ()
    e = Expand (s, three)
    t = Neg (e)
  }>
}""", *[{"x": f32([2]), "times": s64(t)} for t in (0, 1, 3)])

graph("matrices_broadcast_in_a_loop", """
f (float[1, 2, 2] x, float[b, 2, 2] w, int64 times) => (float[a, 2, 2] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[p, 2, 2] s) => (bool again, float[q, 2, 2] t) {
    again = Identity (more)
    t = MatMul (s, w)
  }>
}""", *[{"x": random(1, 1, 2, 2), "w": random(b, b, 2, 2), "times": s64(t)} for b, t in ((3, 2), (3, 0), (1, 2))])

graph("mean_over_frames", """
f (float[frames, 4] x, int64[b] lengths) => (float[b, 4] y) {
  zero = Constant <value = int64 {0}> ()
  axis = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64 {1}> ()
  shape = Shape (lengths)
  n = Gather (shape, zero)
  last, y = Loop (n, , zero) <body = step (int64 i, bool more, int64 at) => (bool again, int64 end, float[4] e) {
    again = Identity (more)
    length = Gather (lengths, i)
    end = Add (at, length)
    a = Unsqueeze (at, axis)
    b = Unsqueeze (end, axis)
    part = Slice (x, a, b, axis)
    e = ReduceMean <axes = [0], keepdims = 0> (part)
  }>
}""", *[{"x": random(7, sum(n), 4), "lengths": s64(n)} for n in ([3, 2, 1], [6], [1, 1])])

# each column of the indices reads their sum again
graph("indices_that_are_sums_of_many", """
f (float[2, 3, 2, 3] x, int64[4, 4] a, int64[4, 4] b, int64[4, 4] c, int64[4, 4] d, float[4] updates) => (float[4] y, float[2, 3, 2, 3] z) {
  ab = Add (a, b)
  abc = Add (ab, c)
  places = Add (abc, d)
  y = GatherND (x, places)
  dc = Add (d, c)
  ba = Add (b, a)
  others = Add (dc, ba)
  z = ScatterND <reduction = "add"> (x, others, updates)
}""", *[{"x": random(k, 2, 3, 2, 3), "updates": random(k + 1, 4), **{n: np.random.default_rng(k + i).integers(0, 2, (4, 4)) * (i == (0, 1, 3, 2)[k]) for i, n in enumerate("abcd")}}
        for k in (0, 1)], opset=18)
