"""Integers wrap; division by zero gives 0, the smallest value by -1 itself; counts of shifts that leave the width shift everything out."""
import numpy as np

from case_list import INTEGERS, SIGNED, UNSIGNED, WIDE_INTEGERS, integers, pairs, rule


def wrapped(values, dtype):
    """Python's integers, as the type keeps them."""
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = [int(v) & ((1 << bits) - 1) for v in np.asarray(values, object).reshape(-1)]
    return np.array(unsigned, f"uint{bits}").view(dtype).reshape(np.shape(values))


def each(function, dtype, *arrays):
    return wrapped(np.array([function(*(int(v) for v in row)) for row in zip(*arrays)], object), dtype)


def quotient(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return 0 if b == 0 else a - b * quotient(a, b)


def power(base, exponent):
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


def two(op, dtypes, function, **attributes):
    for dtype in dtypes:
        a, b = pairs(integers(dtype))
        rule("integers", op, [a, b], [each(function, dtype, a, b)], **attributes)


def label(dtype, what):
    return f"{dtype.name}_{what}"


two("Add", INTEGERS, lambda a, b: a + b)
two("Sub", INTEGERS, lambda a, b: a - b)
two("Mul", INTEGERS, lambda a, b: a * b)
two("Div", INTEGERS, quotient)
two("Mod", INTEGERS, lambda a, b: 0 if b == 0 else a % b)
two("Max", INTEGERS, max)
two("Min", INTEGERS, min)
two("BitwiseAnd", INTEGERS, lambda a, b: a & b)
two("BitwiseXor", INTEGERS, lambda a, b: a ^ b)
two("PRelu", WIDE_INTEGERS, lambda a, b: a if a >= 0 else a * b)
for t in INTEGERS:
    x, y = pairs(integers(t))
    rule("integers", "Mod", [x, y], [each(remainder, t, x, y)], label(t, "fmod"), fmod=1)
    for exponents in (np.arange(-5, 70), integers(t)) if t in (np.int32, np.int64) else ():
        base, exponent = (v.reshape(-1) for v in np.meshgrid(integers(t), exponents.astype(t), indexing="ij"))
        rule("integers", "Pow", [base, exponent], [each(power, t, base, exponent)], label(t, f"by_{len(exponents)}"))
    rule("integers", "Abs", [integers(t)], [each(abs, t, integers(t))])
    rule("integers", "Sign", [integers(t)], [each(lambda a: (a > 0) - (a < 0), t, integers(t))])
    x, y = pairs(integers(t))
    lo, hi = integers(t)[2:3].reshape(()), integers(t)[-3:-2].reshape(())
    for bounds in ((lo, hi), (hi, lo)):
        rule("integers", "Clip", [x, *bounds], [each(lambda a: min(max(a, int(bounds[0])), int(bounds[1])), t, x)], label(t, "low_high" if bounds[0] is lo else "high_low"))
for t in SIGNED:
    rule("integers", "Neg", [integers(t)], [each(lambda a: -a, t, integers(t))])
    rule("integers", "Relu", [integers(t)], [each(lambda a: max(a, 0), t, integers(t))])
for t in UNSIGNED:
    width = 8 * t.itemsize
    x, y = (v.reshape(-1) for v in np.meshgrid(integers(t), np.array([0, 1, 3, width - 1, width, width + 1, 2 * width, 255], t), indexing="ij"))
    for direction, shift in (("LEFT", lambda a, n: a << n), ("RIGHT", lambda a, n: a >> n)):
        rule("integers", "BitShift", [x, y], [each(shift, t, x, y)], label(t, direction.lower()), direction=direction)

# ---- sums and products of many, by where the axis lies ----
SHAPES = {"inner": ((3, 37), 1), "outer": ((37, 3), 0), "middle": ((2, 37, 19), 1), "short": ((5, 3), 1)}
FOLDS = {"ReduceSum": lambda r: sum(r), "ReduceProd": lambda r: int(np.prod(np.array(r, object))), "ReduceSumSquare": lambda r: sum(v * v for v in r),
         "ReduceL1": lambda r: sum(abs(v) for v in r), "ReduceMax": max, "ReduceMin": min}


def fold(function, x, axis, dtype):
    lines = np.moveaxis(x, axis, -1)
    return wrapped(np.array([function([int(v) for v in line]) for line in lines.reshape(-1, lines.shape[-1])], object).reshape(lines.shape[:-1]), dtype)


def cumulated(step, x, axis, dtype):
    lines = np.moveaxis(x, axis, -1)
    rows = []
    for line in lines.reshape(-1, lines.shape[-1]):
        total, row = None, []
        for v in line:
            total = int(v) if total is None else step(total, int(v))
            row.append(total)
        rows.append(row)
    return np.moveaxis(wrapped(np.array(rows, object).reshape(lines.shape), dtype), -1, axis)


for t in WIDE_INTEGERS:
    for where, (shape, axis) in SHAPES.items():
        x = np.random.default_rng(1).permutation(np.resize(integers(t), int(np.prod(shape)))).reshape(shape)
        for op, function in FOLDS.items():
            rule("integers", op, [x, np.array([axis])], [fold(function, x, axis, t)], label(t, where), fixed=(1,), keepdims=0)
        rule("integers", "CumSum", [x, np.array(axis)], [cumulated(lambda a, b: a + b, x, axis, t)], label(t, where), fixed=(1,))
        rule("integers", "CumProd", [x, np.array(axis)], [cumulated(lambda a, b: a * b, x, axis, t)], label(t, where), fixed=(1,))
    for rows, depth, columns in ((5, 37, 19), (1, 40, 33), (7, 3, 1)):
        pick = np.random.default_rng(rows)
        a, b = pick.choice(integers(t), (rows, depth)), pick.choice(integers(t), (depth, columns))
        product = a.astype(object) @ b.astype(object)
        rule("integers", "MatMul", [a, b], [wrapped(product, t)], label(t, rows))
        rule("integers", "Einsum", [a, b], [wrapped(product, t)], label(t, rows), equation="ij,jk->ik")
        rule("integers", "Gemm", [a, b, a[:, :1]], [wrapped(product + a[:, :1].astype(object), t)], label(t, rows))
for t in INTEGERS:
    x = np.resize(integers(t), 40)
    places = np.random.default_rng(2).integers(0, 7, 40)
    for reduction, step in (("add", lambda a, b: a + b), ("mul", lambda a, b: a * b), ("max", max), ("min", min)):
        found = [int(v) for v in x[:7]]
        for place, value in zip(places, x):
            found[place] = step(found[place], int(value))
        found = wrapped(np.array(found, object), t)
        rule("integers", "ScatterElements", [x[:7], places, x], [found], label(t, reduction), reduction=reduction)
        rule("integers", "ScatterND", [x[:7], places[:, None], x], [found], label(t, reduction), reduction=reduction)

# ---- sums of quantised products leave 32 bits and wrap ----
DEPTH = 70000
for t in (np.uint8, np.int8):
    large = np.full((2, DEPTH), np.iinfo(t).max if t is np.uint8 else np.iinfo(t).min, t)
    large[1, ::2] = 3
    total = large.astype(np.int64) @ large.T.astype(np.int64)
    rule("integers", "MatMulInteger", [large, large.T.copy()], [wrapped(total.astype(object), np.int32)])
    image, window = large.reshape(2, 70, 10, 100)[:1], large.reshape(2, 70, 10, 100)
    total = (image.reshape(1, -1).astype(np.int64) @ window.reshape(2, -1).T.astype(np.int64)).reshape(1, 2, 1, 1)
    rule("integers", "ConvInteger", [image, window], [wrapped(total.astype(object), np.int32)])
