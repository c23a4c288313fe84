"""Ranks that only data tell: branches in functions, lists of open length, tensors of several ranks in a sequence."""
import numpy as np

from case_list import f32, flag, graph, random, s64


def ints(*values):
    return np.array(values, np.int64)


graph("branches_of_two_ranks_in_a_function", """
f (float[2, 3] x, bool c) => (float[3] y) {
  a = local.outer <by = 2.0> (x, c)
  axes = Constant <value = int64[1] {-1}> ()
  s = ReduceMax <axes = [-1], keepdims = 0> (a)
  t = Flatten <axis = 0> (s)
  y1 = ReduceSum <keepdims = 0> (t, axes)
  y = Expand (y1, three)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
outer <by: float = 1.0> (x, c) => (y) {
  p = local.inner <by: float = @by, axis = 1> (x, c)
  k = Constant <value_float: float = @by> ()
  y = Mul (p, k)
}
<domain: "local", opset_import: ["" : 17]>
inner <by, axis> (x, c) => (y) {
  r = If (c) <
    then_branch = yes () => (float[k, 2, 3] r) {
      zero = Constant <value = int64[1] {0}> ()
      r = Unsqueeze (x, zero)
    },
    else_branch = no () => (float[2, 3] r) { r = Neg (x) }
  >
  m = Constant <value_float: float = @by> ()
  s = Add (r, m)
  y = Softmax <axis: int = @axis> (s)
}""".replace("(float[2, 3] x, bool c) => (float[3] y)", "(float[2, 3] x, bool c, int64[1] three) => (float[m] y)"),
      *[{"x": random(1, 2, 3), "c": flag(c), "three": ints(3)} for c in (True, False)], domains={"local": 1}, ir=9)

graph("branches_of_two_ranks_behind_which_a_function_fits_one", """
f (float[4] x, bool c) => (float[2, 2] y) {
  y = local.rows (x, c)
}
<domain: "local", opset_import: ["" : 17]>
rows (x, c) => (y) {
  r = If (c) <
    then_branch = yes () => (float[2, 2] r) {
      two = Constant <value = int64[2] {2, 2}> ()
      r = Reshape (x, two)
    },
    else_branch = no () => (float[1, 1, 4] r) {
      three = Constant <value = int64[3] {1, 1, 4}> ()
      r = Reshape (x, three)
    }
  >
  y = Transpose <perm = [1, 0]> (r)
}""", {"x": random(2, 4), "c": flag(True)}, domains={"local": 1}, ir=9)

graph("shape_of_any_length_behind_which_ranks_meet", """
f (float[24] x, int64[n] shape, float[m] w) => (float[a] y) {
  r = Reshape (x, shape)
  t = Relu (r)
  f = Flatten (t)
  two = Constant <value = int64[1] {1}> ()
  y = ReduceSum <keepdims = 0> (f, two)
}""", *[{"x": random(3, 24), "shape": ints(*s), "w": f32([1])} for s in ((24,), (4, 6), (2, 3, 4), (3, 2, 2, 2), (2, 12, 1))])

graph("constant_of_a_shape_of_any_length_that_a_permutation_tells", """
f (int64[n] shape, float[2, 3, 4] x) => (float[a, b, c] y) {
  ones = ConstantOfShape <value = float[1] {1.0}> (shape)
  turned = Transpose <perm = [2, 0, 1]> (ones)
  u = Transpose <perm = [2, 0, 1]> (x)
  y = Add (turned, u)
}""", *[{"shape": ints(*s), "x": random(4, 2, 3, 4)} for s in ((2, 3, 4), (1, 3, 1))])

graph("unsqueeze_by_a_list_of_any_length", """
f (float[2, 1, 3] x, int64[p] more) => (float u) {
  a = Unsqueeze (x, more)
  u = ReduceSum <keepdims = 0> (a)
}""", *[{"x": random(5, 2, 1, 3), "more": ints(*m)} for m in ((0,), (1, 3), (), (-1, 2, 0))])

graph("squeeze_by_a_list_of_any_length", """
f (float[2, 1, 3, 1] x, int64[p] fewer) => (float u) {
  a = Squeeze (x, fewer)
  u = ReduceL2 <keepdims = 0> (a)
}""", *[{"x": random(6, 2, 1, 3, 1), "fewer": ints(*m)} for m in ((1,), (1, 3), (-1,))])

graph("reduce_by_lists_of_any_length", """
f (float[2, 2, 3] x, int64[r] over) => (float t, float v) {
  c = ReduceSum <keepdims = 0> (x, over)
  t = ReduceMax <keepdims = 0> (c)
  d = ReduceSum <keepdims = 0, noop_with_empty_axes = 1> (x, over)
  v = ReduceMin <keepdims = 0> (d)
}""", *[{"x": random(5, 2, 2, 3), "over": ints(*o)} for o in ((0,), (), (2, 0), (0, 1, 2))])

graph("expand_to_a_shape_of_any_length", """
f (float[3, 1] x, int64[n] shape) => (float y) {
  e = Expand (x, shape)
  y = ReduceSum <keepdims = 0> (e)
}""", *[{"x": random(6, 3, 1), "shape": ints(*s)} for s in ((), (4,), (3, 2), (2, 3, 2), (1, 2, 1, 5))])

graph("tuples_of_any_length", """
f (float[3, 4, 5] x, int64[n, k] at) => (float[n] y) {
  g = GatherND (x, at)
  s = Flatten (g)
  one = Constant <value = int64[1] {1}> ()
  y = ReduceMean <axes = [1], keepdims = 0> (s)
}""", *[{"x": random(7, 3, 4, 5), "at": np.array(a, np.int64)} for a in ([[0, 1], [2, -1]], [[1, 3, 4]], [[1], [0], [2]])])

graph("image_of_any_number_of_axes", """
f (float[1, 5, 5] x, int64[n] image, int64[n] block) => (float y) {
  i = Col2Im (x, image, block)
  y = ReduceMax <keepdims = 0> (i)
}""", *[{"x": random(8, 1, 5, 5), "image": ints(*i), "block": ints(*b)} for i, b in (((5, 5), (1, 5)), ((9,), (5,)))], opset=18)

MIXED = [f32(1, 2, 3), f32([[4, 5], [6, 7]]), np.array(8, np.float32), f32([[[9, 10]]])]
graph("item_of_a_sequence_of_several_ranks", """
f (float[3] a, float[2, 2] b, float c, float[1, 1, 2] d, int64 at) => (float y, float[m] z) {
  s = SequenceConstruct (a, b, c, d)
  x = SequenceAt (s, at)
  y = ReduceSum <keepdims = 0> (x)
  all = Constant <value = int64[1] {-1}> ()
  z = Reshape (x, all)
}""", *[{**dict(zip("abcd", MIXED)), "at": s64(at)} for at in (0, 1, 2, 3, -1, -3)])

graph("item_of_a_given_sequence_of_any_ranks", """
f (seq(float[]) s, int64 at) => (float y) {
  x = SequenceAt (s, at)
  y = ReduceMax <keepdims = 0> (x)
}""", *[{"s": MIXED[k:] + MIXED[:k], "at": s64(at)} for k, at in ((0, 0), (1, 1), (2, 1), (0, -2))],
      expect=lambda s, at: [np.max(s[int(at)])])

graph("items_of_several_ranks_where_the_rest_fits_one", """
f (float[3] a, float[2, 2] b, int64 at) => (float[2, 2] y) {
  s = SequenceConstruct (a, b)
  x = SequenceAt (s, at)
  y = MatMul (b, x)
  z = Transpose <perm = [1, 0]> (x)
}""", {"a": MIXED[0], "b": MIXED[1], "at": s64(1)})

graph("map_over_a_sequence_of_any_ranks", """
f (seq(float[]) s, float k) => (seq(float[]) r) {
  r = SequenceMap (s, k) <body = each (float[] x, float[] by) => (float[] y) { y = Mul (x, by) }>
}""", *[{"s": MIXED[:n], "k": np.array(-2, np.float32)} for n in (4, 1)], expect=lambda s, k: [[np.array(v * k) for v in s]])

graph("map_over_two_sequences_of_which_one_has_any_ranks", """
f (seq(float[]) s, seq(float[n]) t) => (seq(float) r) {
  r = SequenceMap (s, t) <body = each (float[] x, float[] y) => (float[] z) {
    a = ReduceMax <keepdims = 0> (x)
    b = ReduceMax <keepdims = 0> (y)
    z = Add (a, b)
  }>
}""", {"s": MIXED[:3], "t": [f32(1, 2), f32(3, 5), f32(2, 2)]}, expect=lambda s, t: [[np.array(np.max(x) + np.max(y)) for x, y in zip(s, t)]])

graph("map_over_a_sequence_where_the_body_fits_one_rank", """
f (seq(float[]) s) => (seq(float[]) r) {
  r = SequenceMap (s) <body = each (float[] x) => (float[] y) { y = Transpose <perm = [1, 0]> (x) }>
}""", {"s": [MIXED[1], f32([[1, 2, 3]])]}, expect=lambda s: [[v.T for v in s]])

graph("branch_that_is_always_an_error", """
f (float[3] x, bool c) => (float[3] y) {
  y = If (c) <
    then_branch = yes () => (float[3] r) { r = Neg (x) },
    else_branch = no () => (float[3] r) {
      never = Constant <value = int64 {0}> ()
      none = Loop (never) <body = step (int64 i, bool more) => (bool more, float[3] e) { e = Relu (x) }>
      last = Constant <value = int64 {-1}> ()
      r = Gather <axis = 0> (none, last)
    }
  >
}""", {"x": f32(1, 2, 3), "c": flag(True)})

graph("rank_chosen_in_a_loop", """
f (float[24] x, int64[n] shape, int64 times) => (float y, float[m] e) {
  z = Constant <value = float {0.0}> ()
  y, e = Loop (times, , z) <body = b (int64 i, bool go, float s) => (bool go2, float t, float u) {
    go2 = Identity (go)
    r = Reshape (x, shape)
    p = ReduceMax <axes = [0], keepdims = 0> (r)
    u = ReduceSum <keepdims = 0> (p)
    t = Add (s, u)
  }>
}""", *[{"x": random(1, 24), "shape": ints(*s), "times": s64(t)} for s, t in (((24,), 2), ((2, 12), 3), ((2, 3, 4), 1))])

graph("rank_chosen_in_a_function_in_a_branch", """
f (float[24] x, int64[n] shape, bool c) => (float[k] y) {
  y = If (c) <then_branch = t () => (float[k] r) { r = l.g (x, shape) }, else_branch = e () => (float[k] r) { r = Neg (x) }>
}
<domain: "l", opset_import: ["" : 17]>
g (x, shape) => (y) {
  r = Reshape (x, shape)
  m = Constant <value_ints = [-1]> ()
  q = Transpose (r)
  y = Reshape (q, m)
}""", *[{"x": random(1, 24), "shape": ints(*s), "c": flag(c)} for s, c in (((24,), True), ((2, 12), True), ((2, 3, 4), True), ((2, 12), False))], domains={"l": 1}, ir=9)

graph("rank_chosen_in_a_scan", """
f (float[3, 12] x, int64[n] shape) => (float[3] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[12] v) => (float w) { r = Reshape (v, shape) q = ReduceMax <axes=[0], keepdims=0> (r) w = ReduceSum <keepdims = 0> (q) }> (x)
}""", *[{"x": random(1, 3, 12), "shape": ints(*s)} for s in ((12,), (3, 4), (2, 2, 3))])

graph("item_of_several_ranks_in_a_loop", """
f (float[2] a, float[2, 2] b, int64 times) => (float s) {
  q = SequenceConstruct (a, b)
  z = Constant <value = float {0.0}> ()
  two = Constant <value = int64 {2}> ()
  s = Loop (times, , z) <body = bd (int64 i, bool go, float acc) => (bool go2, float nx) {
    go2 = Identity (go)
    at = Mod (i, two)
    v = SequenceAt (q, at)
    m = ReduceSum <keepdims = 0> (v)
    nx = Add (acc, m)
  }>
}""", *[{"a": f32(1,2), "b": f32([[3,4],[5,6]]), "times": s64(t)} for t in (0,1,3)])
