"""TopK, Unique and NonMaxSuppression order NaN above everything, take -0 for 0, and of equal elements the first."""
import functools

import numpy as np

from case_list import integers, rule, sprinkled
from rules_floats import INF, NAN, types_of, wide


def above(a, b):
    """Whether a comes above b, where NaN is above all and equal to itself."""
    return a != a and b == b or a > b


def compare(a, b):
    return -1 if above(a, b) else 1 if above(b, a) else 0


def top(line, k, largest):
    order = sorted(range(len(line)), key=functools.cmp_to_key(lambda i, j: compare(line[i], line[j]) * (1 if largest else -1) or i - j))
    return order[:k]


for t in (*types_of("TopK"), np.dtype(np.int32), np.dtype(np.int64)):
    for where, shape, axis in (("inner", (7, 37), 1), ("outer", (37, 3), 0), ("middle", (2, 20, 5), 1)):
        x = np.resize(integers(t), shape) if t.kind == "i" else sprinkled(1, t, shape, [NAN, INF, -INF, 0.0, -0.0], 0.5)
        lines = np.moveaxis(x, axis, -1)
        for largest in (1, 0):
            places = np.array([top([float(v) if t.kind != "i" else int(v) for v in line], 9, largest) for line in lines.reshape(-1, x.shape[axis])])
            places = np.moveaxis(places.reshape(*lines.shape[:-1], 9), -1, axis)
            rule("order", "TopK", [x, np.array([9])], [np.take_along_axis(x, places, axis), places], f"{t.name}_{where}_{largest}", fixed=(1,), axis=axis, largest=largest)
for t in types_of("Unique"):
    x = sprinkled(2, t, (60,), [NAN, INF, -INF, 0.0, -0.0], 0.5)
    firsts = []
    for i, v in enumerate(wide(x)):
        if not any(compare(v, wide(x)[j]) == 0 for j in firsts):
            firsts.append(i)
    for is_sorted in (1, 0):
        kept = sorted(firsts, key=functools.cmp_to_key(lambda i, j: -compare(wide(x)[i], wide(x)[j]))) if is_sorted else firsts
        inverse = [next(k for k, j in enumerate(kept) if compare(v, wide(x)[j]) == 0) for v in wide(x)]
        counts = [inverse.count(k) for k in range(len(kept))]
        rule("order", "Unique", [x], [x[kept], np.array(kept), np.array(inverse), np.array(counts)], f"{t.name}_{is_sorted}", forms=("alone", "folded"), sorted=is_sorted)
# Boxes apart from each other: all are kept, best first.
SCORES = np.array([0.5, NAN, 0.5, -INF, INF, 0.25, -0.0, 0.0, NAN], np.float32)
BOXES = np.array([[3 * k, 0, 3 * k + 1, 1] for k in range(9)], np.float32)[None]
ORDER = [1, 8, 4, 0, 2, 5, 6, 7, 3]
rule("order", "NonMaxSuppression", [BOXES, SCORES[None, None], np.array([20]), np.array([0.5], np.float32)], [np.array([[0, 0, k] for k in ORDER])],
     forms=("alone", "folded"), fixed=(2, 3))
