"""Quantised values: to the nearest integer, halves to even, then the zero point, saturated; products summed exactly, scaled and rounded once."""
import ml_dtypes
import numpy as np

from case_list import rule

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535), "int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
HALVES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 127.5, 128.5, -128.5, 254.5, 255.5, 1e9, -1e9, 3e38, np.inf, -np.inf, np.nan, 0.0, -0.0, 0.49999997, 7.5, -8.5, 32767.5, 65534.5, 65535.5, 3, -3], np.float32)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name)) if name.endswith("int4") or name.endswith("int2") else np.dtype(name)


def quantised(real, zero, name):
    """Of real values over the scale, in double; NaN is 0 as an integer."""
    lo, hi = RANGES[name]
    whole = np.where(np.isnan(real), 0, np.rint(real) + zero)
    return np.clip(whole, lo, hi).astype(np.int64).astype(dtype_of(name))


for name, (lo, hi) in RANGES.items():
    for zero in sorted({0, lo, hi, 1}):
        point = np.array(zero).astype(dtype_of(name))
        for scale in (1.0, 0.25):
            x = np.resize(HALVES * np.float32(scale), 70)
            real = x.astype(np.float64) / scale
            rule("quantised", "QuantizeLinear", [x, np.float32(scale).reshape(()), point], [quantised(real, zero, name)], f"{name}_{zero}_{scale}".replace("-", "m"))
    levels = np.arange(lo, hi + 1, 1 if hi - lo < 300 else 257).astype(dtype_of(name))
    if name not in ("int16", "uint16"):
        point = np.array(1).astype(dtype_of(name))
        rule("quantised", "DequantizeLinear", [levels, np.array(0.1, np.float32), point], [((levels.astype(np.int64) - 1).astype(np.float32) * np.float32(0.1))], name)
WIDE = np.array([2**31 - 1, -(2**31), 2**24 + 1, 0, -7], np.int32)
rule("quantised", "DequantizeLinear", [WIDE, np.array(0.5, np.float32)], [WIDE.astype(np.float32) * np.float32(0.5)], "int32")


def scaled(total, scale, zero, name):
    """A sum of products times one factor, as float32 computes it."""
    return quantised((total.astype(np.float32) * np.float32(scale)).astype(np.float64), zero, name)


for left in ("uint8", "int8"):
    for right in ("uint8", "int8"):
        for rows, depth, columns in ((3, 40, 33), (17, 5, 9), (1, 300, 64)):
            random = np.random.default_rng(rows)
            a, b = (random.choice(np.array([lo, lo + 1, 0, 1, 2, hi - 1, hi]), shape) for shape, (lo, hi) in (((rows, depth), RANGES[left]), ((depth, columns), RANGES[right])))
            zeros = [{"uint8": 128, "int8": 3}[n] for n in (left, right, left)]
            total = (a - zeros[0]) @ (b - zeros[1])
            points = [np.array(z).astype(n) for z, n in zip(zeros, (left, right, left))]
            half, small = np.array(0.5, np.float32), np.array(2.0**-12, np.float32)
            y = scaled(total, 2.0**-12, zeros[2], left)  # halves come often: the factor is a power of two
            operands = [a.astype(left), half, points[0], b.astype(right), small, points[1], half, points[2]]
            rule("quantised", "QLinearMatMul", operands, [y], f"{left}_{right}_{rows}", fixed=(1, 2, 4, 5, 6, 7))
            rule("quantised", "QLinearMatMul", operands, [y], f"{left}_{right}_{rows}_free", forms=("alone", "open"))
            rule("quantised", "MatMulInteger", [a.astype(left), b.astype(right), points[0], points[1]], [total.astype(np.int32)], f"{left}_{right}_{rows}")
            image, window = a.astype(left).T.reshape(1, depth, rows, 1), b.astype(right).T.reshape(columns, depth, 1, 1)
            rule("quantised", "QLinearConv", [image, half, points[0], window, small, points[1], half, points[2]], [y.T.reshape(1, columns, rows, 1)], f"{left}_{right}_{rows}", fixed=(1, 2, 3, 4, 5, 6, 7))
            rule("quantised", "ConvInteger", [image, window, points[0], points[1]], [total.astype(np.int32).T.reshape(1, columns, rows, 1)], f"{left}_{right}_{rows}")
