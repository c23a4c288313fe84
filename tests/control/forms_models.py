"""Forms of models: sequences and optionals in control flow, functions, shadowed names, declarations that are absent or wrong, old and new imports."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

from case_list import f32, flag, graph, random, s64

# ---- sequences, optionals ----
graph("sequence_as_state_items_of_growing_size", """
f (float[n] x, int64 times) => (seq(float[k]) y, float[m] joined) {
  e = SequenceEmpty <dtype = 1> ()
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64 {1}> ()
  s0 = SequenceInsert (e, x)
  y = Loop (times, , s0) <body = step (int64 i, bool more, seq(float[p]) s) => (bool more, seq(float[q]) t) {
    next = Add (i, one)
    end = Unsqueeze (next, zero)
    part = Slice (x, zero, end)
    t = SequenceInsert (s, part)
  }>
  joined = ConcatFromSequence <axis = 0> (y)
}""", *[{"x": random(n, n), "times": s64(t)} for n, t in ((4, 3), (2, 0), (3, 3))])

graph("sequence_reversed_by_a_loop", """
f (seq(float[k]) x) => (seq(float[k]) y) {
  e = SequenceEmpty <dtype = 1> ()
  n = SequenceLength (x)
  one = Constant <value = int64 {1}> ()
  y = Loop (n, , e) <body = step (int64 i, bool more, seq(float[p]) s) => (bool more, seq(float[q]) t) {
    j0 = Sub (n, i)
    j = Sub (j0, one)
    v = SequenceAt (x, j)
    t = SequenceInsert (s, v)
  }>
}""", *[{"x": [random(k, k) for k in ks]} for ks in ((3, 1, 2), (), (0, 4))])

graph("sequence_of_branches", """
f (float[n] x, bool c) => (seq(float[k]) y, int64 count) {
  y = If (c) <
    then_branch = yes () => (seq(float[a]) p) { p = SequenceConstruct (x, x) },
    else_branch = no () => (seq(float[b]) q) { z = Concat <axis = 0> (x, x) q = SequenceConstruct (z) }
  >
  count = SequenceLength (y)
}""", *[{"x": random(n, n), "c": flag(c)} for n, c in ((3, True), (3, False))])

graph("sequences_of_a_bounded_length", """
f (float[n, 3] x, int64[2] sizes, int64 at, bool c) => (seq(float[k, 3]) y) {
  parts = SplitToSequence <axis = 0> (x, sizes)
  part = SequenceAt (parts, at)
  y = If (c) <
    then_branch = yes () => (seq(float[a, 3]) p) { p = SequenceInsert (parts, part) },
    else_branch = no () => (seq(float[b, 3]) q) { q = Identity (parts) }
  >
}""", *[{"x": random(n, n, 3), "sizes": s64([k, n - k]), "at": s64(at), "c": flag(c)} for n, k, at, c in ((5, 2, 0, True), (5, 2, -1, False), (40, 40, 1, True))])

graph("two_sequences_as_states_change_places", """
f (float[2] x, float[3] z, int64 times) => (seq(float[a]) y, seq(float[b]) w) {
  p = SequenceConstruct (x)
  q = SequenceConstruct (z, z)
  y, w = Loop (times, , p, q) <body = step (int64 i, bool more, seq(float[c]) s, seq(float[d]) t) => (bool more, seq(float[e]) s2, seq(float[g]) t2) {
    s2 = Identity (t)
    last = SequenceAt (s, minus)
    t2 = SequenceInsert (s, last)
  }>
}""".replace("p = Seq", "minus = Constant <value = int64 {-1}> ()\n  p = Seq", 1), *[{"x": f32(1, 2), "z": f32(3, 4, 5), "times": s64(t)} for t in (0, 1, 2, 5)])

graph("sequence_drained_by_a_while", """
f (seq(float[2]) x) => (float[2] total, seq(float[2]) left) {
  zero = Constant <value = int64 {0}> ()
  none = Constant <value = float[2] {0.0, 0.0}> ()
  n = SequenceLength (x)
  go = Greater (n, zero)
  total, left = Loop (, go, none, x) <body = step (int64 i, bool more, float[2] s, seq(float[2]) q) => (bool again, float[2] t, seq(float[2]) r) {
    v = SequenceAt (q, zero)
    t = Add (s, v)
    r = SequenceErase (q, zero)
    m = SequenceLength (r)
    again = Greater (m, zero)
  }>
}""", *[{"x": [random(k, 2) for k in range(n)]} for n in (3, 1, 0)])

graph("nested_sequences_in_loops", """
f (float[n, 2] x, int64 a) => (float[m] y) {
  zero = Constant <value = int64[1] {0}> ()
  e = SequenceEmpty <dtype = 1> ()
  s = Loop (a, , e) <body = outer (int64 i, bool more, seq(float[p]) s0) => (bool more, seq(float[q]) s1) {
    e2 = SequenceEmpty <dtype = 1> ()
    row = Gather (x, i)
    inner_seq = Loop (i, , e2) <body = inner (int64 j, bool on, seq(float[r]) u) => (bool on, seq(float[w]) v) {
      fj = Cast <to = 1> (j)
      k = Add (row, fj)
      v = SequenceInsert (u, k)
    }>
    with_row = SequenceInsert (inner_seq, row)
    joined = ConcatFromSequence <axis = 0> (with_row)
    s1 = SequenceInsert (s0, joined)
  }>
  y = ConcatFromSequence <axis = 0> (s)
}""", *[{"x": random(3, 3, 2), "a": s64(a)} for a in (1, 3)])

graph("optional_as_state", """
f (float[2] x, int64 times) => (bool has, float[2] y) {
  none = Optional <type = float[2]> ()
  two = Constant <value = int64 {2}> ()
  last = Loop (times, , none) <body = step (int64 i, bool more, optional(float[2]) o) => (bool more, optional(float[2]) p) {
    f = Cast <to = 1> (i)
    v = Add (x, f)
    early = Less (i, two)
    p = If (early) <
      then_branch = yes () => (optional(float[2]) a) { a = Identity (o) },
      else_branch = no () => (optional(float[2]) b) { b = Optional (v) }
    >
  }>
  has = OptionalHasElement (last)
  y = If (has) <
    then_branch = get () => (float[2] g) { g = OptionalGetElement (last) },
    else_branch = zero () => (float[2] z) { z = Constant <value = float[2] {0.0, 0.0}> () }
  >
}""", *[{"x": f32(1, 2), "times": s64(t)} for t in (0, 2, 3, 5)],
      expect=lambda x, times: [np.array(times > 2), x + np.float32(times - 1) if times > 2 else np.zeros(2, np.float32)])

graph("optional_input_or_default", """
f (optional(float[n]) o, float[n] d) => (float[n] y) {
  has = OptionalHasElement (o)
  y = If (has) <
    then_branch = get () => (float[n] g) { g = OptionalGetElement (o) },
    else_branch = other () => (float[n] z) { z = Neg (d) }
  >
}""", *[{"o": o, "d": f32(1, 2)} for o in (f32(3, 4), None)], opset=18, expect=lambda o, d: [-d if o is None else o])

# ---- names ----
graph("names_of_bodies_hide_those_outside", """
f (float[2] x, int64 times) => (float[2] y, float[2] v) {
  v = Neg (x)
  y = Loop (times, , x) <body = step (int64 i, bool more, float[2] s) => (bool more, float[2] t) {
    w = Add (s, v)
    t = Mul (w, w)
  }>
}""", *[{"x": f32(1, 0.5), "times": s64(t)} for t in (0, 2)],
      change=lambda m: rename_in_body(m, {"w": "v2", "t": "x"}), expect=lambda x, times: [x if times == 0 else x * x, -x])


def rename_in_body(model, to):
    """Text has checks of its own; a body's own names become those of values outside."""
    body = next(a.g for n in model.graph.node if n.op_type == "Loop" for a in n.attribute if a.name == "body")
    for node in body.node:
        node.input[:] = [to.get(n, n) for n in node.input]
        node.output[:] = [to.get(n, n) for n in node.output]
    for o in body.output:
        o.name = to.get(o.name, o.name)


graph("parameter_hides_a_value_outside", """
f (float[2] x, int64 times) => (float[2] y, float[2] z) {
  z = Neg (x)
  y = Loop (times, , z) <body = step (int64 i, bool more, float[2] x) => (bool more, float[2] t) {
    t = Add (x, z)
  }>
}""", *[{"x": f32(1, 0.5), "times": s64(t)} for t in (0, 2)], expect=lambda x, times: [-x * f32(times + 1), -x])

graph("same_names_in_both_branches", """
f (float[2] x, bool c) => (float[2] y) {
  y = If (c) <
    then_branch = b () => (float[2] r) { t = Neg (x) r = Add (t, x) },
    else_branch = b () => (float[2] r) { t = Abs (x) r = Mul (t, x) }
  >
}""", *[{"x": f32(1, -2), "c": flag(c)} for c in (True, False)])

# ---- local functions ----
graph("functions_in_functions_with_references", """
f (float[n] x) => (float[n] y, float[n] z) {
  y = local.outer <slope = 0.25> (x)
  z = local.outer (x)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
outer <slope: float = 0.5> (x) => (y) {
  a = local.leak <alpha: float = @slope> (x)
  b = local.leak <alpha = 0.75> (x)
  y = Add (a, b)
}
<domain: "local", opset_import: ["" : 17]>
leak <alpha> (x) => (y) {
  y = LeakyRelu <alpha: float = @alpha> (x)
}""", {"x": f32(1, -2, 3)}, domains={"local": 1}, ir=9)

graph("function_of_another_opset", """
f (float[2, 3] x) => (float[2] y) {
  s = local.total (x)
  axes = Constant <value = int64[1] {1}> ()
  t = ReduceSum <keepdims = 0> (s, axes)
  y = Neg (t)
}
<domain: "local", opset_import: ["" : 11]>
total (x) => (y) {
  u = Unsqueeze <axes = [0]> (x)
  r = ReduceSum <axes = [0], keepdims = 0> (u)
  y = Clip (r)
}""", {"x": random(1, 2, 3)}, domains={"local": 1}, expect=lambda x: [-x.sum(1)])

graph("function_with_a_loop_that_calls_a_function", """
f (float[n] x, int64 times) => (float[n] y) {
  y = local.repeat <by = 0.5> (x, times)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
repeat <by> (x, times) => (y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[n] s) => (bool more, float[n] t) {
    u = local.scale <by: float = @by> (s)
    t = Add (u, x)
  }>
}
<domain: "local", opset_import: ["" : 17]>
scale <by> (x) => (y) {
  k = Constant <value_float: float = @by> ()
  y = Mul (x, k)
}""", *[{"x": f32(1, -2, 3), "times": s64(t)} for t in (0, 1, 3)], domains={"local": 1}, ir=9)

graph("function_with_left_out_inputs", """
f (float[n] x, float low) => (float[n] y, float[n] z, float[n] w) {
  high = Constant <value = float {1.0}> ()
  y = local.bound (x, low, high)
  z = local.bound (x, , high)
  w = local.bound (x, low)
}
<domain: "local", opset_import: ["" : 17]>
bound (x, low, high) => (y) {
  y = Clip (x, low, high)
}""", {"x": f32(-3, 0, 3), "low": f32(-1)}, domains={"local": 1}, expect=lambda x, low: [np.clip(x, low, 1), np.minimum(x, np.float32(1)), np.maximum(x, low)])

graph("function_with_unused_results", """
f (float[n] x) => (float[n] y) {
  , y = local.both (x)
}
<domain: "local", opset_import: ["" : 17]>
both (x) => (a, b) {
  a = Neg (x)
  b = Abs (a)
}""", {"x": f32(-3, 0, 3)}, domains={"local": 1})

graph("function_called_in_bodies_with_the_callers_names", """
f (float[2] x, float[2] t, int64 times) => (float[2] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[2] s) => (bool more, float[2] u) {
    a = local.twice (s)
    b = local.twice (t)
    u = Add (a, b)
  }>
}
<domain: "local", opset_import: ["" : 17]>
twice (x) => (y) {
  t = Add (x, x)
  y = Neg (t)
}""", *[{"x": f32(1, 2), "t": f32(0.5, 0.25), "times": s64(t)} for t in (0, 2)], domains={"local": 1})

# ---- declarations ----
def forget(model):
    """Neither value_info nor sizes of outputs and of bodies."""
    del model.graph.value_info[:]
    for g in graphs_of(model.graph):
        for info in [*g.output, *(g.input if g is not model.graph else [])]:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")


def forget_types(model):
    """Bodies whose parameters and results have no type at all, as the standard allows."""
    forget(model)
    for g in graphs_of(model.graph):
        if g is not model.graph:
            for info in [*g.output, *g.input]:
                info.ClearField("type")


def lie(model):
    """Sizes in value_info that are wrong."""
    forget(model)
    model.graph.value_info.extend(helper.make_tensor_value_info(n.output[0], 1, [7, "n"]) for n in model.graph.node[:-1])


def graphs_of(g):
    yield g
    for n in g.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(a.g)


BARE = """
f (float[n] x, int64 times, bool c) => (float[m] y, float[k, r] all) {
  a = Neg (x)
  s, all = Loop (times, , a) <body = step (int64 i, bool more, float[n] s) => (bool more, float[n] t, float[n] e) {
    t = Add (s, x)
    e = Mul (s, s)
  }>
  y = If (c) <
    then_branch = yes () => (float[p] b) { b = Concat <axis = 0> (s, x) },
    else_branch = no () => (float[q] d) { d = Abs (s) }
  >
}"""
BARE_CALLS = [{"x": random(n, n), "times": s64(t), "c": flag(c)} for n, t, c in ((3, 2, True), (3, 0, False), (1, 1, True))]
for how in (forget, forget_types, lie):
    graph(f"declarations_{how.__name__}", BARE, *BARE_CALLS, change=how,
          expect=lambda x, times, c: [np.concatenate([x * f32(times - 1), x]) if c else np.abs(x * f32(times - 1)),
                                      np.array([(x * (k - 1)) ** 2 for k in range(times)], np.float32).reshape(times, len(x))])


# ---- sparse tensors ----
def sparse_weight(model):
    values = numpy_helper.from_array(f32(1, 2, 3), "w")
    places = numpy_helper.from_array(s64([1, 3, 5]), "w_places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 3]))


graph("sparse_initializer_in_a_loop", """
f (float[2] x, float[2, 3] w, int64 times) => (float[2] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[2] s) => (bool more, float[2] t) {
    a = MatMul (s, w)
    b = Transpose (w)
    t = MatMul (a, b)
  }>
}""", *[{"x": f32(1, 2), "times": s64(t)} for t in (0, 2)], change=lambda m: (m.graph.input.remove(m.graph.input[1]), sparse_weight(m)))


def sparse_constant(model):
    values = numpy_helper.from_array(f32(1, 2), "v")
    places = numpy_helper.from_array(s64([[0, 1], [1, 0]]), "p")
    body = next(a.g for n in model.graph.node for a in n.attribute if a.name == "body")
    body.node.insert(0, helper.make_node("Constant", [], ["k"], sparse_value=helper.make_sparse_tensor(values, places, [2, 2])))


graph("sparse_constant_in_a_body", """
f (float[2] x, float[2, 2] k, int64 times) => (float[2] y) {
  y = Loop (times, , x) <body = step (int64 i, bool more, float[2] s) => (bool more, float[2] t) { t = MatMul (s, k) }>
}""", *[{"x": f32(1, 2), "times": s64(t)} for t in (0, 2)], change=lambda m: (m.graph.input.remove(m.graph.input[1]), sparse_constant(m)),
      expect=lambda x, times: [x if times == 0 else x @ np.array([[0, 1], [2, 0]], np.float32) @ np.array([[0, 1], [2, 0]], np.float32)])


# ---- imports ----
SIMPLE = """
f (float[n, 3] x, float[3] w) => (float[n, 3] y, float[n] s) {
  m = Mul BROADCAST (x, w)
  r = Relu (m)
  t = Transpose <perm = [1, 0]> (r)
  u = Transpose <perm = [1, 0]> (t)
  y = Softmax <axis = 1> (u)
  s = ReduceSum REDUCE
}"""
for version in range(1, 29):
    text = SIMPLE.replace("BROADCAST", "<broadcast = 1>" if version < 7 else "").replace("REDUCE", "<axes = [1], keepdims = 0> (y)" if version < 13 else "<keepdims = 0> (y, one)")
    if version >= 13:
        text = text.replace("m = Mul", "one = Constant <value = int64[1] {1}> ()\n  m = Mul")
    graph(f"import_of_opset_{version}", text, {"x": random(2, 2, 3), "w": f32(1, 2, 3)}, opset=version, ir=3 if version < 9 else 8,
          expect=lambda x, w: (lambda e: [e / e.sum(1, keepdims=True), np.ones(2, np.float32)])(np.exp(np.maximum(x * w, 0))))


# ---- left out, zero-size, scalars ----
graph("scalars_everywhere", """
f (float x, int64 k, bool c) => (float y, float[1] z, float[k1] t, float w, int64[r] shape, int64 size) {
  a = Neg (x)
  flat = Constant <value = int64[1] {-1}> ()
  none = Constant <value = int64[0] {}> ()
  b = Reshape (a, flat)
  y = Reshape (b, none)
  z = Expand (x, flat1)
  kk = Reshape (k, flat)
  t = Tile (b, kk)
  w = Where (c, x, a)
  shape = Shape (x)
  size = Size (x)
}""".replace("b = Reshape (a", "flat1 = Constant <value = int64[1] {1}> ()\n  b = Reshape (a"), *[{"x": f32(v), "k": s64(k), "c": flag(c)} for v, k, c in ((2, 3, True), (-1, 0, False))])

graph("nothing_through_everything", """
f (float[n, 4] x, float[4, 5] w) => (float[n, 5] y, float[1, 4] s, float[n, 4] t, float[k, 4] u, float[n] r, int64[n] a) {
  m = MatMul (x, w)
  y = Softmax <axis = -1> (m)
  axes = Constant <value = int64[1] {0}> ()
  s = ReduceSum <keepdims = 1> (x, axes)
  t = Tanh (x)
  u = Concat <axis = 0> (x, t)
  r = ReduceMax <axes = [1], keepdims = 0> (x)
  a = ArgMax <axis = 1, keepdims = 0> (x)
}""", *[{"x": random(n, n, 4), "w": random(9, 4, 5)} for n in (0, 2)])

# ---- sequences and optionals as states whose tensors change their sizes ----
graph("optional_state_that_grows", """
f (float[n] x, int64 times) => (float[m] y) {
  o = Optional (x)
  p = Loop (times, , o) <body = step (int64 i, bool more, optional(float[a]) q) => (bool more2, optional(float[b]) r) {
    more2 = Identity (more)
    v = OptionalGetElement (q)
    w = Concat <axis = 0> (v, x)
    r = Optional (w)
  }>
  y = OptionalGetElement (p)
}""", *[{"x": f32([1,2]), "times": s64(t)} for t in (0, 3)], opset=18, expect=lambda x,times: [np.tile(x,int(times)+1)])

graph("sequence_state_of_growing_tensors", """
f (float[n] x, int64 times) => (seq(float[]) s, float[m] all, int64 k) {
  e = SequenceEmpty ()
  one = Constant <value = float[1] {1.0}> ()
  s, last = Loop (times, , e, x) <body = step (int64 i, bool more, seq(float[p]) q, float[a] v) => (bool more2, seq(float[p]) q2, float[b] w) {
    more2 = Identity (more)
    w = Concat <axis = 0> (v, one)
    q2 = SequenceInsert (q, w)
  }>
  with = SequenceInsert (s, x)
  all = ConcatFromSequence <axis = 0> (with)
  k = SequenceLength (s)
}""", *[{"x": f32([1,2]), "times": s64(t)} for t in (0, 1, 4)])


def by_functions(x):
    """inner at 2 and at 0.5, as NumPy has it."""
    two, half = (np.where(x > 0, x, np.float32(a) * np.expm1(x)).astype(np.float32) for a in (2, 0.5))
    return [(two - two.max()).sum(1), half - half.max()]


graph("functions_of_three_opsets_with_defaults", """
f (float[2, 3] x) => (float[k] y, float[2, 3] w) {
  y = l.outer (x)
  w = l.inner <alpha = 0.5> (x)
}
<domain: "l", opset_import: ["" : 11, "l" : 1]>
outer <axis: int = 1, alpha: float = 2.0> (x) => (y) {
  a = l.inner <alpha: float = @alpha> (x)
  y = ReduceSum <axes: ints = [1], keepdims = 0> (a)
  q = Softmax <axis: int = @axis> (a)
}
<domain: "l", opset_import: ["" : 18]>
inner <alpha: float = 0.1> (x) => (y) {
  e = Elu <alpha: float = @alpha> (x)
  k = Constant <value_ints = [1, 0]> ()
  t = Transpose (e)
  r = ReduceMax <keepdims = 1> (t, k)
  y = Sub (e, r)
}""", {"x": random(2, 2, 3)}, domains={"l": 1}, ir=9, expect=by_functions)
