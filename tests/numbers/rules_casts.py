"""Conversions of every numeric type to every other: integers saturate and NaN gives 0, integers among themselves keep the low bits, floats round once, to nearest even."""
import bisect
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from case_list import FLOATS, INTEGERS, floats, integers, is_float, rule
from rules_integers import wrapped

SUB_BYTE = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
CAPPED = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")  # formats without infinities and NaN
SCALE = "float8_e8m0fnu"


def known(name):
    """The NumPy type, where this onnx has it."""
    try:
        dtype = np.dtype(getattr(ml_dtypes, name))
        return dtype if f"tensor({onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(dtype)).lower()})" in ALLOWED else None
    except (AttributeError, KeyError, ValueError):
        return None


ALLOWED = onnx.defs.get_schema("Cast").type_constraints[0].allowed_type_strs
NARROW_INTS = [t for t in map(known, SUB_BYTE) if t]
EIGHTS = [t for t in map(known, FLOAT8) if t]
CAPS = [t for t in map(known, CAPPED) if t]
SCALES = [t for t in (known(SCALE),) if t]
ALL = [np.dtype(bool), *INTEGERS, *FLOATS, *NARROW_INTS, *EIGHTS, *CAPS, *SCALES]


def codes(dtype):
    """Every value of a type of at most 8 bits."""
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}.get(dtype.name, 8)
    if dtype.name in SUB_BYTE:
        lo, hi = SUB_BYTE[dtype.name]
        return np.arange(lo, hi + 1).astype(dtype)
    return np.arange(1 << bits, dtype=np.uint8).view(dtype)


def finite_values(dtype):
    """Magnitudes in order of their codes, with the one that would come next."""
    if dtype.itemsize == 1:
        every = codes(dtype)[: len(codes(dtype)) // 2].astype(np.float64)
    else:
        every = np.arange(1 << 15, dtype=np.uint16).view(dtype).astype(np.float64)
    found = [Fraction(float(v)) for v in every if np.isfinite(v)]
    return [*found, 2 * found[-1] - found[-2]]


VALUES = {t: finite_values(t) for t in (*EIGHTS, *CAPS, *FLOATS[:2])}


def nearest(value, dtype):
    """(code of the magnitude, whether too large): to nearest, ties to the even code."""
    values, size = VALUES[dtype], abs(value)
    k = min(bisect.bisect_left(values, size), len(values) - 1)
    if size < values[-1] and size != values[k]:
        below, above = size - values[k - 1], values[k] - size
        k = k - 1 if below < above or (below == above and (k - 1) % 2 == 0) else k
    return min(k, len(values) - 1), k >= len(values) - 1


def to_small_float(x, dtype, saturate):
    """Of Python floats or integers."""
    if x != x:
        return -0.0 if dtype in CAPS else np.nan
    sign = -1.0 if np.signbit(np.float64(x)) else 1.0
    most = float(VALUES[dtype][-2])
    over = most if dtype in CAPS or (dtype in EIGHTS and saturate) else np.inf if dtype.name in ("float16", "bfloat16", "float8_e5m2") else np.nan
    if x in (np.inf, -np.inf):
        return sign * over
    k, large = nearest(Fraction(x), dtype)
    return sign * (over if large else float(VALUES[dtype][k]))


def to_scale(x, saturate):
    """The power of two not below the magnitude."""
    size = abs(x)
    if x != x:
        return np.nan
    power = np.inf if size == np.inf else -np.inf if size == 0 else int(np.ceil(np.log2(float(size))))
    if -127 <= power <= 127:
        power += Fraction(2) ** power < Fraction(size)
        power -= Fraction(2) ** (power - 1) >= Fraction(size)
    if -127 <= power <= 127:
        return 2.0 ** int(power)
    return np.nan if not saturate else 2.0**127 if power > 0 else 2.0**-127


def to_integer(x, dtype):
    whole = isinstance(x, int)
    if dtype.name in SUB_BYTE:
        lo, hi = SUB_BYTE[dtype.name]
        n = hi - lo + 1
        x = int(x) if whole else saturated(x, np.int32)
        return (x - lo) % n + lo
    return int(wrapped([int(x)], dtype)[0]) if whole else saturated(x, dtype)


def saturated(x, dtype):
    info = np.iinfo(dtype)
    if x != x:
        return 0
    return info.min if x <= info.min else info.max if x >= info.max else int(x)


def plain(array):
    """Python's integers or floats, exactly."""
    if array.dtype == bool or array.dtype in INTEGERS or array.dtype in NARROW_INTS:
        return [int(v) for v in array]
    return [float(v) for v in array]


def cast(array, dtype, saturate=True):
    rows = plain(array)
    if dtype == bool:
        return np.array([v != 0 for v in rows])
    if dtype in INTEGERS or dtype in NARROW_INTS:
        return np.array([to_integer(v, dtype) for v in rows], np.int64 if dtype != np.uint64 else np.uint64).astype(dtype)
    if dtype in SCALES:
        return np.array([to_scale(v, saturate) for v in rows], np.float32).astype(dtype)
    if dtype in VALUES:
        return np.array([to_small_float(v, dtype, saturate) for v in rows], np.float32).astype(dtype)
    return array.astype(dtype)  # by the processor, once


EDGES = [127.5, 128.5, -128.5, -129, 255.5, 256.5, 32767.5, 65535.5, 2.0**31 - 0.5, 2.0**31, -(2.0**31) - 1, 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e300, 448, 464, 465, 480, 57344, 61440, 61441,
         240, 248, 5, 5.5, 7.5, 7.75, 28, 30, 65504, 65519.99, 65520, 3.4028235e38, 3.39e38, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-11 + 2.0**-50, 2.0**-25, 2.0**-24 * 1.5, 0.75, 1.25, 2.0**-10, 2.0**-127, 2.0**-149]
LARGE_INTS = [2**24 + 1, 2**53 + 1, 2**63 - 1, 2**62 + 2**38 + 1, 65519, 65520, 449, 464, 465, 2**33 + 5]


def material(dtype):
    """Values of a type at which some conversion's rule shows."""
    if dtype == bool:
        return np.array([False, True])
    if is_float(dtype):
        return np.concatenate([floats(dtype), np.array(EDGES + [-v for v in EDGES], np.float64).astype(dtype)])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return np.concatenate([integers(dtype), np.array([s * v for v in LARGE_INTS for s in (1, -1) if info.min <= s * v <= info.max], dtype)])
    return codes(dtype)


for t in ALL:
    x = material(t)
    for to in ALL:
        if t == to:
            continue
        for saturate in (1, 0) if to in EIGHTS + SCALES else (1,):
            said = {"saturate": saturate} if to in EIGHTS + SCALES else {}
            found = cast(x, to, bool(saturate))
            label = f"{t.name}_to_{to.name}" + ("" if saturate else "_open")
            rule(f"casts_{t.name}", "Cast", [x], [found], label, zeros=True, forms=("alone", "inside", "folded"), to=int(helper.np_dtype_to_tensor_dtype(to)), **said)
