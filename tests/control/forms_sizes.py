"""Arithmetic on sizes, as exporters write it out: what is known of it at compile time has to be what the operators compute."""
import numpy as np

from case_list import graph, random, s64

graph("places_of_extremes_along_one_size", """
f (float[n, 3] x) => (int64 a, int64[1, 2] b, int64[1, 2] c) {
  shape = Shape (x)
  first = Constant <value = int64[1] {0}> ()
  axis = Constant <value = int64[1] {0}> ()
  pair = Constant <value = int64[1, 2] {5, 7}> ()
  n1 = Gather (shape, first)
  a = ArgMax <keepdims = 0> (n1)
  b = ArgMax <axis = 0> (pair)
  row = Unsqueeze (shape, axis)
  c = ArgMin <axis = 0> (row)
}""", *[{"x": random(n, n, 3)} for n in (3, 1)])

# ---- Expand to computed sizes ----
graph("expand_one_to_twice_its_size", """
f (float[n, 3] x) => (float[a, 3] y, float[b, 3] z) {
  shape = Shape (x)
  factor = Constant <value = int64[2] {2, 1}> ()
  wide = Mul (shape, factor)
  y = Expand (x, wide)
  both = Concat <axis = 0> (x, x)
  z = Add (x, both)
}""", {"x": random(1, 1, 3)})

graph("expand_to_half_of_its_size", """
f (float[n, 3] x, float[m] other) => (float[a, 3] y, float[b] z) {
  shape = Shape (x)
  factor = Constant <value = int64[2] {2, 1}> ()
  less = Div (shape, factor)
  y = Expand (x, less)
  size = Shape (other)
  one = Constant <value = int64[1] {1}> ()
  some = Slice (other, one, size)
  z = Expand (some, size)
}""", *[{"x": random(n, n, 3), "other": random(m, m)} for n, m in ((3, 2), (2, 2), (1, 2))])

graph("expand_what_is_left_of_a_table", """
f (float[b, n] ids, float[p] past, float[1, 8] table) => (float[b, n] y) {
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  shape = Shape (ids)
  now = Slice (shape, one, two)
  before = Shape (past)
  end = Add (before, now)
  places = Slice (table, before, end, one)
  y = Expand (places, shape)
}""", *[{"ids": random(n, 2, n), "past": random(p, p), "table": random(8, 1, 8)} for n, p in ((3, 2), (1, 7), (4, 7))])

# ---- a computed size that is 0 copies the dimension at its place ----
graph("reshape_by_what_is_left", """
f (float[4, m] x, bool[4] keep) => (float[a, b] y) {
  first = Constant <value = int64[1] {0}> ()
  open = Constant <value = int64[1] {-1}> ()
  left = Compress <axis = 0> (x, keep)
  shape = Shape (left)
  n = Gather (shape, first)
  columns = Concat <axis = 0> (open, n)
  y = Reshape (left, columns)
}""", *[{"x": random(m, 4, m), "keep": np.array(k, bool)} for m, k in ((3, (1, 0, 1, 1)), (2, (0, 0, 0, 0)), (1, (0, 1, 0, 0)))])

# ---- integers that wrap ----
graph("sizes_in_32_bits_that_wrap", """
f (float[n] x) => (int64[1] a, int32[1] b, int32[1] c, int64[1] d, bool[1] e) {
  shape = Shape (x)
  n32 = Cast <to = 6> (shape)
  large = Constant <value = int32[1] {100000}> ()
  seven = Constant <value = int32[1] {7}> ()
  some = Mul (n32, large)
  more = Mul (some, large)
  a = Cast <to = 7> (more)
  b = Mod (more, seven)
  c = Div (more, seven)
  wide = Constant <value = int64[1] {3000000000}> ()
  over = Mul (shape, wide)
  over32 = Cast <to = 6> (over)
  d = Cast <to = 7> (over32)
  zero = Constant <value = int64[1] {0}> ()
  e = Greater (d, zero)
}""", *[{"x": random(n, n)} for n in (1, 3, 5)])

graph("trips_as_a_number", """
f (int64 trips) => (float y, int64 next, int64 half, int64 low) {
  none = Constant <value = float {0.0}> ()
  y = Loop (trips, , none) <body = step (int64 i, bool more, float s) => (bool again, float t) {
    one = Constant <value = float {1.0}> ()
    t = Add (s, one)
    three = Constant <value = int64 {3}> ()
    again = Less (i, three)
  }>
  unit = Constant <value = int64 {1}> ()
  next = Add (trips, unit)
  wide = Cast <to = 1> (trips)
  part = Constant <value = float {0.5}> ()
  less = Mul (wide, part)
  whole = Floor (less)
  half = Cast <to = 7> (whole)
  bits = Cast <to = 6> (trips)
  low = Cast <to = 7> (bits)
}""", *[{"trips": s64(t)} for t in (2, -3, 2**40 + 5, 2**63 - 1)])

# ---- sizes in floating point, where it rounds ----
graph("sizes_in_float_that_round", """
f (float[n] x) => (float[a] y, int64[1] b, int64[1] c, int64[1] d, int64[1] e, int64[1] g) {
  zero = Constant <value = int64[1] {0}> ()
  shape = Shape (x)
  n = Cast <to = 1> (shape)
  n64 = Cast <to = 11> (shape)
  f41 = Constant <value = float[1] {41.0}> ()
  part = Div (n, f41)
  again = Mul (part, f41)
  floor = Floor (again)
  end = Cast <to = 7> (floor)
  y = Slice (x, zero, end, zero)
  f98 = Constant <value = double[1] {98.0}> ()
  f49 = Constant <value = double[1] {49.0}> ()
  part64 = Div (n64, f49)
  twice = Mul (part64, f98)
  ceil = Ceil (twice)
  b = Cast <to = 7> (ceil)
  f49s = Cast <to = 1> (f49)
  part49 = Div (n, f49s)
  more = Mul (part49, f49s)
  c = Cast <to = 7> (more)
  large = Constant <value = float[1] {100000000.0}> ()
  one = Constant <value = float[1] {1.0}> ()
  far = Mul (n, large)
  next = Add (far, one)
  d = Cast <to = 7> (next)
  f4097 = Constant <value = float[1] {4097.0}> ()
  f4099 = Constant <value = float[1] {4099.0}> ()
  some = Mul (n, f4097)
  many = Mul (some, f4099)
  sum = Add (many, one)
  e = Cast <to = 7> (sum)
  beyond = Constant <value = int64[1] {16777217}> ()
  product = Mul (shape, beyond)
  rounded = Cast <to = 1> (product)
  g = Cast <to = 7> (rounded)
}""", *[{"x": random(n, n)} for n in (1, 3, 41, 49)])


graph("sizes_in_float_beyond_its_digits", """
f (float[n] x, float[a, b, 0] none, float[p, q, 0] wide) => (int64 c, int64 d, int64[1] e, int64[1] g, int64 h, int64[1] k) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64 {2}> ()
  sizes = Shape (none)
  a = Gather (sizes, zero)
  b = Gather (sizes, one)
  area = Mul (a, b)
  half = Div (area, two)
  half32 = Cast <to = 1> (half)
  c = Cast <to = 7> (half32)
  most = Max (area, two)
  most32 = Cast <to = 1> (most)
  d = Cast <to = 7> (most32)
  shape = Shape (x)
  n = Cast <to = 1> (shape)
  steps = Constant <value = float[1] {65536.0}> ()
  three = Constant <value = float[1] {3.0}> ()
  many = Mul (n, steps)
  third = Div (many, three)
  floor = Floor (third)
  e = Cast <to = 7> (floor)
  odd = Constant <value = float[1] {4095.0}> ()
  far = Constant <value = float[1] {4194303.0}> ()
  more = Mul (n, odd)
  sum = Add (more, far)
  back = Sub (sum, far)
  next = Mul (back, odd)
  g = Cast <to = 7> (next)
  others = Shape (wide)
  p = Gather (others, zero)
  q = Gather (others, one)
  square = Mul (p, p)
  cube = Mul (square, q)
  cube64 = Cast <to = 11> (cube)
  seven = Constant <value = double {7.0}> ()
  part = Div (cube64, seven)
  h = Cast <to = 7> (part)
  ten = Constant <value = float[1] {10.0}> ()
  tenths = Div (n, ten)
  up = Ceil (tenths)
  k = Cast <to = 7> (up)
}""", *[{"x": random(n, n), "none": np.zeros((a, b, 0), np.float32), "wide": np.zeros((p, q, 0), np.float32)}
       for n, a, b, p, q in ((1000, 8195, 4099, 300001, 300011), (4097, 4097, 4097, 2, 5), (10, 2, 3, 1, 1))])


def name_nearly_alike(model):
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "n.1"


graph("a_size_that_is_fixed_beside_another_name", """
f (float[n_1] x, float[other] z) => (float[2, 2] y, float[m] w) {
  square = Constant <value = int64[2] {2, 2}> ()
  y = Reshape (x, square)
  w = Neg (z)
}""", *[{"x": random(4, 4), "z": random(m, m)} for m in (7, 4)], change=name_nearly_alike)

# ---- sizes of padded images, level by level ----
LEVEL = """
  shape{k} = Shape ({x})
  h{k} = Gather (shape{k}, two)
  w{k} = Gather (shape{k}, three)
  area{k} = Mul (h{k}, w{k})
  rows{k} = Concat <axis = 0> (one, open, one, h{k}, w{k})
  boxes{k} = Reshape ({x}, rows{k})
  turned{k} = Transpose <perm = [0, 3, 4, 1, 2]> (boxes{k})
  list{k} = Concat <axis = 0> (one, open, one)
  lines{k} = Reshape (turned{k}, list{k})
  all{k} = Mul (area{k}, channels)
  flat{k} = Squeeze (all{k})
  steps{k} = Range (start, flat{k}, step)
  grid{k} = Reshape (steps{k}, column)
"""
graph("levels_of_a_padded_image", """
f (float[3, 10, 12] x, int64[2] ends, float[3, 3, 1, 1] w) => (float[n, 1] y) {
  none = Constant <value = int64[4] {0, 0, 0, 0}> ()
  axis = Constant <value = int64[1] {0}> ()
  pads = Concat <axis = 0> (none, ends)
  start = Constant <value = int64 {0}> ()
  step = Constant <value = int64 {1}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
  channels = Constant <value = int64[1] {3}> ()
  open = Constant <value = int64[1] {-1}> ()
  column = Constant <value = int64[2] {-1, 1}> ()
  padded = Pad (x, pads)
  image = Unsqueeze (padded, axis)
  p = Conv (image, w)
  a = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (p)
  b = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (a)
  c = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (b)
""" + "".join(LEVEL.format(k=k, x=x) for k, x in enumerate("abc")) + """
  lines = Concat <axis = 1> (lines0, lines1, lines2)
  pair = Concat <axis = 0> (open, one)
  long = Reshape (lines, pair)
  grid = Concat <axis = 0> (grid0, grid1, grid2)
  places = Cast <to = 1> (grid)
  y = Add (long, places)
}""", *[{"x": random(k, 3, 10, 12), "w": random(k, 3, 3, 1, 1), "ends": np.array([k, 2 * k], np.int64)} for k in (0, 3)])

graph("sizes_in_float_that_have_too_many_digits", """
f (float[n] x, float[m] z) => (float[a] y, int64[1] b, int64[1] c, int64[1] d) {
  zero = Constant <value = int64[1] {0}> ()
  shape = Shape (x)
  n = Cast <to = 1> (shape)
  ratio = Constant <value = float[1] {2.0039215087890625}> ()
  wide = Mul (n, ratio)
  floor = Floor (wide)
  end = Cast <to = 7> (floor)
  both = Concat <axis = 0> (x, x, x)
  y = Slice (both, zero, end, zero)
  other = Shape (z)
  area = Mul (shape, other)
  area32 = Cast <to = 1> (area)
  b = Cast <to = 7> (area32)
  far = Constant <value = float[1] {16777215.0}> ()
  sum = Add (n, far)
  c = Cast <to = 7> (sum)
  large = Constant <value = int64[1] {1048576}> ()
  times = Mul (area, large)
  wider = Mul (times, large)
  area64 = Cast <to = 11> (wider)
  d = Cast <to = 7> (area64)
}""", *[{"x": random(n, n), "z": random(m, m)} for n, m in ((255, 2), (2, 3), (4097, 4097))])

# as detectors pad a batch: the largest of the images' sizes, as floats, rounded up to a multiple
for name, h, w in (("fixed", 30, 41), ("open", "h", "w")):
    graph(f"padded_to_a_multiple_{name}", f"""
f (float[3, {h}, {w}] x, float[3, {h}, {w}] y, float[8, 3, 3, 3] k) => (float[1, 8, a, b] z) {{
  none = Constant <value = int64[1] {{0}}> ()
  zeros = Constant <value = int64[4] {{0, 0, 0, 0}}> ()
  by = Constant <value = float {{32.0}}> ()
  sx = Shape (x)
  sy = Shape (y)
  fx = Cast <to = 1> (sx)
  fy = Cast <to = 1> (sy)
  fx1 = Unsqueeze (fx, none)
  fy1 = Unsqueeze (fy, none)
  all = Concat <axis = 0> (fx1, fy1)
  most = ReduceMax <axes = [0], keepdims = 0> (all)
  parts = Div (most, by)
  whole = Ceil (parts)
  room = Mul (whole, by)
  size = Cast <to = 7> (room)
  more = Sub (size, sx)
  one = Constant <value = int64[1] {{1}}> ()
  three = Constant <value = int64[1] {{3}}> ()
  ends = Slice (more, one, three)
  pads = Concat <axis = 0> (zeros, ends)
  padded = Pad (x, pads)
  image = Unsqueeze (padded, none)
  z = Conv <pads = [1, 1, 1, 1]> (image, k)
}}""", *({"x": random(70, 3, a, b), "y": random(71, 3, a, b), "k": random(72, 8, 3, 3, 3)} for a, b in ([(30, 41)] if h == 30 else [(30, 41), (64, 7)])))
