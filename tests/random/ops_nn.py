"""Rows of products, convolutions, pools, normalisation, recurrent layers."""
import numpy as np

from graph import Unfit

REAL = (np.float32,)


def small(g, *shape):
    """Weights: small numbers, so that what is summed stays small."""
    return np.asarray(g.np.integers(-8, 9, shape) / 16, dtype=np.float32)


def matmul(g):
    x = g.pick(REAL + (np.float64, np.int32), 1, 4, test=lambda v: 0 not in v.shape)
    n = g.r.randint(1, 6)
    if x.dtype is np.float32 and g.r.random() < 0.4:
        fits = [v for v in g.pool if v.dtype is x.dtype and v.rank == 2 and v.shape[0] == x.shape[-1]]
        if fits:
            y = g.r.choice(fits)
            g.add("MatMul", [x, y], [(x.dtype, x.shape[:-1] + y.shape[1:], False)])
            return
    batch = x.shape[:-2] if x.rank > 2 and g.r.random() < 0.4 else ()
    shape = batch + (x.shape[-1], n)
    w = g.constant(small(g, *shape) if x.dtype is np.float32 else g.draw(x.dtype, shape))
    g.add("MatMul", [x, w], [(x.dtype, x.shape[:-1] + (n,), x.dtype is np.int32 and x.exact)])


def gemm(g):
    x = g.pick(REAL, 2, 2, test=lambda v: 0 not in v.shape)
    trans_a, trans_b, n = g.r.randint(0, 1), g.r.randint(0, 1), g.r.randint(1, 6)
    m, k = x.shape[::-1] if trans_a else x.shape
    b = g.constant(small(g, *((n, k) if trans_b else (k, n))))
    c = g.constant(small(g, *g.r.choice(((n,), (m, n), (m, 1), (1,), ())))) if g.r.random() < 0.7 else ""
    g.add("Gemm", [x, b, c] if c else [x, b], [(x.dtype, (m, n), False)], transA=trans_a, transB=trans_b, alpha=g.r.choice((1.0, 0.5)), beta=g.r.choice((1.0, 2.0)))


def einsum(g):
    x = g.pick(REAL, 2, 3, test=lambda v: 0 not in v.shape)
    n = g.r.randint(1, 5)
    if x.rank == 2:
        g.add("Einsum", [x, g.constant(small(g, n, x.shape[1]))], [(x.dtype, (n, x.shape[0]), False)], equation="ij,kj->ki")
    else:
        equation, shape, out = g.r.choice((("bij,bjk->bik", (x.shape[0], x.shape[2], n), (x.shape[0], x.shape[1], n)),
                                           ("bij,bj->ib", (x.shape[0], x.shape[2]), (x.shape[1], x.shape[0])),
                                           ("bij,i->bj", (x.shape[1],), (x.shape[0], x.shape[2]))))
        g.add("Einsum", [x, g.constant(small(g, *shape))], [(x.dtype, out, False)], equation=equation)


def window(g, x, transposed=False):
    """(attributes, output sizes) of a sliding window over the last axes."""
    spatial = x.shape[2:]
    kernel = [g.r.randint(1, min(3, n)) for n in spatial]
    stride, dilation = [g.r.randint(1, 2) for _ in spatial], [g.r.choice((1, 1, 2)) for _ in spatial]
    low, high = [g.r.randint(0, k - 1) for k in kernel], [g.r.randint(0, k - 1) for k in kernel]
    if transposed:
        sizes = [(n - 1) * s + (k - 1) * d + 1 - a - b for n, s, k, d, a, b in zip(spatial, stride, kernel, dilation, low, high)]
    else:
        sizes = [(n + a + b - d * (k - 1) - 1) // s + 1 for n, s, k, d, a, b in zip(spatial, stride, kernel, dilation, low, high)]
    if min(sizes) < 1:
        raise Unfit
    sizes = [g.cut(n, size) for n, size in zip(spatial, sizes)]
    return {"kernel_shape": kernel, "strides": stride, "dilations": dilation, "pads": low + high}, sizes


def image(g):
    return g.pick(REAL, 3, 4, test=lambda v: 0 not in v.shape)


def conv(g):
    x = image(g)
    attributes, sizes = window(g, x)
    c = x.shape[1]
    group = g.r.choice([k for k in range(1, c + 1) if c % k == 0])
    m = group * g.r.randint(1, 3)
    w = g.constant(small(g, m, c // group, *attributes["kernel_shape"]))
    operands = [x, w] + ([g.constant(small(g, m))] if g.r.random() < 0.6 else [])
    g.add("Conv", operands, [(x.dtype, (x.shape[0], m, *sizes), False)], group=group, **attributes)


def conv_transpose(g):
    x = image(g)
    attributes, sizes = window(g, x, transposed=True)
    m = g.r.randint(1, 3)
    w = g.constant(small(g, x.shape[1], m, *attributes["kernel_shape"]))
    g.add("ConvTranspose", [x, w], [(x.dtype, (x.shape[0], m, *sizes), False)], **attributes)


def pool(g):
    x = image(g)
    attributes, sizes = window(g, x)
    if g.r.random() < 0.5:
        g.add("MaxPool", [x], [(x.dtype, (*x.shape[:2], *sizes), x.exact)], **attributes)
    else:
        dilations = attributes.pop("dilations")
        if max(dilations) > 1:
            raise Unfit
        g.add("AveragePool", [x], [(x.dtype, (*x.shape[:2], *sizes), False)], count_include_pad=g.r.randint(0, 1), **attributes)


def global_pool(g):
    x = image(g)
    op = g.r.choice(("GlobalAveragePool", "GlobalMaxPool"))
    g.add(op, [x], [(x.dtype, x.shape[:2] + (1,) * (x.rank - 2), x.exact and op == "GlobalMaxPool")])


def softmax(g):
    x = g.pick(REAL, 1, test=lambda v: 0 not in v.shape)
    axis, written = g.axis(x)
    g.add(g.r.choice(("Softmax", "LogSoftmax")), [x], [(x.dtype, x.shape, False)], axis=written)


def normalise(g):
    x = g.pick(REAL, 3, 4, test=lambda v: 0 not in v.shape)
    c, kind = x.shape[1], g.r.choice(("BatchNormalization", "InstanceNormalization", "LayerNormalization", "LRN"))
    scale, bias = g.constant(small(g, c)), g.constant(small(g, c))
    if kind == "BatchNormalization":
        g.add(kind, [x, scale, bias, g.constant(small(g, c)), g.constant(np.abs(small(g, c)) + np.float32(0.5))], [(x.dtype, x.shape, False)])
    elif kind == "InstanceNormalization":
        g.add(kind, [x, scale, bias], [(x.dtype, x.shape, False)], epsilon=0.1)
    elif kind == "LRN":
        if x.rank != 4:
            raise Unfit
        g.add(kind, [x], [(x.dtype, x.shape, False)], size=3, alpha=0.1)
    elif g.opset < 17:
        raise Unfit
    else:
        axis = g.r.randint(1, x.rank - 1)
        g.add(kind, [x, g.constant(small(g, *x.shape[axis:])), g.constant(small(g, *x.shape[axis:]))], [(x.dtype, x.shape, False)],
              axis=g.r.choice((axis, axis - x.rank)), epsilon=0.1)


def resize(g):
    x = g.pick(REAL, 4, 4, exact=True, test=lambda v: 0 not in v.shape)
    sizes = [x.shape[2] * 2, g.r.choice((x.shape[3] * 2, x.shape[3]))]
    mode = g.r.choice(("nearest", "linear"))
    left_out = [""] * 2 if g.opset >= 13 else [g.fixed(np.zeros(0, np.float32))] * 2
    g.add("Resize", [x, *left_out, g.fixed(np.array([*x.shape[:2], *sizes], np.int64))],
          [(x.dtype, (*x.shape[:2], *sizes), mode == "nearest")], mode=mode,
          coordinate_transformation_mode="asymmetric" if mode == "nearest" else g.r.choice(("half_pixel", "align_corners", "asymmetric")),
          nearest_mode="floor" if mode == "nearest" else None)


def blocks(g):
    x = g.pick(REAL, 4, 4, test=lambda v: v.size and (v.shape[1] % 4 == 0 or v.shape[2] % 2 == v.shape[3] % 2 == 0))
    n, c, h, w = x.shape
    if c % 4 == 0:
        g.add("DepthToSpace", [x], [(x.dtype, (n, c // 4, h * 2, w * 2), x.exact)], blocksize=2, mode=g.r.choice(("DCR", "CRD")))
    else:
        g.add("SpaceToDepth", [x], [(x.dtype, (n, c * 4, h // 2, w // 2), x.exact)], blocksize=2)


def recurrent(g):
    x = g.pick(REAL, 3, 3, test=lambda v: 0 not in v.shape)
    steps, batch, width = x.shape
    kind, gates = g.r.choice((("RNN", 1), ("GRU", 3), ("LSTM", 4)))
    direction = g.r.choice(("forward", "reverse", "bidirectional"))
    d, h = 2 if direction == "bidirectional" else 1, g.r.randint(1, 4)
    operands = [x, g.constant(small(g, d, gates * h, width)), g.constant(small(g, d, gates * h, h))]
    if g.r.random() < 0.6:
        operands.append(g.constant(small(g, d, 2 * gates * h)) if g.r.random() < 0.7 else "")
        if g.r.random() < 0.4:
            operands += ["", g.constant(small(g, d, batch, h))]
        while not operands[-1]:
            operands.pop()
    results = [(x.dtype, (steps, d, batch, h), False), (x.dtype, (d, batch, h), False)] + ([(x.dtype, (d, batch, h), False)] if kind == "LSTM" else [])
    extra = {"linear_before_reset": g.r.randint(0, 1)} if kind == "GRU" else {}
    g.add(kind, operands, results, hidden_size=h, direction=direction, **extra)


def integer_product(g):
    x = g.pick((np.uint8, np.int8), 2, 3, test=lambda v: 0 not in v.shape)
    n = g.r.randint(1, 5)
    w = g.constant(g.draw(np.int8, (x.shape[-1], n)))
    if x.dtype is np.int8:
        raise Unfit  # ONNX Runtime has no such kernel for two signed operands on every machine
    zero = [g.constant(np.array(2, x.dtype)), g.constant(np.array(1, np.int8))] if g.r.random() < 0.5 else []
    g.add("MatMulInteger", [x, w, *zero], [(np.int32, x.shape[:-1] + (n,), True)])


ROWS = [(matmul, 4), (gemm, 2), (einsum, 1), (conv, 4), (conv_transpose, 1), (pool, 2), (global_pool, 1), (softmax, 2), (normalise, 2), (resize, 1),
        (blocks, 1), (recurrent, 1), (integer_product, 1)]
