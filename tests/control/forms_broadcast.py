"""Open sizes that broadcast where only a call tells which of them are 1: three and more operands, chains, ellipses, scales of normalisations; sums over labels of other names; and integers that are scaled and interpolated."""
import numpy as np

from case_list import graph, random


def form(name, inputs, outputs, body, *calls, **more):
    graph(name, f"f ({inputs}) => ({outputs}) {{\n{body}\n}}", *calls, **more)


def numbers(**shapes):
    return {name: random(len(name) + sum(shape), *shape) for name, shape in shapes.items()}


SIZES = ((1, 1, 3), (1, 3, 1), (3, 1, 1), (1, 1, 1), (3, 3, 1), (1, 3, 3), (3, 1, 3), (4, 4, 4))
THREE = "float[a] x, float[b] s, float[c] z"
THREE_CALLS = [numbers(x=(a,), s=(b,), z=(c,)) for a, b, c in SIZES]
form("three_sizes_that_broadcast", THREE, "float[o] y, float[p] m, float[q] t", "  y = Sum (x, s, z)\n  m = Max (x, s, z)\n  t = Mean (z, x, s)", *THREE_CALLS)
form("chains_of_sizes_that_broadcast", THREE, "float[o] y, float[p] w", """  t = Add (x, s)
  r = Relu (t)
  y = Mul (r, z)
  l = Less (x, z)
  w = Where (l, s, y)""", *THREE_CALLS)
form("pairs_of_sizes_that_broadcast", THREE + ", float[d] v", "float[o] y", "  t = Add (x, s)\n  u = Sub (z, v)\n  y = Mul (t, u)",
     *[numbers(x=(a,), s=(b,), z=(c,), v=(d,)) for a, b, c in SIZES for d in (1, max(a, b, c))])
form("batches_of_products_that_broadcast", "float[a,2,3] x, float[b,3,4] s, float[c,4,2] z", "float[o,2,2] y", "  t = MatMul (x, s)\n  y = MatMul (t, z)",
     *[numbers(x=(a, 2, 3), s=(b, 3, 4), z=(c, 4, 2)) for a, b, c in SIZES])

ELLIPSES = [("...ij,...jk->...ik", "float[a,2,3] x, float[b,3,4] s", "float[o,2,4] y", ((2, 3), (3, 4))),
            ("...i,...i->...", "float[a,5] x, float[b,5] s", "float[o] y", ((5,), (5,))), ("...i,...i", "float[a,5] x, float[b,5] s", "float[o] y", ((5,), (5,))),
            ("...i,...j->...ij", "float[a,5] x, float[b,6] s", "float[o,5,6] y", ((5,), (6,))), ("...,...->...", "float[a] x, float[b] s", "float[o] y", ((), ()))]
for at, (equation, inputs, outputs, (x, s)) in enumerate(ELLIPSES):
    form(f"ellipses_that_broadcast_{at}", inputs, outputs, f'  y = Einsum <equation = "{equation}"> (x, s)',
         *[numbers(x=(a, *x), s=(b, *s)) for a, b in ((1, 1), (4, 1), (1, 4), (4, 4))])

# Labels whose sizes have other names in each operand, two or more of them summed.
SUMS = [("ij,ij->", "float[a,b] x, float[c,d] s", "float y", (2, 3), (2, 3)), ("ij,ji->", "float[a,b] x, float[c,d] s", "float y", (2, 3), (3, 2)),
        ("bij,bij->b", "float[a,b,c] x, float[d,e,f] s", "float[o] y", (4, 2, 3), (4, 2, 3)), ("bqhd,hdm->bqm", "float[b,q,h,d] x, float[k,l,m] s", "float[o,p,r] y", (2, 3, 4, 5), (4, 5, 6)),
        ("ijk,kjl->il", "float[a,b,c] x, float[d,e,f] s", "float[o,p] y", (2, 3, 4), (4, 3, 5)), ("ijk,jk->i", "float[a,2,c] x, float[d,e] s", "float[o] y", (3, 2, 5), (2, 5)),
        ("ij,kij->k", "float[a,b] x, float[c,d,e] s", "float[o] y", (2, 3), (5, 2, 3))]
for at, (equation, inputs, outputs, x, s) in enumerate(SUMS):
    form(f"sums_over_labels_of_other_names_{at}", inputs, outputs, f'  y = Einsum <equation = "{equation}"> (x, s)', numbers(x=x, s=s))
    form(f"sums_of_halves_over_labels_of_other_names_{at}", inputs.replace("float", "float16"), outputs.replace("float", "float16"), f'  y = Einsum <equation = "{equation}"> (x, s)',
         {name: value.astype(np.float16) for name, value in numbers(x=x, s=s).items()})

form("scales_of_sizes_that_are_one", "float[b,t,c] x, float[u,v] w, float[k] z", "float[b,t,c] y, float[b,t,c] r", """  y = LayerNormalization <axis = 1> (x, w, z)
  r = RMSNormalization <axis = 1> (x, w)""", *[numbers(x=(2, 3, 4), w=(u, v), z=(k,)) for u in (1, 3) for v in (1, 4) for k in (1, 4)], opset=23, ir=10)
form("shape_of_an_empty_tensor_by_data", "float[2,0] x, float[n,0] z, int64[2] shape", "float[o,p] y, float[q,r] w", "  y = Reshape (x, shape)\n  w = Reshape (z, shape)",
     *[{"x": np.zeros((2, 0), np.float32), "z": np.zeros((n, 0), np.float32), "shape": np.array(shape)} for n in (2, 3) for shape in ((-1, 2), (3, -1), (2, 0))])

whole = "  y = Gemm <alpha = 0.5, beta = 0.5> (a, b, c)\n  z = Gemm <alpha = 2.5, beta = 1.5> (a, b, c)\n  w = Gemm <alpha = 0.5> (a, b)\n  v = Gemm <alpha = 3.0, beta = -2.0> (a, b, c)"
form("gemm_of_integers_by_fractions", "int32[2,3] a, int32[3,4] b, int32[4] c", "int32[2,4] y, int32[2,4] z, int32[2,4] w, int32[2,4] v", whole,
     {"a": np.array([[1, 2, 3], [4, 5, 7]], np.int32), "b": np.arange(12, dtype=np.int32).reshape(3, 4), "c": np.array([5, 7, 9, 1], np.int32)})

def one_value(x):
    return [np.full((1, 1, 11, 14), x.flat[0], x.dtype)] * 8


RESIZES = "".join(f"""  y{at} = Resize <mode = "{mode}", {more}coordinate_transformation_mode = "{places}"> (x, none, scales)
""" for at, (mode, places, more) in enumerate((m, p, a) for m in ("linear", "cubic") for p in ("half_pixel", "align_corners") for a in ("", "antialias = 1, ")))
for type, name in ((np.uint8, "uint8"), (np.int8, "int8"), (np.int32, "int32")):
    form(f"images_of_one_value_resized_{name}", f"{name}[1,1,7,9] x", ", ".join(f"{name}[1,1,11,14] y{k}" for k in range(8)),
         "  none = Constant <value = float[0] {}> ()\n  scales = Constant <value = float[4] {1.0, 1.0, 1.7, 1.6}> ()\n" + RESIZES,
         *[{"x": np.full((1, 1, 7, 9), v, type)} for v in (1, 3, 93, 119, -77 if type != np.uint8 else 255)], opset=19, ir=9, expect=one_value)
