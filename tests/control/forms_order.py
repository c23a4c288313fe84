"""The first of many: what TopK passes over in runs, among equals, NaN, infinities and zeros of either sign, along the last axis and another one."""
import numpy as np

from case_list import graph, random


def expect(x, k, largest, axis):
    """NaN above everything, -0 for 0, of equal elements the first first."""
    key = np.where(np.isnan(x), np.inf, x).astype(np.float64) + 0.0
    tie = np.isnan(x)
    x, key, tie = (np.moveaxis(a, axis, -1) for a in (x, key, tie))
    place = np.broadcast_to(np.arange(key.shape[-1]), key.shape)
    order = np.lexsort((place, *(([~tie, -key]) if largest else [tie, key])), axis=-1)[..., :k]
    return [np.moveaxis(np.take_along_axis(x, order, -1), -1, axis), np.moveaxis(order, -1, axis)]


def form(name, x, k, largest, axis=-1):
    graph(f"order_{name}", f"f (float[{', '.join(map(str, x.shape))}] x) => (float[a, b] v, int64[a, b] i) {{\n  k = Constant <value = int64[1] {{{k}}}> ()\n"
          f"  v, i = TopK <axis = {axis}, largest = {largest}> (x, k)\n}}", {"x": x}, expect=lambda x: expect(x, k, largest, axis))


few = np.round(random(1, 3, 500) * 8) / 8
special = random(2, 4, 300)
for at, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0, np.nan)):
    special[:, 37 * at + np.arange(4)] = value
for largest in (0, 1):
    form(f"of_equals_{largest}", few.astype(np.float32), 21, largest)
    form(f"of_special_{largest}", special, 9, largest)
    form(f"of_nan_{largest}", np.where(np.arange(100) % 3, np.float32("nan"), special[:, :100]).astype(np.float32), 70, largest)
    form(f"of_rising_{largest}", np.sort(random(3, 2, 400), axis=-1), 17, largest)
    form(f"all_{largest}", random(4, 2, 33), 33, largest)
    form(f"down_{largest}", random(5, 64, 5), 7, largest, axis=0)
