"""Maxima, their places, and running sums, along every axis: among equals, NaN and infinities, in rows of any length, of floats and integers."""
import numpy as np

from case_list import graph, random


def place(x, axis, last, least):
    """The first place of the greatest, or the last; a NaN is greater, and less, than all else."""
    x = np.moveaxis(x, axis, -1)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.inf, np.nan_to_num(-x if least else x, nan=0, posinf=1e38, neginf=-1e38))
    elif least:
        x = -x
    at = x.shape[-1] - 1 - np.argmax(x[..., ::-1], -1) if last else np.argmax(x, -1)
    return [np.expand_dims(at, axis)]


def declared(x):
    return f"{ {'f': 'float', 'i': f'int{x.dtype.itemsize * 8}'}[x.dtype.kind]}[{', '.join(map(str, x.shape))}]"


def places(name, x, axis):
    for op, least in (("ArgMax", False), ("ArgMin", True)):
        for last in (0, 1):
            graph(f"reductions_{op.lower()}_{name}_{axis}_{last}", f"f ({declared(x)} x) => (int64[a, b, c] y) {{\n  y = {op} <axis = {axis}, select_last_index = {last}> (x)\n}}",
                  {"x": x}, expect=lambda x, last=last, least=least: place(x, axis, last, least))


few = np.round(random(1, 3, 70, 90) * 4).astype(np.float32) / 4
special = random(2, 3, 70, 90)
for at, value in enumerate((np.nan, np.inf, -np.inf)):
    special[at, at * 9::17 + at, at * 5::23 - at] = value
nothing = np.full((2, 40, 70), -np.inf, np.float32)
nothing[1, :, ::2] = np.nan
for axis in range(3):
    for name, x in ("equals", few), ("special", special), ("nothing", nothing), ("s64", (few * 4).astype(np.int64)), ("s32", (few * 4).astype(np.int32)):
        places(name, x, axis)
    for op, of in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        graph(f"reductions_{op.lower()}_{axis}", f"f ({declared(special)} x) => (float[a, b, c] y) {{\n  y = {op} <axes = [{axis}]> (x)\n}}",
              {"x": special}, expect=lambda x, of=of, axis=axis: [of(x, axis=axis, keepdims=True)])
    for exclusive in (0, 1):
        for reverse in (0, 1):
            graph(f"reductions_cumsum_{axis}_{exclusive}_{reverse}",
                  f"f (int64[37, 50, 41] x) => (int64[37, 50, 41] y) {{\n  axis = Constant <value = int64 {{{axis}}}> ()\n  y = CumSum <exclusive = {exclusive}, reverse = {reverse}> (x, axis)\n}}",
                  {"x": np.round(random(axis, 37, 50, 41) * 100).astype(np.int64)})
for size in (33, 64, 127, 128, 1024, 1025, 3001):
    x = random(size, 2, 3, size)
    places(f"of_{size}", x, 2)
    x[0, 1, size // 2] = np.nan
    graph(f"reductions_max_of_{size}", f"f ({declared(x)} x) => (float[a, b, c] y) {{\n  y = ReduceMax <axes = [2]> (x)\n}}", {"x": x}, expect=lambda x: [np.max(x, axis=2, keepdims=True)])
for op in ("LpPool", "AveragePool", "MaxPool"):
    for size in ((9, 40), (20, 70), (7, 15)):
        for window in ((1, 4), (3, 3), (2, 5)):
            graph(f"reductions_{op.lower()}_{size[0]}_{window[0]}", f"f (double[2, 3, {size[0]}, {size[1]}] x) => (double[a, b, c, d] y) {{\n  y = {op} <kernel_shape = [{window[0]}, {window[1]}]> (x)\n}}",
                  {"x": random(size[1], 2, 3, *size).astype(np.float64)})
