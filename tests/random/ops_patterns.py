"""Rows of what exporters write as many nodes: passes raise it to composites and fuse it into kernels, so that these meet here."""
import numpy as np

from graph import Unfit
from ops_nn import REAL, small


def then(g, op, *operands, shape=None, **attributes):
    """A node of float32 whose result has the first operand's shape, or `shape`."""
    first = operands[0]
    return g.add(op, list(operands), [(np.float32, first.shape if shape is None else shape, False)], **attributes)


def number(g, value):
    return g.constant(np.array(value, np.float32))


def activation(g, x):
    kind = g.r.choice(("Relu", "clip", "silu", "gelu", "Tanh", "leaky", "none"))
    if kind == "clip":
        return then(g, "Clip", x, number(g, -0.5), number(g, 1.5))
    if kind == "silu":
        return then(g, "Mul", x, then(g, "Sigmoid", x))
    if kind == "gelu":
        return gelu(g, x)
    if kind == "leaky":
        return then(g, "LeakyRelu", x, alpha=0.125)
    return x if kind == "none" else then(g, kind, x)


def gelu(g, x=None):
    x = x or g.pick(REAL)
    half = then(g, "Mul", x, number(g, 0.5))
    error = then(g, "Erf", then(g, "Div", x, number(g, 2.0 ** 0.5)))
    return then(g, "Mul", half, then(g, "Add", error, number(g, 1.0)))


def reduced(g, op, x, axis):
    shape = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    if g.opset < 18 and op != "ReduceSum":
        return then(g, op, x, shape=shape, axes=[axis], keepdims=1)
    return g.add(op, [x, g.fixed(np.array([axis], np.int64))], [(np.float32, shape, False)], keepdims=1)


def soft_maximum(g):
    x = g.pick(REAL, 1, test=lambda v: 0 not in v.shape)
    axis = g.r.randrange(x.rank)
    e = then(g, "Exp", then(g, "Sub", x, reduced(g, "ReduceMax", x, axis)))
    then(g, "Div", e, reduced(g, "ReduceSum", e, axis))


def layer_norm(g):
    x = g.pick(REAL, 2, test=lambda v: 0 not in v.shape)
    off = then(g, "Sub", x, reduced(g, "ReduceMean", x, x.rank - 1))
    square = then(g, "Pow", off, number(g, 2.0)) if g.r.random() < 0.5 else then(g, "Mul", off, off)
    root = then(g, "Sqrt", then(g, "Add", reduced(g, "ReduceMean", square, x.rank - 1), number(g, 0.125)))
    y = then(g, "Div", off, root)
    if g.r.random() < 0.7:
        y = then(g, "Mul", y, g.constant(small(g, x.shape[-1])))
        then(g, "Add", y, g.constant(small(g, x.shape[-1])))


def dense(g):
    """Two layers with a way past them."""
    x = g.pick(REAL, 2, 3, test=lambda v: 0 not in v.shape)
    d, h = x.shape[-1], g.r.choice((3, 8, 17, 32))
    hidden = then(g, "MatMul", x, g.constant(small(g, d, h)), shape=x.shape[:-1] + (h,))
    hidden = activation(g, then(g, "Add", hidden, g.constant(small(g, h))))
    back = then(g, "MatMul", hidden, g.constant(small(g, h, d)), shape=x.shape)
    then(g, "Add", then(g, "Add", back, g.constant(small(g, d))), x)


def conv_block(g):
    """Convolution, normalisation, a sum with what came before, activation."""
    x = g.pick(REAL, 4, 4, test=lambda v: 0 not in v.shape)
    c = x.shape[1]
    if g.r.random() < 0.3:  # as wide as vectors and their blocks
        c = g.r.choice((8, 12, 16, 32))
        x = then(g, "Conv", x, g.constant(small(g, c, x.shape[1], 1, 1)), shape=(x.shape[0], c, *x.shape[2:]))
    if g.r.random() < 0.2 and min(x.shape[2:]) > 2:  # elements cut off or added, ahead of the convolution's own
        low, high = [g.r.randint(-1, 2) for _ in "hw"], [g.r.randint(-1, 2) for _ in "hw"]
        pads = g.fixed(np.array([0, 0, *low, 0, 0, *high], np.int64))
        x = g.add("Pad", [x, pads], [(np.float32, x.shape[:2] + tuple(n + a + b for n, a, b in zip(x.shape[2:], low, high)), False)])
    group = g.r.choice((1, 1, c, g.r.choice([n for n in range(1, c + 1) if c % n == 0])))
    k = g.r.choice((1, 3))
    operands = [x, g.constant(small(g, c, c // group, k, k))] + ([g.constant(small(g, c))] if g.r.random() < 0.5 else [])
    y = then(g, "Conv", *operands, group=group, kernel_shape=[k, k], pads=[k // 2] * 4)
    if g.r.random() < 0.5:
        y = then(g, "BatchNormalization", y, *(g.constant(small(g, c)) for _ in "sbm"), g.constant(np.abs(small(g, c)) + np.float32(0.5)))
    if g.r.random() < 0.5:
        y = then(g, "Add", *((y, x) if g.r.random() < 0.5 else (x, y)))
    y = activation(g, y)
    if g.r.random() < 0.4 and min(x.shape[2:]) > 1:
        then(g, "MaxPool", y, shape=x.shape[:2] + tuple(n // 2 for n in x.shape[2:]), kernel_shape=[2, 2], strides=[2, 2])


def attention(g):
    x = g.pick(REAL, 3, 3, test=lambda v: 0 not in v.shape)
    b, t, d = x.shape
    heads, width = g.r.choice((1, 2, 3)), g.r.choice((2, 4, 8))
    parts = []
    for k in range(3):
        y = then(g, "MatMul", x, g.constant(small(g, d, heads * width)), shape=(b, t, heads * width))
        y = g.add("Reshape", [y, g.fixed(np.array([0, 0, heads, width], np.int64))], [(np.float32, (b, t, heads, width), False)])
        perm = [0, 2, 3, 1] if k == 1 else [0, 2, 1, 3]
        parts.append(then(g, "Transpose", y, shape=[y.shape[p] for p in perm], perm=perm))
    scores = then(g, "MatMul", parts[0], parts[1], shape=(b, heads, t, t))
    scores = then(g, "Mul", scores, number(g, width ** -0.5))
    if g.r.random() < 0.5:
        scores = then(g, "Add", scores, g.constant(small(g, *g.r.choice(((t, t), (b, 1, 1, t), (1, t))))))
    y = then(g, "MatMul", then(g, "Softmax", scores, axis=-1), parts[2], shape=(b, heads, t, width))
    y = then(g, "Transpose", y, shape=(b, t, heads, width), perm=[0, 2, 1, 3])
    g.add("Reshape", [y, g.fixed(np.array([0, 0, -1], np.int64))], [(np.float32, (b, t, heads * width), False)])


def levels(g):
    """A product between quantised operands, in floats as it is written: every product is exact."""
    x = g.pick(REAL, 2, 3, exact=True, test=lambda v: 0 not in v.shape)
    n, scale = g.r.choice((4, 9, 16)), g.fixed(np.array(0.125, np.float32))
    kind = g.r.choice((np.int8, np.uint8))
    zero = g.fixed(np.array(g.r.choice((0, 7)), kind))
    q = g.add("QuantizeLinear", [x, scale, zero], [(kind, x.shape, True)])
    x = g.add("DequantizeLinear", [q, scale, zero], [(np.float32, x.shape, True)])
    w = g.fixed(g.np.integers(-20, 21, (x.shape[-1], n)).astype(np.int8))
    w = g.add("DequantizeLinear", [w, g.fixed(np.array(0.0625, np.float32)), g.fixed(np.array(0, np.int8))], [(np.float32, (x.shape[-1], n), True)])
    y = then(g, "MatMul", x, w, shape=x.shape[:-1] + (n,))
    if g.r.random() < 0.5:
        y = then(g, "Relu", then(g, "Add", y, g.constant(small(g, n))))
    if y.size == 0:
        raise Unfit


def late(g):
    """A product, what is put together behind it, both in one; views of the product that cancel, beside others that read it."""
    x = g.pick(REAL, 2, 3, test=lambda v: 0 not in v.shape)
    d = x.shape[-1]
    shape = x.shape[:-1] + (2 * d,)
    y = then(g, "MatMul", x, g.constant(small(g, d, 2 * d)), shape=shape)
    if g.r.random() < 0.5:
        c = then(g, "Concat", *g.r.choice(((x, x), (x, then(g, "Abs", x)))), shape=shape, axis=x.rank - 1)
    else:
        pads = g.fixed(np.array([0] * (2 * x.rank - 1) + [d], np.int64))
        c = g.add("Pad", [x, pads], [(np.float32, shape, False)])
    if g.r.random() < 0.5:
        flat = g.add("Reshape", [y, g.fixed(np.array([-1], np.int64))], [(np.float32, (int(np.prod(shape)),), False)])
        again = g.add("Reshape", [flat, g.fixed(np.array(shape, np.int64))], [(np.float32, shape, False)])
        then(g, "Relu", again)
        if g.r.random() < 0.5:
            then(g, "Neg", y)
    then(g, g.r.choice(("Add", "Mul")), y, c)


def volume_window(g, x):
    """(attributes, output sizes) of a window over three dimensions."""
    kernel = [g.r.choice([k for k in (1, 2, 3, 3) if k <= n]) for n in x.shape[2:]]
    stride = [g.r.choice((1, 1, 2)) for _ in kernel]
    low, high = [g.r.randint(0, k - 1) for k in kernel], [g.r.randint(0, k - 1) for k in kernel]
    sizes = tuple((n + a + b - k) // s + 1 for n, a, b, k, s in zip(x.shape[2:], low, high, kernel, stride))
    return {"kernel_shape": kernel, "strides": stride, "pads": low + high}, tuple(g.cut(n, size) for n, size in zip(x.shape[2:], sizes))


def volumes(g):
    """Convolutions of three dimensions, as wide as vectors and their blocks or a little less, with what stands between them."""
    shape = (g.r.randint(1, 2), g.r.choice((1, 3, 8, 12, 16, 20)), g.r.randint(1, 5), g.r.randint(1, 5), g.r.randint(1, 9))
    x = g.input(g.draw(np.float32, shape))
    g.pool.append(x)
    for _ in range(g.r.randint(2, 4)):
        m = g.r.choice((8, 12, 16, 20, 32))
        attributes, sizes = volume_window(g, x)
        w = g.constant(small(g, m, x.shape[1], *attributes["kernel_shape"]) / np.float32(4))
        y = then(g, "Conv", x, w, *([g.constant(small(g, m))] if g.r.random() < 0.5 else []), shape=(x.shape[0], m, *sizes), **attributes)
        kind = g.r.choice(("sum", "joined", "scaled", "pooled", "", ""))
        if kind == "sum" and y.shape == x.shape:
            y = then(g, "Add", y, x)
        elif kind == "joined" and y.shape[2:] == x.shape[2:]:
            y = then(g, "Concat", y, x, shape=(x.shape[0], m + x.shape[1], *sizes), axis=1)
        elif kind == "scaled":
            y = then(g, "Mul", y, g.constant(small(g, m, 1, 1, 1)))
        elif kind == "pooled":
            attributes, sizes = volume_window(g, y)
            y = then(g, g.r.choice(("MaxPool", "AveragePool")), y, shape=(*y.shape[:2], *sizes), **attributes)
        x = activation(g, y) if g.r.random() < 0.6 else y
    if g.r.random() < 0.3:
        then(g, g.r.choice(("GlobalAveragePool", "GlobalMaxPool")), x, shape=(*x.shape[:2], 1, 1, 1))


ROWS = [(volumes, 2), (late, 1), (gelu, 1), (soft_maximum, 1), (layer_norm, 1), (dense, 2), (conv_block, 3), (attention, 2), (levels, 1)]
