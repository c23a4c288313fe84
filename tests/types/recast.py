"""Values in another element type: of the same shape, different from each other where the type has room, and exact in it."""
import ml_dtypes
import numpy as np
import onnx
from onnx import helper

TYPES = {name.lower(): kind for name, kind in onnx.TensorProto.DataType.items() if kind}
FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
SMALL_FLOATS = (*FLOAT8, "float4e2m1", "float6e2m3", "float6e3m2")
SUB_BYTE = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float", "double", "float16", "bfloat16")
# Types that have no arithmetic in the standard: they are moved, compared and converted.
OPAQUE = (*SMALL_FLOATS, "float8e8m0", *SUB_BYTE, "bool", "string", "complex64", "complex128")


def element(kind):
    """"float16" of "tensor(float16)"; None of what is no tensor."""
    return kind[7:-1] if kind.startswith("tensor(") else None


def dtype_of(name):
    return np.dtype(object) if name == "string" else helper.tensor_dtype_to_np_dtype(TYPES[name])


def name_of(array):
    if array.dtype.kind in "OUS":
        return "string"
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return next(name for name, k in TYPES.items() if k == kind)


def as_numbers(value):
    """The values as float64 or int64."""
    name = name_of(value)
    if name == "string":
        return np.array([number_of(text) for text in value.reshape(-1)], np.float64).reshape(value.shape)
    if name.startswith("complex"):
        return value.real.astype(np.float64)
    return value.astype(np.float64 if name in FLOATS or name in SMALL_FLOATS or name == "float8e8m0" else np.int64)


def number_of(text):
    try:
        return float(text)
    except (ValueError, TypeError):
        return float(sum(bytes(str(text), "utf-8")) % 97)


def to_range(numbers, lo, hi):
    """Whole numbers within a range: fractions count in quarters, what is outside comes round."""
    numbers = np.nan_to_num(numbers.astype(np.float64), posinf=9.0, neginf=-9.0)
    whole = numbers if (numbers == np.rint(numbers)).all() else np.rint(numbers * 4)
    if lo == 0:
        whole = np.abs(whole)
    outside = (whole < lo) | (whole > hi)
    return np.where(outside, (whole - lo) % (hi - lo + 1) + lo, whole) if outside.any() else whole


def to_double(numbers):
    """float64 whose lower half matters, but for values that an operator may take for places or sizes."""
    plain = (numbers * 2 == np.rint(numbers * 2)) | ~np.isfinite(numbers)
    return np.where(plain, numbers, numbers * (1 + 2.0**-31))


def to_float(numbers, name):
    dtype = dtype_of(name)
    if name == "double":
        return to_double(numbers.astype(np.float64))
    if name == "float8e8m0":
        size = np.abs(np.nan_to_num(numbers.astype(np.float64), posinf=64.0, neginf=64.0))
        return np.exp2(np.rint(np.log2(np.where(size == 0, 1.0, size)))).astype(np.float32).astype(dtype)
    if name in SMALL_FLOATS:
        most = float(ml_dtypes.finfo(dtype).max)
        numbers = np.clip(np.nan_to_num(numbers.astype(np.float64)), -most, most)
    return numbers.astype(np.float32).astype(dtype)


def recast(value, name):
    """`value` as an array of element type `name`."""
    if name_of(value) == name:
        return value
    if name_of(value) == "string" and name == "string":
        return value
    numbers = as_numbers(value)
    if name == "string":
        return np.array([spelling(v) for v in numbers.reshape(-1)], object).reshape(value.shape)
    if name == "bool":
        return (np.rint(np.nan_to_num(numbers) * 4).astype(np.int64) % 3 > 0) if numbers.dtype.kind == "f" else numbers % 2 > 0
    if name.startswith("complex"):
        real = np.nan_to_num(numbers.astype(np.float64))
        return (real + 1j * real.reshape(-1)[::-1].reshape(real.shape) / 2).astype(dtype_of(name))
    if name in SUB_BYTE:
        return to_range(numbers, *SUB_BYTE[name]).astype(np.int64).astype(dtype_of(name))
    if name in INTS:
        info = np.iinfo(dtype_of(name))
        if numbers.dtype.kind == "i" and name in ("int64", "uint64"):
            return numbers.astype(dtype_of(name))
        return to_range(numbers, int(info.min), int(info.max)).astype(dtype_of(name))
    return to_float(numbers, name)


def spelling(number):
    return str(int(number)) if np.isfinite(number) and number == int(number) else f"{float(number):.4g}"
