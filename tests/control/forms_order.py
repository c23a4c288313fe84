"""The first of many: what TopK passes over in runs, among equals, NaN, infinities and zeros of either sign, along the last axis and another one; and the best of many boxes."""
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

# boxes kept by where they begin: more than are compared with all others, far apart and side by side, the classes of a detector laid apart, from far away to far away
for name, place, length, center in (("apart", 40, 1, 0), ("centers", 60, 2, 1), ("near", 2, 3, 0), ("lines", 30, 0, 0)):
    n = 2500
    at, size = random(60, 1, n, 2) * np.float32(place), abs(random(61, 1, n, 2)) * np.float32(length)
    boxes = np.concatenate([at, size] if center else [at - size / 2, at + size / 2], -1)
    if name == "apart":
        boxes += np.repeat(np.arange(10, dtype=np.float32) * 90, n // 10)[None, :, None]
        boxes[0, 7, :2] -= 400
    graph(f"order_of_boxes_{name}", f"""
f (float[1, {n}, 4] boxes, float[1, 2, {n}] scores, int64 most, float overlap) => (int64[m, 3] y) {{
  y = NonMaxSuppression <center_point_box = {center}> (boxes, scores, most, overlap)
}}""", *({"boxes": boxes.astype(np.float32), "scores": random(62, 1, 2, n), "most": np.array(most, np.int64), "overlap": np.array(overlap, np.float32)} for most, overlap in ((n, 0.3), (600, 0.05))))
