"""Cases of ai.onnx written out, where a version says what no newer text says, or where no official case exists.

Each function yields the Case rows of the pairs above it, given version and operator. `outputs` None: ONNX Runtime decides; else the transcription of that version's text stands here, in NumPy.
"""
import dataclasses

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

CASES = []  # (pairs, function)


@dataclasses.dataclass
class Case:
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: list = None
    label: str = ""
    random: bool = False  # outputs are drawn: judged by type and shape
    types: tuple = ()  # declared value types where outputs or inputs are no tensors: (inputs, outputs)


def shows(op, *versions, domain=""):
    def keep(function):
        CASES.append(([(domain, op, v) for v in versions], op, function))
        return function
    return keep


def rng(seed=1):
    return np.random.default_rng(seed)


def floats(*shape, seed=1, low=-2.0, high=2.0):
    return rng(seed).uniform(low, high, shape).astype(np.float32)


# ---- version 1 of the operators with two operands: same shapes, or `broadcast` with the second as a run of axes of the first ----
ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}
COMPARE = {"Greater": np.greater, "Less": np.less}
LOGIC = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}


def aligned(b, rank, axis):
    """Operand B with ones appended, so that its first axis is `axis` of A."""
    return b.reshape(b.shape + (1,) * (rank - axis - b.ndim)) if axis is not None else b


def binary_cases(function, make):
    for shape_b, attributes, label in (((2, 3, 4, 5), {}, "same"), ((4, 5), {"broadcast": 1}, "suffix"), ((), {"broadcast": 1}, "scalar"),
                                       ((3, 4), {"broadcast": 1, "axis": 1}, "axis_1"), ((2,), {"broadcast": 1, "axis": 0}, "axis_0"),
                                       ((1, 1), {"broadcast": 1}, "ones")):
        a, b = make((2, 3, 4, 5), 1), make(shape_b, 2)
        yield Case([a, b], attributes, [function(a, aligned(b, 4, attributes.get("axis")))], label)


def make_positive(shape, seed):
    return np.asarray(floats(*shape, seed=seed, low=0.5, high=3.0), dtype=np.float32)


def make_bools(shape, seed):
    return rng(seed).integers(0, 2, shape).astype(bool) if shape else np.array(bool(seed % 2))


def make_ints(shape, seed):
    return np.asarray(rng(seed).integers(-2, 3, shape), dtype=np.int32)


for name, ufunc in {**ARITHMETIC, **COMPARE, **LOGIC, "Equal": np.equal}.items():
    maker = make_bools if name in LOGIC else make_ints if name == "Equal" else make_positive
    shows(name, 1)(lambda version, op, function=ufunc, made=maker: binary_cases(function, made))


@shows("Max", 1)
@shows("Min", 1)
@shows("Sum", 1)
@shows("Mean", 1, 6)
def same_shapes(version, op):
    folds = {"Max": np.maximum.reduce, "Min": np.minimum.reduce, "Sum": np.add.reduce, "Mean": lambda x: np.mean(x, axis=0, dtype=np.float32)}
    for n in (1, 3):
        values = [floats(2, 3, seed=k) for k in range(n)]
        yield Case(values, {}, [folds[op](values).astype(np.float32)], f"of_{n}")


@shows("Concat", 1)
def concat(version, op):
    a, b = floats(2, 3, 2), floats(2, 1, 2, seed=2)
    yield Case([a, b], {}, [np.concatenate([a, b], 1)], "default_axis")  # axis 1 where it is left out
    yield Case([a, a], {"axis": 2}, [np.concatenate([a, a], 2)], "axis_2")


@shows("Cast", 1)
def cast(version, op):
    x = np.array([[-1.75, 0.0, 2.5], [3.0, 100.25, -7.0]], np.float32)
    for to in ("INT32", "INT64", "DOUBLE", "FLOAT16", "BOOL"):
        dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(to))
        yield Case([x], {"to": to}, [x.astype(dtype)], to.lower())


@shows("Cast", 24)
@shows("CastLike", 24)
def cast_scale(version, op):
    x = np.array([1, 1.25, 1.499, 1.5, 1.9, 3, 0.75, 6, 0.0625, 1e5], np.float32)
    like = np.ones(1, ml_dtypes.float8_e8m0fnu)
    exponent = np.log2(x.astype(np.float64))
    rounded = {"up": np.ceil(exponent), "down": np.floor(exponent), "nearest": np.floor(exponent) + (np.exp2(exponent - np.floor(exponent)) >= 1.4999999)}
    for mode, power in rounded.items():
        y = np.exp2(power).astype(ml_dtypes.float8_e8m0fnu)
        to = {"to": TensorProto.FLOAT8E8M0} if op == "Cast" else {}
        yield Case([x] if op == "Cast" else [x, like], {"round_mode": mode, **to}, [y], mode)


@shows("PRelu", 1)
def prelu(version, op):
    x = floats(2, 3, 4, 2)
    for slope, label in ((floats(1, seed=3), "shared"), (floats(3, seed=3), "by_channel")):
        yield Case([x, slope], {}, [np.where(x < 0, x * slope.reshape(-1, 1, 1), x)], label)


@shows("Dropout", 1, 6)
def dropout(version, op):
    x = floats(3, 4)
    yield Case([x], {"is_test": 1, "ratio": 0.3}, [x], "test")
    yield Case([x], {"ratio": 0.3}, [x], "training", random=True)


@shows("BatchNormalization", 1)
def batch_norm_test(version, op):
    x, (scale, bias, mean) = floats(2, 3, 4, 5), (floats(3, seed=k) for k in (2, 3, 4))
    var = floats(3, seed=5, low=0.5, high=2)
    shape = (3, 1, 1)
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + np.float32(1e-5)) * scale.reshape(shape) + bias.reshape(shape)
    yield Case([x, scale, bias, mean, var], {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}, [y.astype(np.float32)], "test")


@shows("BatchNormalization", 1)
@shows("BatchNormalization", 6)
def batch_norm_training(version, op):
    """is_test 0: the batch's own statistics (biased), and the running ones moved towards them."""
    x, (scale, bias, mean) = floats(2, 3, 4, 5), (floats(3, seed=k) for k in (2, 3, 4))
    var, momentum = floats(3, seed=5, low=0.5, high=2), 0.75
    shape, m, v = (3, 1, 1), x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    y = (x - m.reshape(shape)) / np.sqrt(v.reshape(shape) + np.float32(1e-5)) * scale.reshape(shape) + bias.reshape(shape)
    attributes = {"momentum": momentum} | ({"consumed_inputs": [0, 0, 0, 1, 1]} if version < 6 else {})
    moved = [mean * momentum + m * (1 - momentum), var * momentum + v * (1 - momentum)]
    yield Case([x, scale, bias, mean, var], attributes, [a.astype(np.float32) for a in (y, *moved)], "training")


@shows("BatchNormalization", 7)
def batch_norm_spatial(version, op):
    x, var = floats(2, 3, 4, 5), floats(3, seed=5, low=0.5, high=2)
    yield Case([x, *(floats(3, seed=k) for k in (2, 3, 4)), var], {"epsilon": 1e-3}, None, "spatial")
    per_place = [floats(3, 4, 5, seed=k) for k in (2, 3, 4)] + [floats(3, 4, 5, seed=5, low=0.5, high=2)]
    yield Case([x, *per_place], {"spatial": 0}, None, "per_place")


@shows("Gemm", 1)
def gemm(version, op):
    a, b = floats(4, 3), floats(5, 4, seed=2)
    for c, attributes, label in ((floats(3, 5, seed=3), {}, "same"), (floats(5, seed=3), {"broadcast": 1}, "row"),
                                 (floats(3, 1, seed=3), {"broadcast": 1}, "column"), (floats(1, seed=3), {"broadcast": 1}, "one")):
        y = 0.5 * (a.T @ b.T) + 2 * c
        yield Case([a, b, c], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0, **attributes}, [y.astype(np.float32)], label)


@shows("Tile", 1)
def tile(version, op):
    x = floats(2, 3)
    for axis, tiles in ((0, 3), (1, 2)):
        yield Case([x, np.array([tiles], np.float32), np.array([axis], np.float32)], {},
                   [np.concatenate([x] * tiles, axis)], f"axis_{axis}")


@shows("Split", 1)
def split(version, op):
    x = floats(6, 4)
    yield Case([x], {"axis": 1}, list(np.split(x, 2, 1)), "equal")
    yield Case([x], {"axis": 0, "split": [1, 2, 3]}, list(np.split(x, [1, 3], 0)), "attribute")
    yield Case([x, np.array([4, 2], np.float32)], {"axis": 0}, list(np.split(x, [4], 0)), "operand")


def lp_norm(x, p, axes):
    return (np.abs(x.astype(np.float64)) ** p).sum(axis=axes, keepdims=True) ** (1 / p)


@shows("GlobalLpPool", 1, 2, 22)
def global_lp_pool(version, op):
    for x, label in ((floats(2, 3, 4, 5), "2d"), (floats(1, 2, 7, seed=2), "1d")):
        for p in (None, 1, 3) if version > 1 else (None, 1.0, 2.5):
            y = lp_norm(x, p or 2, tuple(range(2, x.ndim))).astype(np.float32)
            yield Case([x], {} if p is None else {"p": p}, [y], f"{label}_p{str(p or 2).replace('.', '_')}")


@shows("LpPool", 1)
def lp_pool(version, op):
    x = floats(1, 2, 6, 6)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))[:, :, ::2, ::1]
    for p in (1.0, 2.0, 3.0, 0.5, 2.5):
        y = lp_norm(windows, p, (4, 5))[..., 0, 0].astype(np.float32)
        yield Case([x], {"kernel_shape": [2, 3], "strides": [2, 1], "p": p}, [y], f"p{p:g}".replace(".", "_"))


@shows("MaxRoiPool", 1, 22)
def max_roi_pool(version, op):
    x = floats(2, 3, 12, 16)
    rois = np.array([[0, 0, 0, 7, 5], [1, 2, 3, 15, 11], [0, 4, 4, 4, 4], [1, 8, 0, 31, 22]], np.float32)
    yield Case([x, rois], {"pooled_shape": [3, 2]}, None, "unscaled")
    yield Case([x, rois], {"pooled_shape": [2, 2], "spatial_scale": 0.5}, None, "half")


@shows("GroupNormalization", 18)
def group_norm(version, op):
    """scale and bias of a group, not of a channel as from 21 on."""
    x, scale, bias = floats(2, 6, 3, 4), floats(3, seed=2), floats(3, seed=3)
    groups = x.reshape(2, 3, -1)
    y = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + np.float32(1e-3))
    y = y * scale.reshape(1, 3, 1) + bias.reshape(1, 3, 1)
    yield Case([x, scale, bias], {"num_groups": 3, "epsilon": 1e-3}, [y.reshape(x.shape).astype(np.float32)], "groups")


@shows("Hardmax", 1)
def hardmax(version, op):
    """From `axis` on, all axes are one."""
    x = rng().permutation(24).reshape(2, 3, 4).astype(np.float32)
    for axis in (0, 1, 2):
        rows = x.reshape(int(np.prod(x.shape[:axis])), -1)
        yield Case([x], {"axis": axis}, [(rows == rows.max(1, keepdims=True)).astype(np.float32).reshape(x.shape)], f"axis_{axis}")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@shows("GRU", 1)
def gru(version, op):
    x, w, r, b = floats(3, 2, 4), floats(1, 15, 4, seed=2, low=-.5, high=.5), floats(1, 15, 5, seed=3, low=-.5, high=.5), floats(1, 30, seed=4)
    (wz, wr, wh), (rz, rr, rh) = np.split(w[0], 3), np.split(r[0], 3)
    bz, br, bh = (b[0][k * 5:k * 5 + 5] + b[0][15 + k * 5:20 + k * 5] for k in range(3))
    h, ys = np.zeros((2, 5), np.float32), []
    for xt in x:
        z, reset = sigmoid(xt @ wz.T + h @ rz.T + bz), sigmoid(xt @ wr.T + h @ rr.T + br)
        h = (1 - z) * np.tanh(xt @ wh.T + (reset * h) @ rh.T + bh) + z * h
        ys.append(h[None])
    y = np.stack(ys).astype(np.float32)
    yield Case([x, w, r, b], {"hidden_size": 5, "output_sequence": 1}, [y, y[-1]], "forward")


@shows("Scatter", 11)
def scatter(version, op):
    data, updates = floats(3, 4), floats(2, 3, seed=2)
    indices, y = np.array([[2, 0, 1], [0, 2, 2]], np.int64), data.copy()
    for i in range(2):
        for j in range(3):
            y[indices[i, j], j] = updates[i, j]
    yield Case([data, indices, updates], {"axis": 0}, [y], "axis_0")


# ---- images enlarged ----
def nearest(x, scales):
    for axis, scale in enumerate(scales):
        x = np.take(x, np.floor(np.arange(int(np.floor(x.shape[axis] * scale))) / scale).astype(int), axis)
    return x


def linear(x, scales):
    """Places at i / scale, the last value beyond the end."""
    for axis, scale in enumerate(scales):
        n = x.shape[axis]
        at = np.minimum(np.arange(int(np.floor(n * scale))) / scale, n - 1)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, n - 1), axis) * part
    return x.astype(np.float32)


@shows("Upsample", 1)
def upsample_1(version, op):
    x = floats(1, 2, 3, 4)
    for mode, function in (("nearest", nearest), ("bilinear", linear)):
        yield Case([x], {"mode": mode, "height_scale": 2.0, "width_scale": 1.5}, [function(x, (1, 1, 2, 1.5))], mode)


@shows("Upsample", 7, 10)
def upsample(version, op):
    x, scales = floats(1, 2, 3, 4), [1.0, 1.0, 2.0, 1.5]
    for mode, function in (("nearest", nearest), ("linear", linear)):
        if version == 7:
            yield Case([x], {"mode": mode, "scales": scales}, None, mode)
        else:  # deprecated, without a new text: the operator of version 9
            yield Case([x, np.array(scales, np.float32)], {"mode": mode}, [function(x, scales)], mode)


@shows("Resize", 10)
def resize(version, op):
    x = floats(1, 2, 4, 6)
    for mode in ("nearest", "linear"):
        for scales, label in (([1, 1, 2, 1.5], "up"), ([1, 1, 0.5, 0.75], "down")):
            yield Case([x, np.array(scales, np.float32)], {"mode": mode}, None, f"{mode}_{label}")


@shows("Resize", 11)
def resize_11(version, op):
    """roi and scales must be there, be they empty."""
    x, none = floats(1, 2, 4, 6), np.zeros(0, np.float32)
    sizes = np.array([1, 2, 7, 9], np.int64)
    for mode in ("nearest", "linear", "cubic"):
        for place in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            yield Case([x, none, none, sizes], {"mode": mode, "coordinate_transformation_mode": place}, None, f"{mode}_{place}")
        yield Case([x, none, np.array([1, 1, 0.5, 0.75], np.float32)], {"mode": mode}, None, f"{mode}_down")
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        yield Case([x, none, np.array([1, 1, 1.7, 0.65], np.float32)], {"nearest_mode": rounding}, None, rounding)
    roi = np.array([0, 0, 0.25, 0.1, 1, 1, 0.75, 1.2], np.float32)
    yield Case([x, roi, none, sizes], {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                                       "extrapolation_value": 5.0}, None, "crop")


@shows("Loop", 1)
def loop(version, op):
    """The state doubles in every round and is collected."""
    def info(name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)
    nodes = [helper.make_node("Add", ["v", "v"], ["v_out"]), helper.make_node("Identity", ["v_out"], ["seen"]),
             helper.make_node("Identity", ["go"], ["go_out"])]
    body = helper.make_graph(nodes, "body", [info("i", TensorProto.INT64), info("go", TensorProto.BOOL), info("v", TensorProto.FLOAT, 3)],
                             [info("go_out", TensorProto.BOOL), info("v_out", TensorProto.FLOAT, 3), info("seen", TensorProto.FLOAT, 3)])
    v = floats(3)
    rounds = [v * 2 ** (k + 1) for k in range(4)]
    yield Case([np.array(4, np.int64), np.array(True), v], {"body": body}, [rounds[-1], np.stack(rounds)], "doubling")


# ---- drawn values: judged by type and shape ----
@shows("RandomNormal", 1, 22)
@shows("RandomUniform", 1, 22)
def drawn(version, op):
    yield Case([], {"shape": [3, 4], "seed": 1.0}, [np.zeros((3, 4), np.float32)], "seeded", random=True)
    yield Case([], {"shape": [5], "dtype": 11}, [np.zeros(5, np.float64)], "double", random=True)


@shows("RandomNormalLike", 1, 22)
@shows("RandomUniformLike", 1)
def drawn_like(version, op):
    x = floats(2, 3)
    yield Case([x], {"seed": 1.0}, [x], "seeded", random=True)
    yield Case([x], {"dtype": 10}, [x.astype(np.float16)], "half", random=True)


@shows("Multinomial", 7, 22)
def multinomial(version, op):
    x = floats(2, 5)
    yield Case([x], {"sample_size": 7}, [np.zeros((2, 7), np.int32)], "default", random=True)
    yield Case([x], {"sample_size": 3, "dtype": 7}, [np.zeros((2, 3), np.int64)], "int64", random=True)


@shows("Bernoulli", 15)
def bernoulli(version, op):
    x = floats(3, 4, low=0, high=1)
    yield Case([x], {}, [x], "default", random=True)
    yield Case([x], {"dtype": 11, "seed": 2.0}, [x.astype(np.float64)], "double", random=True)
