"""If, Loop and Scan in forms that came up first: growing states, swaps, nesting, ranks that differ, directions."""
import numpy as np

from case_list import f32, flag, graph, random, s64

# ---- loops ----
graph("state_grows_until_a_limit", """
grow (float[n] x, float[1] one, int64 most) => (float[m] y, float[k] sums) {
  go = Constant <value = bool {1}> ()
  y, sums = Loop (most, go, x) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q] longer, float sum) {
    longer = Concat <axis = 0> (s, one)
    sum = ReduceSum <keepdims = 0> (longer)
    limit = Constant <value = float {10.0}> ()
    again = Less (sum, limit)
  }>
}""", *[{"x": np.ones(n, np.float32), "one": f32([v]), "most": s64(most)} for n, v, most in ((2, 1, 100), (1, 0.5, 100), (5, 1, 3), (2, 1, 0))])

graph("states_change_places", """
swap (float[3] x, int64 times) => (float[3] a, float[3] b, float[m, 3] seen) {
  a, b, seen = Loop (times, , x, x) <body = step (int64 i, bool more, float[3] p, float[3] q) => (bool again, float[3] r, float[3] s, float[3] e) {
    again = Identity (more)
    r = Add (p, q)
    s = Identity (p)
    e = Mul (p, x)
  }>
}""", *[{"x": f32(1, 2, 3), "times": s64(n)} for n in (0, 1, 6)])

graph("inner_loop_runs_as_often_as_the_outer_has", """
nest (float[1] x, float[1] v, int64 times) => (float[1] sum, float[m] trace) {
  two = Constant <value = float[1] {2.0}> ()
  sum, trace = Loop (times, , x, x) <body = outer (int64 i, bool more, float[1] s, float[p] t) => (bool again, float[1] s2, float[q] t2) {
    again = Identity (more)
    s1, t2 = Loop (i, , s, t) <body = inner (int64 j, bool on, float[1] a, float[r] g) => (bool still, float[1] b, float[w] h) {
      still = Identity (on)
      b = Add (a, v)
      h = Concat <axis = 0> (g, b)
    }>
    s2 = Mul (s1, two)
  }>
}""", *[{"x": f32([1]), "v": f32([0.5]), "times": s64(n)} for n in (0, 1, 2, 5)])

graph("two_growing_states_and_one_that_shrinks", """
many (float[n] x, int64 times) => (float[a] y, float[b, 2] z, float[c] w) {
  rows = Constant <value = float[1, 2] {1.0, 2.0}> ()
  first = Constant <value = int64[1] {1}> ()
  last = Constant <value = int64[1] {1000}> ()
  y, z, w = Loop (times, , x, rows, x) <body = step (int64 i, bool more, float[p] a, float[q, 2] b, float[r] c) => (bool again, float[s] a2, float[t, 2] b2, float[u] c2) {
    again = Identity (more)
    a2 = Concat <axis = 0> (a, c)
    b1 = Add (b, rows)
    b2 = Concat <axis = 0> (b1, b)
    c2 = Slice (c, first, last)
  }>
}""", *[{"x": random(n, n), "times": s64(t)} for n, t in ((3, 0), (3, 2), (4, 4))])

graph("sizes_that_each_iteration_finds_anew", """
find (float[n, 4] x) => (float total, float[m] parts) {
  zero = Constant <value = float {0.0}> ()
  shape = Shape (x)
  at = Constant <value = int64 {0}> ()
  rows = Gather <axis = 0> (shape, at)
  total, parts = Loop (rows, , zero) <body = step (int64 i, bool more, float s) => (bool again, float s2, float e) {
    again = Identity (more)
    row = Gather <axis = 0> (x, i)
    sum = ReduceSum <keepdims = 0> (row)
    positive = Greater (sum, zero)
    part = If (positive) <
      then_branch = yes () => (float p) { places = NonZero (row) numbers = Cast <to = 1> (places) p = ReduceSum <keepdims = 0> (numbers) },
      else_branch = no () => (float q) { q = ReduceMax <keepdims = 0> (row) }
    >
    s2 = Add (s, part)
    e = Identity (part)
  }>
}""", *[{"x": np.round(random(n, n, 4))} for n in (1, 3, 6)])

graph("no_more_than_a_condition_allows", """
power (float[2] x, bool go) => (float[2] y, float[m, 2] seen) {
  y, seen = Loop (, go, x) <body = step (int64 i, bool more, float[2] s) => (bool again, float[2] t, float[2] e) {
    t = Mul (s, s)
    most = ReduceMax <keepdims = 0> (t)
    limit = Constant <value = float {1000.0}> ()
    again = Less (most, limit)
    e = Identity (t)
  }>
}""", *[{"x": f32(*v), "go": flag(go)} for v in ((2, 3), (1.1, 1.2)) for go in (True, False)])

graph("condition_that_is_never_true", """
never (float[2] x) => (float[2] y, float[m, 2] seen) {
  no = Constant <value = bool {0}> ()
  y, seen = Loop (, no, x) <body = step (int64 i, bool more, float[2] s) => (bool again, float[2] t, float[2] e) {
    again = Identity (more)
    t = Exp (s)
    e = Neg (s)
  }>
}""", {"x": f32(1, 2)})

graph("value_computed_ahead_is_read_in_every_iteration", """
ahead (float[n] x, float[n] z, int64 times) => (float[n] y) {
  r = Relu (x)
  e = Exp (r)
  y = Loop (times, , z) <body = step (int64 i, bool more, float[n] s) => (bool again, float[n] t) {
    again = Identity (more)
    f = Mul (e, s)
    t = Tanh (f)
  }>
}""", *[{"x": random(1, 5), "z": random(2, 5), "times": s64(n)} for n in (1, 4)])

graph("axis_without_a_dimension_that_only_data_tell", """
unsqueeze (float[5] x, int64 axis, int64 times) => (float[m] y) {
  empty = Constant <value = float[1] {0.0}> ()
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64 {1}> ()
  y = Loop (times, , empty) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q] t) {
    again = Identity (more)
    next = Add (i, one)
    end = Unsqueeze (next, axis)
    part = Slice (x, zero, end)
    t = Concat <axis = 0> (s, part)
  }>
}""", *[{"x": f32(1, 2, 3, 4, 5), "axis": s64(a), "times": s64(n)} for a, n in ((0, 3), (-1, 2), (0, 0))])

# ---- If ----
graph("branches_of_different_size", """
choose (float[n] x, bool twice) => (float[m] y, float[n] also) {
  r = Relu (x)
  z = If (twice) <
    then_branch = both () => (float[p] b) { b = Concat <axis = 0> (r, r) },
    else_branch = once () => (float[n] o) { o = Mul (r, r) }
  >
  y = Neg (z)
  also = Add (r, r)
}""", *[{"x": random(3, 5), "twice": flag(b)} for b in (True, False)])

graph("branches_of_different_rank", """
squeeze (float[n, 4] x, float[4] w) => (float[m] y) {
  shape = Shape (x)
  at = Constant <value = int64[1] {0}> ()
  n1 = Gather <axis = 0> (shape, at)
  one = Constant <value = int64[1] {1}> ()
  single = Equal (n1, one)
  v = If (single) <
    then_branch = yes () => (float[4] p) { p = Squeeze (x, at) },
    else_branch = no () => (float[n, 4] q) { q = Identity (x) }
  >
  s = Mul (v, w)
  y = ReduceSum <keepdims = 0> (s, last)
}""".replace("y = ReduceSum <keepdims = 0> (s, last)", "flat = Constant <value = int64[1] {-1}> ()\n  y = Reshape (s, flat)"),
      *[{"x": random(n, n, 4), "w": f32(1, 2, 3, 4)} for n in (1, 3)])

graph("branch_in_a_branch_in_a_loop", """
steps (float[3] x, int64 times) => (float[3] y) {
  one = Constant <value = int64 {1}> ()
  three = Constant <value = int64 {3}> ()
  y = Loop (times, , x) <body = step (int64 i, bool more, float[3] s) => (bool again, float[3] t) {
    again = Identity (more)
    early = Less (i, three)
    t = If (early) <
      then_branch = yes () => (float[3] a) {
        first = Less (i, one)
        a = If (first) <
          then_branch = now () => (float[3] b) { b = Neg (s) },
          else_branch = later () => (float[3] c) { c = Add (s, x) }
        >
      },
      else_branch = no () => (float[3] d) { d = Sub (s, x) }
    >
  }>
}""", *[{"x": f32(1, -2, 3), "times": s64(n)} for n in (0, 1, 3, 6)])

graph("branch_gives_what_stands_outside", """
outside (float[3] x, bool c) => (float[3] y, float[3] z) {
  k = Constant <value = float[3] {1.0, 2.0, 3.0}> ()
  y, z = If (c) <
    then_branch = yes () => (float[3] p, float[3] q) { p = Identity (x) q = Identity (k) },
    else_branch = no () => (float[3] r, float[3] s) { r = Identity (k) s = Identity (x) }
  >
}""", *[{"x": f32(4, 5, 6), "c": flag(b)} for b in (True, False)])

# ---- Scan ----
graph("scan_backwards_along_another_axis", """
rnn (float[2, 4] h0, float[2, t, 4] x, float[4, 4] w) => (float[2, 4] last, float[2, t, 4] all) {
  last, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [1], scan_output_directions = [1],
    body = step (float[2, 4] h, float[2, 4] e) => (float[2, 4] g, float[2, 4] o) {
      m = MatMul (h, w)
      a = Add (m, e)
      g = Tanh (a)
      o = Identity (g)
    }> (h0, x)
}""", *[{"h0": np.zeros((2, 4), np.float32), "x": random(t, 2, t, 4), "w": random(9, 4, 4)} for t in (1, 5)])

graph("scan_of_several_inputs", """
zip (float[t, 2] a, float[t, 2] b, float[2] s) => (float[2] last, float[t] dots, float[t, 2] sums) {
  last, dots, sums = Scan <num_scan_inputs = 2, body = step (float[2] u, float[2] p, float[2] q) => (float[2] v, float d, float[2] r) {
    v = Add (u, p)
    m = Mul (v, q)
    d = ReduceSum <keepdims = 0> (m)
    r = Add (p, q)
  }> (s, a, b)
}""", *[{"a": random(t, t, 2), "b": random(t + 9, t, 2), "s": f32(0, 1)} for t in (1, 4)])

graph("branch_that_these_sizes_do_not_fit", """
fit (float[2, 3] x, bool more) => (float[n, 4] y) {
  y = If (more) <then_branch = fits () => (float[a, 4] p) {
    w = Constant <value = float[3, 4] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0}> ()
    p = MatMul (x, w)
  }, else_branch = misfits () => (float[b, 4] q) {
    v = Constant <value = float[2, 4] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}> ()
    r = MatMul (x, v)
    q = Neg (r)
  }>
}""", {"x": random(5, 2, 3), "more": flag(True)}, expect=lambda x, more: [x @ np.arange(1, 13, dtype=np.float32).reshape(3, 4)])
