"""A NaN wins in maxima, minima, reductions and pools, wherever it lies; of zeros the first; functions at infinities and zeros; results too large are infinite."""
import numpy as np
import onnx

from case_list import BFLOAT16, FLOATS, floats, pairs, rule, sprinkled

NAN, INF = np.nan, np.inf
SPECIAL = [NAN, INF, -INF]
LENGTHS = (1, 3, 16, 37, 100)


def types_of(op):
    """The floats that the newest version allows."""
    allowed = next(c.allowed_type_strs for c in onnx.defs.get_schema(op).type_constraints if "tensor(float)" in c.allowed_type_strs)
    names = {"float16": "float16", "bfloat16": "bfloat16", "float32": "float", "float64": "double"}
    return [t for t in FLOATS if f"tensor({names[t.name]})" in allowed]


def wide(x):
    return x.astype(np.float64)


def rounded(values, dtype):
    """Of results of one operation in double: to float and on, as narrow types compute."""
    return values.astype(dtype) if dtype == np.float64 else values.astype(np.float32).astype(dtype)


def rough(dtype):
    return {2: 1e-2, 4: 1e-5, 8: 1e-12}[dtype.itemsize]


# ---- two operands ----
def larger(a, b):
    return np.where(np.isnan(a) | np.isnan(b), NAN, np.where(b > a, b, a))


def smaller(a, b):
    return np.where(np.isnan(a) | np.isnan(b), NAN, np.where(b < a, b, a))


def floored(a, b):
    """Exact, of the divisor's sign, zeros too."""
    r = np.fmod(a, b)
    return np.where(np.isnan(r), NAN, np.where(r == 0, np.copysign(0.0, b), np.where((r < 0) != (b < 0), np.where(np.isinf(b), b, r + b), r)))


TWO = {"Max": larger, "Min": smaller, "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
for op, function in TWO.items():
    for t in types_of(op):
        a, b = pairs(floats(t))
        rule("floats", op, [a, b], [rounded(function(wide(a), wide(b)), t)], zeros=t != np.float64 or op in ("Max", "Min"))
for t in types_of("Mod"):
    a, b = pairs(floats(t))
    rule("floats", "Mod", [a, b], [rounded(np.where(np.isinf(a) | (b == 0), NAN, np.fmod(wide(a), wide(b))), t)], f"{t.name}_fmod", fmod=1)
for t in types_of("Max"):
    a, b = pairs(floats(t))
    c = np.roll(b, 5)
    for op, function in (("Max", larger), ("Min", smaller)):
        rule("floats", op, [a, b, c], [rounded(function(function(wide(a), wide(b)), wide(c)), t)], f"{t.name}_three", zeros=True)
for op, function in {"Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Equal": np.equal}.items():
    for t in types_of(op):
        a, b = pairs(floats(t))
        rule("floats", op, [a, b], [function(wide(a), wide(b))])
for t in types_of("Pow"):
    a = np.array([NAN, INF, -INF, 0.0, -0.0, 1, -1, 2, -2, 0.5], np.float64)
    a, b = pairs(np.concatenate([a, [3, -3]]))
    rule("floats", "Pow", [a.astype(t), b.astype(t)], [rounded(np.power(a, b), t)], zeros=True, near=rough(t))

# ---- one operand: at what is no number, infinities, zeros (what only compares gives 0 for NaN) ----
AT = np.array([NAN, INF, -INF, 0.0, -0.0])
EXACT = {"Abs": np.abs, "Neg": np.negative, "Ceil": np.ceil, "Floor": np.floor, "Round": np.rint, "Sqrt": np.sqrt, "Reciprocal": np.reciprocal}
ODD = {"Asin": np.arcsin, "Asinh": np.arcsinh, "Atan": np.arctan, "Sin": np.sin, "Sinh": np.sinh, "Tan": np.tan, "Tanh": np.tanh, "Erf": lambda x: np.where(np.isinf(x), np.sign(x), x)}
SOME = {"Acos": np.arccos, "Acosh": np.arccosh, "Atanh": np.arctanh, "Cos": np.cos, "Cosh": np.cosh, "Exp": np.exp, "Log": np.log}
LIMITS = {  # op: attributes, values at AT
    "Sign": ({}, [NAN, 1, -1, 0, 0]), "Relu": ({}, [NAN, INF, 0, 0, 0]), "LeakyRelu": ({"alpha": 0.5}, [NAN, INF, -INF, 0, 0]),
    "Elu": ({"alpha": 2.0}, [NAN, INF, -2, 0, 0]), "Celu": ({"alpha": 2.0}, [NAN, INF, -2, 0, 0]), "Selu": ({"alpha": 2.0, "gamma": 0.5}, [NAN, INF, -1, 0, 0]),
    "Sigmoid": ({}, [NAN, 1, 0, 0.5, 0.5]), "HardSigmoid": ({}, [NAN, 1, 0, 0.5, 0.5]), "Softplus": ({}, [NAN, INF, 0, np.log(2), np.log(2)]),
    "Softsign": ({}, [NAN, 1, -1, 0, 0]), "Gelu": ({}, [NAN, INF, 0, 0, 0]), "Mish": ({}, [NAN, INF, 0, 0, 0]), "Swish": ({}, [NAN, INF, 0, 0, 0]),
    "HardSwish": ({}, [NAN, INF, NAN, 0, 0]), "ThresholdedRelu": ({"alpha": 1.0}, [0, INF, 0, 0, 0]), "Shrink": ({"bias": 1.0}, [0, INF, -INF, 0, 0]),
}
for group, signed in ((EXACT, True), (ODD, True), (SOME, False)):
    for op, function in group.items():
        for t in types_of(op):
            x = np.resize(AT, 37).astype(t)
            rule("floats", op, [x], [rounded(function(wide(x)), t)], zeros=signed, near=rough(t))
for op, (attributes, values) in LIMITS.items():
    for t in types_of(op):
        rule("floats", op, [np.resize(AT, 37).astype(t)], [rounded(np.resize(np.array(values, np.float64), 37), t)], near=rough(t), **attributes)
for t in types_of("Gelu"):
    rule("floats", "Gelu", [np.resize(AT, 37).astype(t)], [np.resize(np.array(LIMITS["Gelu"][1]), 37).astype(t)], f"{t.name}_tanh", approximate="tanh")
for t in types_of("PRelu"):
    x, slope = pairs(floats(t))
    rule("floats", "PRelu", [x, slope], [rounded(np.where(np.isnan(x), NAN, np.where(wide(x) < 0, wide(x) * wide(slope), wide(x))), t)])
for t in types_of("Clip"):
    x = np.resize(floats(t), 100)
    for lo, hi in ((-1, 2), (2, -1), (NAN, 2), (-1, NAN), (-INF, INF)):
        found = np.where(np.isnan(x), NAN, smaller(larger(wide(x), lo) if lo == lo else wide(x), hi) if hi == hi else np.where(wide(x) > lo, wide(x), lo))
        bounds = [np.array(v, np.float64).astype(t) for v in (lo, hi)]
        rule("floats", "Clip", [x, *bounds], [np.where(np.isnan(x), NAN, found).astype(t)], f"{t.name}_{lo}_{hi}".replace("-", "m"))
for t in types_of("IsNaN"):
    rule("floats", "IsNaN", [floats(t)], [np.isnan(floats(t))])
for t in types_of("IsInf"):
    for positive, negative in ((1, 0), (0, 1), (1, 1), (0, 0)):
        x = wide(floats(t))
        rule("floats", "IsInf", [floats(t)], [(x == INF) & bool(positive) | (x == -INF) & bool(negative)], f"{t.name}_{positive}{negative}", detect_positive=positive, detect_negative=negative)

# ---- reductions ----
FOLDS = {"ReduceMax": np.max, "ReduceMin": np.min, "ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceProd": np.prod,
         "ReduceL1": lambda x, axis: np.sum(np.abs(x), axis), "ReduceL2": lambda x, axis: np.sqrt(np.sum(x * x, axis)),
         "ReduceSumSquare": lambda x, axis: np.sum(x * x, axis), "ReduceLogSum": lambda x, axis: np.log(np.sum(x, axis)),
         "ReduceLogSumExp": lambda x, axis: np.logaddexp.reduce(x, axis)}
PLACES = {"inner": (1,), "outer": (0,), "middle": (1,), "two": (0, 2), "all": (0, 1)}


def shape_of(where, n):
    return {"inner": (9, n), "outer": (n, 21), "middle": (2, n, 19), "two": (5, 4, n), "all": (3, n)}[where]


def gathered(x, axes):
    """The elements that are reduced along the last axis."""
    kept = [k for k in range(x.ndim) if k not in axes]
    return x.transpose(kept + list(axes)).reshape([x.shape[k] for k in kept] + [-1])


for op, function in FOLDS.items():
    for t in types_of(op):
        for where, axes in PLACES.items():
            for n in LENGTHS if t == np.float32 else (3, 37):
                special = SPECIAL if op != "ReduceProd" else [NAN]
                count = n * (5 if where == "two" else 3 if where == "all" else 1)
                x = sprinkled(n, t, shape_of(where, n), special, 0.7 / count)
                values = wide(x)
                found = function(gathered(values, axes), -1)
                if op == "ReduceProd" and count > 8:
                    x, found = np.where(np.isnan(values), NAN, 1).astype(t), np.where(np.isnan(found), NAN, 1)
                exact = op in ("ReduceMax", "ReduceMin")
                rule("nan", op, [x, np.array(axes)], [rounded(np.asarray(found), t)], f"{t.name}_{where}_{n}", fixed=(1,), keepdims=0, near=0.0 if exact else rough(t),
                     forms=("alone", "inside", "folded", "open") if n in (3, 37) else ("alone",))
for op in ("ReduceMax", "ReduceMin"):  # of zeros of both signs the first
    for t in types_of(op):
        for where, axes in PLACES.items():
            x = np.where(np.random.default_rng(3).random(shape_of(where, 37)) < 0.5, 0.0, -0.0)
            rule("zeros", op, [x.astype(t), np.array(axes)], [gathered(x, axes)[..., 0].astype(t)], f"{t.name}_{where}", fixed=(1,), keepdims=0, zeros=True)
for op, sign in (("ArgMax", 1), ("ArgMin", -1)):
    for t in types_of(op):
        for where, axis in (("inner", 1), ("outer", 0), ("middle", 1)):
            for n in (3, 37):
                x = sprinkled(n, t, shape_of(where, n), SPECIAL, 1.0 / n)
                rule("nan", op, [x], [np.argmax(sign * wide(x), axis)], f"{t.name}_{where}_{n}", axis=axis, keepdims=0)
                last = x.shape[axis] - 1 - np.argmax(sign * np.flip(wide(x), axis), axis)
                rule("nan", op, [x], [last], f"{t.name}_{where}_{n}_last", axis=axis, keepdims=0, select_last_index=1)
for t in types_of("Hardmax"):
    x = sprinkled(5, t, (9, 21), SPECIAL, 0.04)
    rule("nan", "Hardmax", [x], [np.eye(21)[np.argmax(wide(x), 1)].astype(t)])
for t in types_of("Softmax"):
    for where, axis in (("inner", 1), ("outer", 0), ("middle", 1)):
        for n in (3, 37):
            x = wide(sprinkled(n, t, shape_of(where, n), SPECIAL, 0.7 / n))
            x[(0,) * axis + (slice(None),) + (0,) * (x.ndim - 1 - axis)] = -INF
            e = np.exp(x - x.max(axis, keepdims=True))
            rule("nan", "Softmax", [x.astype(t)], [rounded(e / e.sum(axis, keepdims=True), t)], f"{t.name}_{where}_{n}", axis=axis, near=2 * rough(t))
            found = x - x.max(axis, keepdims=True) - np.log(e.sum(axis, keepdims=True))
            rule("nan", "LogSoftmax", [x.astype(t)], [rounded(found, t)], f"{t.name}_{where}_{n}", axis=axis, near=2 * rough(t))
for t in types_of("CumSum"):
    for axis, shape in ((1, (5, 37)), (0, (37, 5)), (1, (2, 9, 17))):
        x = sprinkled(axis, t, shape, SPECIAL, 0.03)
        rule("nan", "CumSum", [x, np.array(axis)], [rounded(np.cumsum(wide(x), axis), t)], f"{t.name}_{axis}_{len(shape)}", fixed=(1,), near=rough(t))
for reduction, function in (("max", larger), ("min", smaller), ("add", np.add)):
    for t in FLOATS:
        data, updates = sprinkled(1, t, (21,), [NAN, INF], 0.2), sprinkled(2, t, (60,), [NAN, -INF], 0.2)
        places = np.random.default_rng(4).integers(0, 21, 60)
        found = wide(data)
        for place, value in zip(places, wide(updates)):
            found[place] = function(found[place], value)
        for op, indices in (("ScatterElements", places), ("ScatterND", places[:, None])):
            rule("nan", op, [data, indices, updates], [rounded(found, t)], f"{t.name}_{reduction}", reduction=reduction)

# ---- pools ----
POOLS = {"row": ((2, 3, 37), (3,), (1,), (1, 1), (1,)), "row_by_two": ((1, 5, 19), (2,), (2,), (0, 0), (1,)), "image": ((1, 16, 9, 21), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1)),
         "image_by_two": ((1, 3, 12, 20), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)), "spread": ((1, 16, 11, 17), (3, 2), (1, 2), (0, 1, 1, 0), (2, 1)),
         "wide": ((1, 2, 30, 30), (7, 7), (3, 3), (3, 3, 3, 3), (1, 1)), "volume": ((1, 2, 5, 6, 7), (2, 3, 2), (1, 1, 2), (1, 1, 0, 0, 1, 1), (1, 1, 1))}


def windows(x, kernel, strides, pads, dilations, fill):
    """[N, C, result..., window], and the flat place of each element in its channel."""
    n = len(kernel)
    padding = [(0, 0), (0, 0), *zip(pads[:n], pads[n:])]
    wide_x = np.pad(x, padding, constant_values=fill)
    places = np.pad(np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:]), padding[2:], constant_values=-1)
    results = [(wide_x.shape[2 + k] - dilations[k] * (kernel[k] - 1) - 1) // strides[k] + 1 for k in range(n)]
    parts, whence = [], []
    for tap in np.ndindex(*kernel):
        cut = tuple(slice(tap[k] * dilations[k], tap[k] * dilations[k] + (results[k] - 1) * strides[k] + 1, strides[k]) for k in range(n))
        parts.append(wide_x[(slice(None), slice(None), *cut)])
        whence.append(places[cut])
    return np.stack(parts, -1), np.stack(whence, -1)


for name, (shape, kernel, strides, pads, dilations) in POOLS.items():
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    for t in types_of("MaxPool"):
        x = sprinkled(7, t, shape, SPECIAL, 0.02)
        seen, whence = windows(wide(x), kernel, strides, pads, dilations, -INF)
        rule("nan", "MaxPool", [x], [np.max(seen, -1).astype(t)], f"{t.name}_{name}", **attributes)
        real = np.where(whence >= 0, seen, -INF)
        at = np.argmax(np.where(np.isnan(real), INF, np.where(real == INF, 1e300, np.where(whence >= 0, np.maximum(real, -1e300), -INF))), -1)  # the first NaN, else the first largest
        channel = np.arange(shape[0] * shape[1]).reshape([*shape[:2]] + [1] * len(kernel)) * int(np.prod(shape[2:]))
        index = np.take_along_axis(np.broadcast_to(whence, seen.shape), at[..., None], -1)[..., 0] + channel
        rule("nan", "MaxPool", [x], [np.max(seen, -1).astype(t), index], f"{t.name}_{name}_indices", **attributes)
    for t in types_of("AveragePool"):
        x = sprinkled(8, t, shape, SPECIAL, 0.02)
        seen, whence = windows(wide(x), kernel, strides, pads, dilations, 0.0)
        for include in (0, 1):
            count = whence.shape[-1] if include else (whence >= 0).sum(-1)
            rule("nan", "AveragePool", [x], [rounded(seen.sum(-1) / count, t)], f"{t.name}_{name}_{include}", near=rough(t), count_include_pad=include, **attributes)
    for t in types_of("LpPool"):
        x = sprinkled(9, t, shape, SPECIAL, 0.02)
        seen, _ = windows(wide(x), kernel, strides, pads, dilations, 0.0)
        rule("nan", "LpPool", [x], [rounded(np.sqrt((seen * seen).sum(-1)), t)], f"{t.name}_{name}", near=rough(t), p=2, **attributes)
for op, function in {"GlobalMaxPool": np.max, "GlobalAveragePool": np.mean, "GlobalLpPool": lambda x, axis: np.sqrt((x * x).sum(axis))}.items():
    for t in types_of(op):
        for shape in ((3, 19, 7), (1, 32, 5, 9)):
            x = sprinkled(10, t, shape, SPECIAL, 0.02)
            axes = tuple(range(2, len(shape)))
            found = function(wide(x).reshape(*shape[:2], -1), -1).reshape([*shape[:2]] + [1] * len(axes))
            rule("nan", op, [x], [rounded(found, t)], f"{t.name}_{len(shape)}", near=rough(t))

# ---- sums of products: of the rows, columns and windows that hold what is no number, and of no others ----
def product(a, b):
    """inf and NaN as sums of products have them."""
    return np.sum(a[:, :, None] * b[None], 1)


for t in types_of("MatMul"):
    for rows, depth, columns in ((9, 20, 33), (1, 37, 40), (40, 3, 1)):
        a, b = sprinkled(1, t, (rows, depth), SPECIAL, 0.01), sprinkled(2, t, (depth, columns), SPECIAL, 0.01)
        found = product(wide(a), wide(b))
        rule("nan", "MatMul", [a, b], [rounded(found, t)], f"{t.name}_{rows}", near=rough(t))
        if t in types_of("Gemm"):
            rule("nan", "Gemm", [a.T.copy(), b], [rounded(found, t)], f"{t.name}_{rows}", near=rough(t), transA=1)
for t in types_of("Conv"):
    for name, kernel, strides, pads in (("points", (1, 1), (1, 1), (0, 0, 0, 0)), ("by_two", (3, 3), (2, 2), (1, 1, 1, 1)), ("tall", (5, 2), (1, 1), (2, 1, 2, 0))):
        for channels in (3, 16):
            x, w = sprinkled(3, t, (1, channels, 8, 19), SPECIAL, 0.01), sprinkled(4, t, (16, channels, *kernel), [2], 0)
            seen, _ = windows(wide(x), kernel, strides, pads, (1, 1), 0.0)  # N C Y X window
            found = np.einsum("ncyxk,mck->nmyx", seen, wide(w).reshape(16, channels, -1))
            rule("nan", "Conv", [x, w], [rounded(found, t)], f"{t.name}_{name}_{channels}", near=rough(t), kernel_shape=kernel, strides=strides, pads=pads)

# ---- results of narrow types are rounded after every operation, and too large ones infinite ----
for t in (np.dtype(np.float16), BFLOAT16):
    x = np.full((3, 40), 60000 if t == np.float16 else 3e38, np.float64).astype(t)
    for op in ("ReduceSum", "ReduceSumSquare", "ReduceProd", "ReduceL1"):
        rule("floats", op, [x, np.array([1])], [np.full(3, INF).astype(t)], f"{t.name}_too_large", fixed=(1,), keepdims=0)

# ---- normalisations: what is no number stays in its row, channel or image; the two pools of regions ----
def normal(x, axes, epsilon):
    deviation = x - x.mean(axes, keepdims=True)
    return deviation / np.sqrt((deviation * deviation).mean(axes, keepdims=True) + epsilon)


def lines(seed, t, shape, every):
    """Rows of whole numbers, each `every`-th with one that is none."""
    x = sprinkled(seed, t, shape, [], 0)
    flat = x.reshape(-1, shape[-1])
    for k, row in enumerate(range(0, len(flat), every)):
        flat[row, (5 * k) % shape[-1]] = SPECIAL[k % 3]
    return x


for t in types_of("LayerNormalization"):
    x, one, none = lines(1, t, (7, 40), 3), np.ones(40, t), np.zeros(40, t)
    rule("nan", "LayerNormalization", [x, one, none], [rounded(normal(wide(x), (1,), 1e-5), t)], fixed=(1, 2), near=10 * rough(t))
    rule("nan", "RMSNormalization", [x, one], [rounded(wide(x) / np.sqrt((wide(x) ** 2).mean(1, keepdims=True) + 1e-5), t)], fixed=(1,), near=10 * rough(t))
for t in types_of("InstanceNormalization"):
    x, one, none = lines(2, t, (2, 5, 33), 4), np.ones(5, t), np.zeros(5, t)
    rule("nan", "InstanceNormalization", [x, one, none], [rounded(normal(wide(x), (2,), 1e-5), t)], fixed=(1, 2), near=10 * rough(t))
for t in types_of("GroupNormalization"):
    x, one, none = lines(3, t, (2, 6, 33), 5), np.ones(6, t), np.zeros(6, t)
    found = normal(wide(x).reshape(2, 3, -1), (2,), 1e-5).reshape(2, 6, 33)
    rule("nan", "GroupNormalization", [x, one, none], [rounded(found, t)], fixed=(1, 2), near=10 * rough(t), num_groups=3)
for t in types_of("BatchNormalization"):
    x, one, none = lines(4, t, (2, 5, 33), 4), np.ones(5, t), np.zeros(5, t)
    rule("nan", "BatchNormalization", [x, one, none, none, one], [rounded(wide(x) / np.sqrt(1.0 + 2.0**-10), t)], fixed=(1, 2, 3, 4), near=rough(t), epsilon=2.0**-10)
for t in types_of("LpNormalization"):
    x = lines(5, t, (7, 40), 3)
    rule("nan", "LpNormalization", [x], [rounded(wide(x) / np.sqrt((wide(x) ** 2).sum(1, keepdims=True)), t)], near=10 * rough(t), axis=1, p=2)
for t in types_of("MaxRoiPool"):
    x, regions = sprinkled(6, t, (1, 3, 8, 12), SPECIAL, 0.05), np.array([[0, 0, 0, 11, 7], [0, 4, 4, 7, 7]], t)
    found = [wide(x)[0][:, r0:r1, c0:c1].max((1, 2)) for y0, x0, height, width in ((0, 0, 4, 6), (4, 4, 2, 2)) for r0, r1 in ((y0, y0 + height), (y0 + height, y0 + 2 * height))
             for c0, c1 in ((x0, x0 + width), (x0 + width, x0 + 2 * width))]
    y = np.array(found).reshape(2, 2, 2, 3).transpose(0, 3, 1, 2)
    rule("nan", "MaxRoiPool", [x, regions], [y.astype(t)], pooled_shape=[2, 2])
