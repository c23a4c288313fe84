"""Operators computed here, in double precision or exactly: where the libraries compute in float, round results of another type in the middle, or leave to C
what C leaves undefined."""
import math

import numpy as np

import recast

ERF = np.vectorize(math.erf, otypes=[np.float64])


def attribute(node, name, default):
    for a in node.attribute:
        if a.name == name:
            return a.s.decode() if a.type == a.STRING else a.i if a.type == a.INT else a.f
    return default


def double(x):
    return np.asarray(x).astype(np.float64)


def window(a0, a1, a2):
    def compute(node, inputs):
        n = int(inputs[0])
        angle = 2 * np.pi * np.arange(n) / (n if attribute(node, "periodic", 1) else n - 1)
        return [a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)]
    return compute


def gelu(node, inputs):
    x = double(inputs[0])
    if attribute(node, "approximate", "none") == "tanh":
        return [x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))]
    return [x / 2 * (1 + ERF(x / math.sqrt(2)))]


def mish(node, inputs):
    x = double(inputs[0])
    return [x * np.tanh(np.log1p(np.exp(np.minimum(x, 40))))]  # of larger ones tanh is 1


def hard_swish(node, inputs):
    x = double(inputs[0])
    return [x * np.clip(x / 6 + 0.5, 0, 1)]


def dft(node, inputs):
    x = double(inputs[0])
    given = [None if v is None else int(np.reshape(v, -1)[0]) for v in (*inputs[1:], None, None)][:2]
    axis = attribute(node, "axis", -2 if given[1] is None else given[1]) % x.ndim
    signal = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
    onesided, inverse = attribute(node, "onesided", 0), attribute(node, "inverse", 0)
    if onesided and inverse:
        return [np.fft.irfft(signal, given[0], axis)[..., None]]
    y = (np.fft.ifft if inverse else np.fft.fft)(signal, given[0], axis)
    if onesided:
        y = np.take(y, range(y.shape[axis] // 2 + 1), axis)
    return [np.stack([y.real, y.imag], -1)]


def upsample_scales(node, inputs):
    if len(inputs) > 1:
        return [float(v) for v in inputs[1].reshape(-1)]
    given = {a.name: a for a in node.attribute}
    if "scales" in given:
        return list(given["scales"].floats)
    return [1.0, 1.0, given["height_scale"].f, given["width_scale"].f]


def upsample(node, inputs):
    """Axis by axis, place i of the result at i / scale: of nearest that place rounded down, of linear between it and the next, up to the last one."""
    x, linear = inputs[0], attribute(node, "mode", "nearest") != "nearest"
    y = double(x) if linear else x
    for axis, scale in enumerate(upsample_scales(node, inputs)):
        places = np.arange(int(math.floor(x.shape[axis] * scale))) / scale
        low = np.minimum(np.floor(places).astype(np.int64), x.shape[axis] - 1)
        high, far = np.minimum(low + 1, x.shape[axis] - 1), (places - low).reshape([-1] + [1] * (x.ndim - 1 - axis))
        y = np.take(y, low, axis) * (1 - far) + np.take(y, high, axis) * far if linear else np.take(y, low, axis)
    return [np.round(y, 9) if linear and x.dtype.kind in "iu" else y]  # what is whole but for the rounding of thirds is whole


# By operator: the function, in double. Results are rounded once, to integers towards zero.
FORMULAS = {"BlackmanWindow": window(0.42, 0.5, 0.08), "HannWindow": window(0.5, 0.5, 0), "HammingWindow": window(25 / 46, 21 / 46, 0), "Gelu": gelu,
            "HardSwish": hard_swish, "Upsample": upsample, "Mish": mish, "Erf": lambda node, inputs: [ERF(double(inputs[0]))]}


def outputs(node, opset, inputs, kinds):
    """Arrays of the element types `kinds`, or None where nothing here computes the node."""
    if node.op_type in ("Cast", "CastLike") and kinds[0] == "string":
        return [texts(inputs[0])]
    if node.op_type == "DFT" and opset >= 20:
        found = dft(node, inputs)
    elif node.op_type in FORMULAS and node.domain == "":
        found = FORMULAS[node.op_type](node, inputs)
    else:
        return None
    return [narrowed(v, kind) for v, kind in zip(found, kinds)]


def narrowed(value, kind):
    if value.dtype == recast.dtype_of(kind):
        return value
    if kind in recast.INTS:
        return np.trunc(value).astype(np.int64).astype(recast.dtype_of(kind))
    if kind in recast.SUB_BYTE:
        return np.clip(np.trunc(value), *recast.SUB_BYTE[kind]).astype(np.int64).astype(recast.dtype_of(kind))
    return value.astype(np.float32).astype(recast.dtype_of(kind)) if kind not in ("float", "double") else value.astype(recast.dtype_of(kind))


# ---- numbers as text: the shortest decimal that reads back as the same number of its type, as Python writes it ----
def texts(x):
    name = recast.name_of(x)
    if name == "string":
        return x
    flat = x.reshape(-1)
    if name == "bool":
        found = ["1" if v else "0" for v in flat]
    elif name in recast.INTS or name in recast.SUB_BYTE:
        found = [str(int(v)) for v in flat]
    else:
        found = [shortest(v) for v in flat]
    return np.array(found, object).reshape(x.shape)


def shortest(v):
    wide = float(v)
    if not math.isfinite(wide):
        return "NaN" if math.isnan(wide) else "INF" if wide > 0 else "-INF"
    for digits in range(1, 18):
        text = f"{wide:.{digits - 1}e}"
        if type(v)(float(text)) == v:
            return repr(float(text))
    return repr(wide)
