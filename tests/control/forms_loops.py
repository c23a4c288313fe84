"""If, Loop and Scan as exporters write them, and as the standard allows them beyond that."""
import numpy as np

from case_list import f32, flag, graph, random, s64

# ---- what decides how often a loop runs ----
graph("loop_of_neither_count_nor_condition", """
f (float[2] x) => (float[2] y, float[k, 2] all) {
  limit = Constant <value = float {100.0}> ()
  y, all = Loop (, , x) <body = step (int64 i, bool more, float[2] s) => (bool again, float[2] t, float[2] e) {
    t = Add (s, s)
    most = ReduceMax <keepdims = 0> (t)
    again = Less (most, limit)
    e = Identity (t)
  }>
}""", *[{"x": f32(*v)} for v in ((1, 2), (99, 3), (0.5, 0.25))])

graph("while_decided_by_data", """
f (int64 n) => (int64 steps, int64[k] path) {
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64 {2}> ()
  three = Constant <value = int64 {3}> ()
  zero = Constant <value = int64 {0}> ()
  go = Greater (n, one)
  last, steps, path = Loop (, go, n, zero) <body = collatz (int64 i, bool more, int64 v, int64 c) => (bool again, int64 w, int64 d, int64 seen) {
    odd = Mod (v, two)
    is_odd = Cast <to = 9> (odd)
    w = If (is_odd) <
      then_branch = up () => (int64 a) { m = Mul (v, three) a = Add (m, one) },
      else_branch = down () => (int64 b) { b = Div (v, two) }
    >
    d = Add (c, one)
    seen = Identity (w)
    again = Greater (w, one)
  }>
}""", *[{"n": s64(n)} for n in (1, 6, 7, 27)])

graph("count_of_one_element_and_condition_of_one", """
f (float[2] x, int64[1] times, bool[1] go) => (float[2] y) {
  y = Loop (times, go, x) <body = step (int64[1] i, bool[1] more, float[2] s) => (bool[1] again, float[2] t) {
    again = Identity (more)
    n = Cast <to = 1> (i)
    t = Add (s, n)
  }>
}""", *[{"x": f32(1, 2), "times": s64([n]), "go": flag([g])} for n, g in ((3, True), (3, False), (0, True))],
      expect=lambda x, times, go: [x + (sum(range(times[0])) if go[0] else 0)])

graph("condition_of_the_body_from_outside", """
f (float[2] x, bool go) => (float[2] y) {
  three = Constant <value = int64 {3}> ()
  y = Loop (three, , x) <body = step (int64 i, bool more, float[2] s) => (bool go_on, float[2] t) {
    go_on = Identity (go)
    t = Add (s, s)
  }>
}""", *[{"x": f32(1, 2), "go": flag(g)} for g in (True, False)])

graph("count_is_negative", """
f (float[2] x, int64 times) => (float[2] y, float[k, 2] all) {
  y, all = Loop (times, , x) <body = step (int64 i, bool more, float[2] s) => (bool again, float[2] t, float[2] e) {
    again = Identity (more)
    t = Add (s, s)
    e = Identity (s)
  }>
}""", *[{"x": f32(1, 2), "times": s64(n)} for n in (-3, 2)])

graph("items_of_a_size_that_no_iteration_made", """
f (float[2] x, float[n] y, int64 times) => (float[k, 2, m] all) {
  go = Constant <value = bool {1}> ()
  all = Loop (times, go) <body = step (int64 i, bool more) => (bool again, float[2, 1] e) {
    again = Identity (more)
    one = Constant <value = int64[1] {1}> ()
    first = Reshape (i, one)
    last = Add (first, one)
    part = Slice (y, first, last)
    column = Unsqueeze (x, one)
    e = Mul (column, part)
  }>
}""", *[{"x": f32(1, 2), "y": f32(3, 4, 5), "times": s64(n)} for n in (0, 2)])

graph("loop_without_states", """
f (float[2] x, int64 times) => (float[k, 2] all) {
  go = Constant <value = bool {1}> ()
  all = Loop (times, go) <body = step (int64 i, bool more) => (bool again, float[2] e) {
    again = Identity (more)
    n = Cast <to = 1> (i)
    e = Mul (x, n)
  }>
}""", *[{"x": f32(1, 2), "times": s64(n)} for n in (0, 3)])

graph("iteration_number_and_condition_as_results", """
f (int64 times) => (int64[k] numbers, bool[k] conditions) {
  go = Constant <value = bool {1}> ()
  numbers, conditions = Loop (times, go) <body = step (int64 i, bool more) => (bool again, int64 n, bool c) {
    again = Identity (more)
    n = Identity (i)
    c = Identity (more)
  }>
}""", *[{"times": s64(n)} for n in (0, 4)])

graph("body_gives_its_inputs_as_they_are", """
f (float[2] x, float[2] z, int64 times) => (float[2] a, float[2] b, float[k, 2] s) {
  a, b, s = Loop (times, , x, z) <body = step (int64 i, bool more, float[2] p, float[2] q) => (bool more, float[2] q, float[2] p, float[2] p) {
    unused = Neg (p)
  }>
}""", *[{"x": f32(1, 2), "z": f32(3, 4), "times": s64(n)} for n in (0, 1, 2, 5)])

graph("stacked_scalars_vectors_and_nothing", """
f (float[n] x, int64 times) => (float[k] a, float[k, n] b, float[k, m] c, int64[k, 0] d) {
  go = Constant <value = bool {1}> ()
  none = Constant <value = int64[0] {}> ()
  flat = Constant <value = int64[1] {-1}> ()
  a, b, c, d = Loop (times, go) <body = step (int64 i, bool more) => (bool again, float e0, float[n] e1, float[m] e2, int64[0] e3) {
    again = Identity (more)
    e0 = ReduceSum <keepdims = 0> (x)
    e1 = Neg (x)
    p = Concat <axis = 0> (x, x)
    e2 = Abs (p)
    e3 = Identity (none)
  }>
}""", *[{"x": random(n, n), "times": s64(t)} for n, t in ((2, 3), (0, 2))])

graph("stacked_elements_of_a_size_that_data_decide", """
f (float[n] x, float[n] w, int64 times) => (float[k, m] y) {
  go = Constant <value = bool {1}> ()
  zero = Constant <value = float {0.0}> ()
  c = Greater (x, zero)
  y = Loop (times, go) <body = step (int64 i, bool more) => (bool again, float[m] e) {
    again = Identity (more)
    f = Cast <to = 1> (i)
    p = Compress (w, c)
    e = Add (p, f)
  }>
}""", *[{"x": random(n, n), "w": random(n + 1, n), "times": s64(t)} for n, t in ((6, 3), (4, 1), (9, 2))])

# ---- nested ----
graph("three_deep_with_values_of_every_level", """
f (float[2] x, int64 a, int64 b) => (float[2] y, float[k] sums) {
  one = Constant <value = float[2] {1.0, 1.0}> ()
  y, sums = Loop (a, , x) <body = outer (int64 i, bool more, float[2] s) => (bool again, float[2] t, float sum) {
    again = Identity (more)
    fi = Cast <to = 1> (i)
    w = Mul (x, fi)
    t = Loop (b, , s) <body = inner (int64 j, bool on, float[2] u) => (bool still, float[2] v) {
      still = Identity (on)
      odd = Cast <to = 9> (j)
      v = If (odd) <
        then_branch = yes () => (float[2] p) {
          p = Loop (i, , u) <body = innermost (int64 l, bool go, float[2] q) => (bool going, float[2] r) {
            going = Identity (go)
            r0 = Add (q, w)
            fj = Cast <to = 1> (j)
            r = Add (r0, fj)
          }>
        },
        else_branch = no () => (float[2] p2) { p2 = Add (u, one) }
      >
    }>
    sum = ReduceSum <keepdims = 0> (t)
  }>
}""", *[{"x": f32(1, 2), "a": s64(a), "b": s64(b)} for a, b in ((2, 3), (3, 2), (0, 4), (2, 0))])

graph("six_deep", """
f (float[1] x, int64 n) => (float[1] y) {
  y = Loop (n, , x) <body = b1 (int64 i1, bool c1, float[1] s1) => (bool c1, float[1] t1) {
    t1 = Loop (n, , s1) <body = b2 (int64 i2, bool c2, float[1] s2) => (bool c2, float[1] t2) {
      t2 = Loop (n, , s2) <body = b3 (int64 i3, bool c3, float[1] s3) => (bool c3, float[1] t3) {
        t3 = Loop (n, , s3) <body = b4 (int64 i4, bool c4, float[1] s4) => (bool c4, float[1] t4) {
          t4 = Loop (n, , s4) <body = b5 (int64 i5, bool c5, float[1] s5) => (bool c5, float[1] t5) {
            t5 = Loop (n, , s5) <body = b6 (int64 i6, bool c6, float[1] s6) => (bool c6, float[1] t6) {
              f = Cast <to = 1> (i6)
              g = Cast <to = 1> (i1)
              h = Add (f, g)
              t6 = Add (s6, h)
            }>
          }>
        }>
      }>
    }>
  }>
}""", *[{"x": f32([1]), "n": s64(n)} for n in (0, 1, 2)])

graph("six_deep_growing", """
f (float[k] x, int64 n) => (float[m] y) {
  y = Loop (n, , x) <body = b1 (int64 i1, bool c1, float[k1] s1) => (bool c1, float[m1] t1) {
    t1 = Loop (n, , s1) <body = b2 (int64 i2, bool c2, float[k2] s2) => (bool c2, float[m2] t2) {
      t2 = Loop (n, , s2) <body = b3 (int64 i3, bool c3, float[k3] s3) => (bool c3, float[m3] t3) {
        t3 = Loop (n, , s3) <body = b4 (int64 i4, bool c4, float[k4] s4) => (bool c4, float[m4] t4) {
          t4 = Loop (n, , s4) <body = b5 (int64 i5, bool c5, float[k5] s5) => (bool c5, float[m5] t5) {
            t5 = Loop (n, , s5) <body = b6 (int64 i6, bool c6, float[k6] s6) => (bool c6, float[m6] t6) {
              t6 = Concat <axis = 0> (s6, x)
            }>
          }>
        }>
      }>
    }>
  }>
}""", *[{"x": f32([1, 2]), "n": s64(n)} for n in (0, 1, 2)])

graph("scan_in_loop_in_if", """
f (float[t, 2] x, int64 times, bool c) => (float[t, 2] y) {
  y = If (c) <
    then_branch = yes () => (float[t, 2] p) {
      p = Loop (times, , x) <body = step (int64 i, bool more, float[t, 2] s) => (bool more, float[t, 2] u) {
        zero = Constant <value = float[2] {0.0, 0.0}> ()
        last, u = Scan <num_scan_inputs = 1, body = sum (float[2] a, float[2] e) => (float[2] b, float[2] o) {
          b = Add (a, e)
          fi = Cast <to = 1> (i)
          o = Add (b, fi)
        }> (zero, s)
      }>
    },
    else_branch = no () => (float[t, 2] q) { q = Neg (x) }
  >
}""", *[{"x": random(t, t, 2), "times": s64(n), "c": flag(c)} for t, n, c in ((3, 2, True), (3, 0, True), (4, 1, False))])

graph("loop_in_scan_as_long_as_its_element_says", """
f (int64[t] counts, float[2] x) => (float[2] y, float[t, 2] all) {
  y, all = Scan <num_scan_inputs = 1, body = step (float[2] s, int64 n) => (float[2] u, float[2] o) {
    u = Loop (n, , s) <body = inner (int64 i, bool more, float[2] p) => (bool more, float[2] q) {
      half = Constant <value = float {0.5}> ()
      h = Mul (p, half)
      q = Add (h, x)
    }>
    o = Identity (u)
  }> (x, counts)
}""", *[{"counts": s64(n), "x": f32(1, 2)} for n in ([3, 0, 1], [2], [0, 0])])

graph("results_of_an_inner_loop_stacked_in_an_outer", """
f (float[2] x, int64 a, int64 b) => (float[n, m, 2] y) {
  go = Constant <value = bool {1}> ()
  y = Loop (a, go) <body = outer (int64 i, bool more) => (bool more, float[m, 2] rows) {
    fi = Cast <to = 1> (i)
    rows = Loop (b, go) <body = inner (int64 j, bool on) => (bool on, float[2] e) {
      fj = Cast <to = 1> (j)
      p = Mul (x, fj)
      e = Add (p, fi)
    }>
  }>
}""", *[{"x": f32(1, 2), "a": s64(a), "b": s64(b)} for a, b in ((2, 3), (1, 1), (3, 2))])

# ---- If ----
graph("condition_of_one_element", """
f (float[2] x, bool[1] c) => (float[2] y) {
  y = If (c) <then_branch = yes () => (float[2] p) { p = Neg (x) }, else_branch = no () => (float[2] q) { q = Abs (x) }>
}""", *[{"x": f32(1, -2), "c": flag([c])} for c in (True, False)])

graph("branches_of_many_results_some_unused", """
f (float[n] x, bool c) => (float[n] y, int64[k] z) {
  y, unused, z = If (c) <
    then_branch = yes () => (float[n] a, float b, int64[k] s) { a = Neg (x) b = ReduceSum <keepdims = 0> (x) s = Shape (x) },
    else_branch = no () => (float[n] d, float e, int64[m] g) { d = Abs (x) e = ReduceMax <keepdims = 0> (x) h = NonZero (x) flat = Constant <value = int64[1] {-1}> () g = Reshape (h, flat) }
  >
}""", *[{"x": f32(1, 0, -2), "c": flag(c)} for c in (True, False)])

graph("empty_branch_results", """
f (float[n] x, bool c) => (float[k] y) {
  z = If (c) <
    then_branch = yes () => (float[a] p) { p = Constant <value = float[0] {}> () },
    else_branch = no () => (float[b] q) { q = Identity (x) }
  >
  y = Concat <axis = 0> (z, x)
}""", *[{"x": random(n, n), "c": flag(c)} for n in (3, 0) for c in (True, False)])

graph("optional_bias", """
f (float[n, 3] x, bool has) => (float[n, 3] y) {
  w = Constant <value = float[3] {1.0, 2.0, 3.0}> ()
  bias = If (has) <
    then_branch = yes () => (float[3] p) { p = Constant <value = float[3] {0.5, 0.5, 0.5}> () },
    else_branch = no () => (float[1] q) { q = Constant <value = float[1] {0.0}> () }
  >
  m = Mul (x, w)
  y = Add (m, bias)
}""", *[{"x": random(n, n, 3), "has": flag(c)} for n, c in ((2, True), (2, False))])

# ---- Scan ----
graph("scan_of_negative_axes_both_directions", """
f (float[2] h, float[2, 3, t] x, float[t, 2] z) => (float[2] last, float[2, t] a, float[t, 3, 2] b) {
  last, a, b = Scan <num_scan_inputs = 2, scan_input_axes = [-1, -2], scan_input_directions = [1, 0], scan_output_axes = [-1, -3], scan_output_directions = [0, 1],
    body = step (float[2] s, float[2, 3] e, float[2] u) => (float[2] t1, float[2] o, float[3, 2] p) {
      axis = Constant <value = int64[1] {1}> ()
      r = ReduceSum <keepdims = 0> (e, axis)
      t0 = Add (s, r)
      t1 = Mul (t0, u)
      o = Identity (t1)
      p = Transpose (e)
    }> (h, x, z)
}""", *[{"h": f32(1, 2), "x": random(t, 2, 3, t), "z": random(t + 1, t, 2)} for t in (1, 4)])

graph("scan_of_nothing", """
f (float[2] h, float[t, 2] x) => (float[2] last, float[t, 2] a) {
  last, a = Scan <num_scan_inputs = 1, body = step (float[2] s, float[2] e) => (float[2] u, float[2] o) {
    u = Add (s, e)
    o = Neg (u)
  }> (h, x)
}""", *[{"h": f32(1, 2), "x": random(t, t, 2)} for t in (0, 3)], expect=lambda h, x: [h + x.sum(0), -(h + np.cumsum(x, 0))])

graph("scan_of_empty_elements", """
f (float[n] h, float[t, n] x) => (float[n] last, float[t, n] a) {
  last, a = Scan <num_scan_inputs = 1, body = step (float[n] s, float[n] e) => (float[n] u, float[n] o) {
    u = Add (s, e)
    o = Neg (u)
  }> (h, x)
}""", *[{"h": random(n, n), "x": random(t, t, n)} for t, n in ((3, 0), (2, 2))], expect=lambda h, x: [h + x.sum(0), -(h + np.cumsum(x, 0))])

graph("scan_of_scalars_without_states", """
f (float[t] x, int64[t] k) => (float[t] a, int64[t] b) {
  a, b = Scan <num_scan_inputs = 2, scan_output_directions = [1, 0], body = step (float e, int64 m) => (float o, int64 p) {
    f = Cast <to = 1> (m)
    o = Mul (e, f)
    p = Neg (m)
  }> (x, k)
}""", *[{"x": random(t, t), "k": s64(np.arange(t))} for t in (1, 5)])

graph("scan_8_with_lengths", """
f (int64[b] lengths, float[b, 2] h, float[b, t, 2] x) => (float[b, 2] last, float[b, t, 2] all) {
  last, all = Scan <num_scan_inputs = 1, directions = [1], body = step (float[2] s, float[2] e) => (float[2] u, float[2] o) {
    u = Add (s, e)
    o = Mul (u, u)
  }> (lengths, h, x)
}""", *[{"lengths": s64(n), "h": random(1, len(n), 2), "x": random(2, len(n), 3, 2)} for n in ([3, 1], [2, 3])], opset=8, ir=3)

graph("scan_8_of_two_inputs_in_a_branch", """
f (float[b, 2] h, float[b, t, 2] x, float[b, t] z, bool c) => (float[b, 2] y) {
  y = If (c) <
    then_branch = yes () => (float[b, 2] last) {
      last, all = Scan <num_scan_inputs = 2, body = step (float[2] s, float[2] e, float k) => (float[2] u, float[2] o) {
        m = Mul (e, k)
        u = Add (s, m)
        o = Identity (u)
      }> (, h, x, z)
    },
    else_branch = no () => (float[b, 2] q) { q = Neg (h) }
  >
}""", *[{"h": random(1, b, 2), "x": random(2, b, 3, 2), "z": random(3, b, 3), "c": flag(c)} for b, c in ((2, True), (1, False))], opset=8, ir=3)

graph("loop_of_version_1", """
f (float[2] x, int64 times) => (float[2] y, float[k, 2] all) {
  go = Constant <value = bool {1}> ()
  y, all = Loop (times, go, x) <body = step (int64 i, bool more, float[2] s) => (bool again, float[2] t, float[2] e) {
    again = Identity (more)
    t = Add (s, s)
    e = Neg (s)
  }>
}""", *[{"x": f32(1, 2), "times": s64(n)} for n in (0, 3)], opset=7, ir=3)

# ---- greedy decoding, beam search in small, as exporters write them ----
graph("greedy_decoder", """
f (float[v, d] embed, float[d, v] head, int64 first, int64 end, int64 most) => (int64[k] tokens) {
  axis = Constant <value = int64[1] {0}> ()
  go = Constant <value = bool {1}> ()
  start = Unsqueeze (first, axis)
  tokens = Loop (most, go, start) <body = step (int64 i, bool more, int64[n] past) => (bool again, int64[m] now) {
    states = Gather (embed, past)
    mean = ReduceMean <axes = [0], keepdims = 1> (states)
    logits = MatMul (mean, head)
    best = ArgMax <axis = 1, keepdims = 0> (logits)
    now = Concat <axis = 0> (past, best)
    token = Squeeze (best, axis)
    same = Equal (token, end)
    again = Not (same)
  }>
}""", *[{"embed": random(1, 7, 4), "head": random(2, 4, 7), "first": s64(a), "end": s64(e), "most": s64(m)} for a, e, m in ((0, 3, 6), (2, 5, 9), (1, 1, 0))])

graph("key_value_cache_in_a_loop", """
f (float[1, d] x, float[d, d] wq, float[d, d] wk, float[d, d] wv, int64 steps) => (float[1, d] y, float[n, d] keys) {
  empty = Constant <value = float[0, 4] {}> ()
  y, keys, values = Loop (steps, , x, empty, empty) <body = step (int64 i, bool more, float[1, d] h, float[p, d] k, float[p, d] v) => (bool more, float[1, d] o, float[q, d] k2, float[q, d] v2) {
    query = MatMul (h, wq)
    key = MatMul (h, wk)
    value = MatMul (h, wv)
    k2 = Concat <axis = 0> (k, key)
    v2 = Concat <axis = 0> (v, value)
    kt = Transpose <perm = [1, 0]> (k2)
    scores = MatMul (query, kt)
    weights = Softmax <axis = -1> (scores)
    o = MatMul (weights, v2)
  }>
}""", *[{"x": random(1, 1, 4), "wq": random(2, 4, 4), "wk": random(3, 4, 4), "wv": random(4, 4, 4), "steps": s64(n)} for n in (0, 1, 4)])

graph("bubble_sort", """
f (float[n] x) => (float[n] y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  axis = Constant <value = int64[1] {0}> ()
  n = Size (x)
  less = Sub (n, one)
  y = Loop (n, , x) <body = outer (int64 i, bool more, float[n] s) => (bool more, float[n] t) {
    t = Loop (less, , s) <body = inner (int64 j, bool on, float[n] u) => (bool on, float[n] v) {
      j1 = Add (j, one)
      a = Unsqueeze (j, axis)
      b = Unsqueeze (j1, axis)
      p = Gather (u, a)
      q = Gather (u, b)
      low = Min (p, q)
      high = Max (p, q)
      at = Concat <axis = 0> (a, b)
      both = Concat <axis = 0> (low, high)
      v = ScatterElements (u, at, both)
    }>
  }>
}""", *[{"x": random(n, n)} for n in (1, 2, 6)])

graph("strings_in_a_loop", """
f (string[n] x, int64 times) => (string[k] y, string[m, n] all) {
  y, all = Loop (times, , x) <body = step (int64 i, bool more, string[p] s) => (bool more, string[q] t, string[n] e) {
    t = Concat <axis = 0> (s, x)
    e = Identity (x)
  }>
}""", *[{"x": np.array(v, object), "times": s64(n)} for v, n in ((["a", "bc"], 2), (["", "grün", "x" * 50], 0))],
      expect=lambda x, times: [np.concatenate([x] * (times + 1)), np.tile(x, (times, 1)) if times else np.empty((0, len(x)), object)])

# ---- states that change their rank ----
graph("state_of_rank_zero_becomes_a_vector", """
f (float x, float[3] v, int64 times) => (float[k] y) {
  r = Loop (times, , x) <body = step (int64 i, bool more, float s) => (bool again, float[3] t) {
    again = Identity (more)
    t = Add (s, v)
  }>
  flat = Constant <value = int64[1] {-1}> ()
  y = Reshape (r, flat)
}""", *[{"x": f32(2), "v": f32(1, 2, 3), "times": s64(n)} for n in (0, 1, 3)], expect=lambda x, v, times: [np.reshape(x + v * f32(times) if times else x, -1)])

graph("state_of_rank_zero_becomes_a_vector_constant_count", """
f (float x, float[3] v) => (float[3] y) {
  times = Constant <value = int64 {3}> ()
  y = Loop (times, , x) <body = step (int64 i, bool more, float s) => (bool again, float[3] t) {
    again = Identity (more)
    t = Add (s, v)
  }>
}""", {"x": f32(2), "v": f32(1, 2, 3)})

graph("state_of_rank_one_becomes_a_matrix", """
f (float[n] x, float[m, 1] v, int64 times) => (float[a, b] y) {
  one = Constant <value = int64 {1}> ()
  all = Add (times, one)
  y = Loop (all, , x) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q, r] t) {
    again = Identity (more)
    t = Sub (s, v)
  }>
}""", *[{"x": random(n, n), "v": random(m, m, 1), "times": s64(t)} for n, m, t in ((3, 2, 2), (1, 1, 0))])

graph("if_in_if_of_different_ranks", """
f (float[2, 3] x, bool a, bool b) => (float y) {
  r = If (a) <
    then_branch = yes () => (float[k] p) {
      p = If (b) <
        then_branch = yy () => (float[2] p1) { p1 = ReduceSum <keepdims = 0> (x, one) },
        else_branch = yn () => (float p2) { p2 = ReduceMax <keepdims = 0> (x) }
      >
    },
    else_branch = no () => (float[2, 3] q) { q = Neg (x) }
  >
  y = ReduceSum <keepdims = 0> (r)
}""".replace("r = If", "one = Constant <value = int64[1] {1}> ()\n  r = If"), *[{"x": random(1, 2, 3), "a": flag(a), "b": flag(b)} for a in (True, False) for b in (True, False)])

graph("rank_that_grows_with_every_iteration", """
f (float[2] x) => (float[2, 1, 1, 1] y, float[3] sums) {
  times = Constant <value = int64 {3}> ()
  axis = Constant <value = int64[1] {-1}> ()
  y, sums = Loop (times, , x) <body = step (int64 i, bool more, float[p] s) => (bool again, float[q, 1] t, float e) {
    again = Identity (more)
    f = Cast <to = 1> (i)
    u = Add (s, f)
    t = Unsqueeze (u, axis)
    e = ReduceSum <keepdims = 0> (t)
  }>
}""", {"x": f32(2, 1)}, expect=lambda x: [np.reshape(x + 3, (2, 1, 1, 1)), f32([x.sum(), x.sum() + 2, x.sum() + 6])])

graph("rank_changes_while_data_go_on", """
f (float x, float[3] v, float limit, int64 times) => (float total, float[k] seen) {
  r, seen = Loop (times, , x) <body = step (int64 i, bool more, float s) => (bool again, float[3] t, float e) {
    t = Add (s, v)
    e = ReduceMax <keepdims = 0> (t)
    again = Less (e, limit)
  }>
  total = ReduceSum <keepdims = 0> (r)
}""", *[{"x": f32(2), "v": f32(1, 2, 3), "limit": f32(m), "times": s64(n)} for m, n in ((0, 4), (9, 4), (100, 3), (9, 0))],
      expect=lambda x, v, limit, times: (lambda k: [np.sum(x + v * k if k else x, dtype=np.float32), (x + 3 * np.arange(1, k + 1)).astype(np.float32)])(
          next((k for k in range(1, times + 1) if x + 3 * k >= limit), times)))

# ---- states that a body only reads ----
graph("loop_hands_on_weights_and_shapes", """
f (float[2, 3] x, float[3, 3] w, int64 times) => (float[a, b] y, float[3, 3] w1, int64[2] shape1) {
  shape = Constant <value = int64[2] {3, 2}> ()
  y, w1, shape1 = Loop (times, , x, w, shape) <body = step (int64 i, bool more, float[2, 3] s, float[3, 3] v, int64[2] to) => (bool again, float[2, 3] t, float[3, 3] v2, int64[2] to1) {
    again = Identity (more)
    m = MatMul (s, v)
    turned = Reshape (m, to)
    back = Transpose <perm = [1, 0]> (turned)
    t = Relu (back)
    v1 = Identity (v)
    v2 = Identity (v1)
    to1 = Identity (to)
  }>
}""", *[{"x": random(1, 2, 3), "w": random(2, 3, 3), "times": s64(n)} for n in (0, 1, 3)])

graph("state_handed_on_beside_one_that_changes_places", """
f (float[2] x, float[2] u, float[2] v, bool go) => (float[2] y, float[2] k, float[2] a, float[2] b, float[n, 2] all) {
  limit = Constant <value = float {9.0}> ()
  y, k, a, b, all = Loop (, go, x, u, u, v) <body = step (int64 i, bool more, float[2] s, float[2] kept, float[2] p, float[2] q) => (bool again, float[2] t, float[2] kept, float[2] q1, float[2] p1, float[2] e) {
    s1 = Add (s, kept)
    t = Add (s1, p)
    most = ReduceMax <keepdims = 0> (t)
    again = Less (most, limit)
    q1 = Identity (q)
    p1 = Identity (p)
    e = Mul (kept, t)
  }>
}""", *[{"x": f32(1, 2), "u": f32(1, 3), "v": f32(2, 0.5), "go": flag(b)} for b in (True, False)])

graph("scan_hands_on_a_state", """
f (float[4, 3] x, float[3] w, float[3] s) => (float[3] w1, float[3] last, float[4, 3] all) {
  w1, last, all = Scan <num_scan_inputs = 1, body = step (float[3] v, float[3] t, float[3] e) => (float[3] v1, float[3] t1, float[3] g) {
    v1 = Identity (v)
    m = Mul (v, e)
    t1 = Add (t, m)
    g = Identity (t1)
  }> (w, s, x)
}""", {"x": random(1, 4, 3), "w": random(2, 3), "s": random(3, 3)})
