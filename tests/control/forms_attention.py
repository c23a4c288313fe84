"""Attention whose keys are masked, so that blocks of them are passed over: by what the call brings or computes, by coordinates, of heads that share keys and values, of any number of them;
of which all of a query may be masked; of windows."""
import numpy as np

from case_list import graph, random

LEAST = np.finfo(np.float32).min


def hidden(queries, keys, past=None, window=None, end=None, by=LEAST):
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    hide = np.zeros((queries, keys), bool)
    if past is not None:
        hide |= j > i + past
    if window is not None:
        hide |= j < i - window
    if end is not None:
        hide |= j >= end
    return np.where(hide, np.float32(by), random(queries, queries, keys) * np.float32(0.5)).astype(np.float32)


def given(name, heads, queries, keys, mask, depth=24, change=None, sizes=None, scaled=True):
    """softmax(0.125 q k + m) v"""
    s, t = sizes or (queries, keys)
    shape = ", ".join(str({queries: s, keys: t}.get(n, n)) if a >= mask.ndim - 2 else str(n) for a, n in enumerate(mask.shape))
    q, k, v = random(1, 1, heads, queries, depth), random(2, 1, heads, keys, depth), random(3, 1, heads, keys, depth + 9)
    if change:
        change(q, k, v)
    graph(f"attention_{name}", f"""
f (float[1, {heads}, {s}, {depth}] q, float[1, {heads}, {t}, {depth}] k, float[1, {heads}, {t}, {depth + 9}] v, float[{shape}] m) => (float y) {{
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  s = MatMul (q, kt)
  c = Constant <value = float {{0.125}}> ()
  {'s1 = Mul (s, c)' if scaled else 's1 = Identity (s)'}
  s2 = Add (s1, m)
  p = Softmax <axis = -1> (s2)
  y = MatMul (p, v)
}}""", {"q": q, "k": k, "v": v, "m": mask})


def strange(q, k, v):
    k[0, 0, -1, 3] = np.inf
    v[0, 1, -2, 0] = np.nan


def large(q, k, v):
    q *= np.float32(300)
    k *= np.float32(30)


def blind(mask):
    mask = mask.copy()
    mask[5] = LEAST
    return mask


given("causal", 2, 130, 130, hidden(130, 130, past=0))
given("causal_after", 2, 70, 300, hidden(70, 300, past=230))
given("window", 2, 150, 400, hidden(150, 400, past=200, window=10))
given("padded", 3, 40, 600, hidden(1, 600, end=170))
given("padded_of_heads", 2, 50, 330, np.stack([hidden(50, 330, end=e) for e in (60, 300)])[None])
given("infinite", 2, 130, 130, hidden(130, 130, past=0, by=-np.inf))
given("small", 2, 130, 130, hidden(130, 130, past=0, by=-1e4))
given("reached", 2, 60, 200, hidden(60, 200, end=70, by=-300), change=large, scaled=False)
given("strange", 2, 60, 200, hidden(60, 200, end=70), change=strange)
given("blind", 2, 60, 200, blind(hidden(60, 200, end=70)))
given("open", 2, 60, 200, hidden(60, 200, end=70), sizes=("s", "t"))
given("open_few", 2, 3, 2000, hidden(3, 2000, end=70), sizes=("s", "t"))


def by_operator(name, heads, shared, queries, keys, attributes="is_causal = 1", depth=16, sizes=None):
    s, t = sizes or (queries, keys)
    graph(f"attention_{name}", f"""
f (float[2, {heads}, {s}, {depth}] q, float[2, {shared}, {t}, {depth}] k, float[2, {shared}, {t}, {depth}] v) => (float y) {{
  y = Attention <{attributes}> (q, k, v)
}}""", {"q": random(4, 2, heads, queries, depth), "k": random(5, 2, shared, keys, depth), "v": random(6, 2, shared, keys, depth)}, opset=23, ir=11)


by_operator("operator", 2, 2, 140, 140)
by_operator("grouped", 6, 2, 140, 140)
by_operator("grouped_all", 6, 2, 140, 140, "is_causal = 0")
by_operator("grouped_capped", 4, 2, 140, 140, "is_causal = 1, softcap = 3.0")
by_operator("grouped_more_queries", 4, 2, 300, 90)
by_operator("grouped_open", 6, 2, 140, 140, sizes=("s", "t"))
by_operator("grouped_open_few", 6, 2, 2, 900, "is_causal = 0", sizes=("s", "t"))

graph("attention_computed", """
f (float[1, 2, s, 16] q, float[1, 2, t, 16] k, float[1, 2, t, 16] v, int64[1] first, int64[t] seen) => (float[1, 2, s, 16] y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  queries = Shape (q)
  keys = Shape (k)
  two = Constant <value = int64 {2}> ()
  n = Gather <axis = 0> (queries, two)
  m = Gather <axis = 0> (keys, two)
  i = Range (zero, n, one)
  j = Range (zero, m, one)
  last = Constant <value = int64[1] {-1}> ()
  i1 = Unsqueeze (i, last)
  at = Add (i1, first)
  before = LessOrEqual (j, at)
  ones = Greater (seen, zero)
  see = And (before, ones)
  high = Constant <value = float {0}> ()
  low = Constant <value = float {-3.4028234663852886e38}> ()
  mask = Where (see, high, low)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  p = MatMul (q, kt)
  s = Add (p, mask)
  w = Softmax <axis = -1> (s)
  y1 = MatMul (w, v)
  q2 = Add (q, y1)
  p2 = MatMul (q2, kt)
  s2 = Add (p2, mask)
  w2 = Softmax <axis = -1> (s2)
  y = MatMul (w2, v)
}""", *({"q": random(7, 1, 2, s, 16), "k": random(8, 1, 2, t, 16), "v": random(9, 1, 2, t, 16), "first": np.array([first], np.int64), "seen": (np.arange(t) < end).astype(np.int64)}
        for s, t, first, end in ((90, 200, 30, 200), (130, 130, 0, 100), (3, 700, 600, 650))))

for name, mask in {"operator_masked": hidden(90, 200, end=120, by=-np.inf), "operator_blind": np.where(np.arange(90)[:, None] == 7, np.float32(-np.inf), hidden(90, 200, past=40, by=-np.inf))}.items():
    for n, s, t in (("", 90, 200), ("_open", "s", "t")):
        graph(f"attention_{name}{n}", f"""
f (float[2, 4, {s}, 16] q, float[2, 2, {t}, 16] k, float[2, 2, {t}, 16] v, float[1, 1, {s}, {t}] m) => (float y) {{
  y = Attention (q, k, v, m)
}}""", {"q": random(10, 2, 4, 90, 16), "k": random(11, 2, 2, 200, 16), "v": random(12, 2, 2, 200, 16), "m": mask[None, None].astype(np.float32)}, opset=23, ir=11)

for n, s, t in (("", 90, 200), ("_open", "s", "t")):
    graph(f"attention_gated{n}", f"""
f (float[2, 3, {s}, 16] q, float[2, 3, {t}, 16] k, float[2, 3, {t}, 40] v, float[2, 3, {s}, 40] gate, float[40] bias, float[2, 1, {s}, {t}] m) => (float y) {{
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  p = MatMul (q, kt)
  s = Add (p, m)
  w = Softmax <axis = -1> (s)
  o = MatMul (w, v)
  g = Sigmoid (gate)
  o1 = Add (o, bias)
  o2 = Mul (o1, g)
  y = Add (o2, gate)
}}""", {"q": random(13, 2, 3, 90, 16), "k": random(14, 2, 3, 200, 16), "v": random(15, 2, 3, 200, 40), "gate": random(16, 2, 3, 90, 40), "bias": random(17, 40),
        "m": np.stack([hidden(90, 200, end=e) for e in (60, 130)])[:, None]})


def guarded(name, softmax, x, f16=False, opset=20):
    """A softmax whose NaN become zeros, as PyTorch's exporter writes scaled_dot_product_attention."""
    t = "float16" if f16 else "float"
    graph(f"softmax_guarded_{name}", f"""
f ({t}[{', '.join(map(str, x.shape))}] x) => ({t} y) {{
  s = {softmax} (x)
  no = IsNaN (s)
  zero = Constant <value = {t} {{0}}> ()
  y = Where (no, zero, s)
}}""", {"x": x.astype(np.float16 if f16 else np.float32)}, opset=opset)


def odd(x):
    """A row of minus infinities along either axis, NaN and plus infinity in others."""
    x[..., 1, :] = x[..., 3] = -np.inf
    x[..., 2, 5], x[..., 5, 6] = np.nan, np.inf
    return x


guarded("rows", "Softmax <axis = -1>", odd(random(20, 3, 9, 40)))
guarded("short", "Softmax <axis = -1>", odd(random(21, 3, 9, 7)))
guarded("columns", "Softmax <axis = 1>", odd(random(22, 3, 9, 40)))
guarded("log", "LogSoftmax <axis = -1>", odd(random(23, 3, 9, 40)))
guarded("f16", "Softmax <axis = -1>", odd(random(24, 3, 9, 40)), f16=True)

for name, s, t, sizes in (("", 130, 150, None), ("_open", 130, 150, ("s", "t")), ("_few", 3, 400, None), ("_open_few", 3, 400, ("s", "t"))):
    q, k, v = random(30, 1, 2, s, 16), random(31, 1, 2, t, 16), random(32, 1, 2, t, 24)
    v[0, 1, 3, 2], q[0, 0, 2, 4] = np.inf, np.nan
    see = np.tril(np.ones((s, t), bool), 20)
    see[1] = False
    n, m = sizes or (s, t)
    graph(f"attention_guarded{name}", f"""
f (float[1, 2, {n}, 16] q, float[1, 2, {m}, 16] k, float[1, 2, {m}, 24] v, bool[{n}, {m}] see) => (float y) {{
  zero = Constant <value = float {{0}}> ()
  low = Constant <value = float {{-inf}}> ()
  mask = Where (see, zero, low)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  p = MatMul (q, kt)
  s = Add (p, mask)
  w = Softmax <axis = -1> (s)
  no = IsNaN (w)
  w1 = Where (no, zero, w)
  y = MatMul (w1, v)
}}""", {"q": q, "k": k, "v": v, "see": see}, opset=20)

# a mask of constants that hides nothing, as PyTorch's exporter writes vision models; its sizes known or open
for name, n, t in (("", 90, 110), ("_open", "s", "t")):
    graph(f"attention_seeing_all{name}", f"""
f (float[2, 3, {n}, 16] q, float[2, 3, {t}, 16] k, float[2, 3, {t}, 24] v) => (float y) {{
  rows = Shape <start = 2, end = 3> (q)
  columns = Shape <start = 2, end = 3> (k)
  sizes = Concat <axis = 0> (rows, columns)
  true = Constant <value = bool {{1}}> ()
  see = Expand (true, sizes)
  zero = Constant <value = float {{0}}> ()
  low = Constant <value = float {{-3.4028234663852886e38}}> ()
  mask = Where (see, zero, low)
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  p = MatMul (q, kt)
  scale = Constant <value = float {{0.25}}> ()
  p1 = Mul (p, scale)
  s = Add (p1, mask)
  w = Softmax <axis = -1> (s)
  y = MatMul (w, v)
}}""", {"q": random(33, 2, 3, 90, 16), "k": random(34, 2, 3, 110, 16), "v": random(35, 2, 3, 110, 24)}, opset=20)

# windows of an image and a mask of each: the image's axis comes before the mask and goes behind it
for name, images, n in (("", 1, 1), ("_of_two", 2, 2), ("_inferred", 1, "n")):
    graph(f"attention_windows{name}", f"""
f (float[windows, 3, 49, 8] q, float[windows, 3, 49, 8] k, float[windows, 3, 49, 8] v, float[3, 49, 49] bias, float[4, 49, 49] m) => (float y) {{
  kt = Transpose <perm = [0, 1, 3, 2]> (k)
  p = MatMul (q, kt)
  s = Add (p, bias)
  apart = Constant <value = int64[5] {{{-1 if n == "n" else n}, 4, 3, 49, 49}}> ()
  s1 = Reshape (s, apart)
  one = Constant <value = int64[2] {{0, 2}}> ()
  m1 = Unsqueeze (m, one)
  s2 = Add (s1, m1)
  s3 = Relu (s2)
  joined = Constant <value = int64[4] {{-1, 3, 49, 49}}> ()
  s4 = Reshape (s3, joined)
  w = Softmax <axis = -1> (s4)
  y = MatMul (w, v)
}}""".replace("windows", str(4 * images)), {"q": random(40, 4 * images, 3, 49, 8), "k": random(41, 4 * images, 3, 49, 8), "v": random(42, 4 * images, 3, 49, 8), "bias": random(43, 3, 49, 49), "m": random(44, 4, 49, 49)})
