"""Samples between elements: of regions (RoiAlign) with more channels than are sampled at a time, and of grids that leave the image or hold NaN."""
import numpy as np

from case_list import graph, random

for channels in (3, 64, 130):
    for kind in ("float", "double"):
        for mode, ratios in (("avg", (0, 2)), ("max", (1,))):  # of more samples' maxima ONNX Runtime is not sure
            for ratio in ratios:
                boxes = np.array([[0, 0, 9, 7], [-3, -2, 4, 5], [6, 6, 30, 30], [2.5, 3.5, 2.5, 3.5], [100, 100, 120, 120], [13, 9, -4, 1] if ratio else [1, 2, 3, 4]])  # the last against both axes
                t = np.float32 if kind == "float" else np.float64
                graph(f"samples_of_regions_{channels}_{kind}_{mode}_{ratio}",
                      f"f ({kind}[2, {channels}, 12, 11] x, {kind}[6, 4] boxes, int64[6] batch) => ({kind}[a, b, c, d] y) {{\n"
                      f"  y = RoiAlign <mode = \"{mode}\", output_height = 3, output_width = 4, sampling_ratio = {ratio}, spatial_scale = 0.75> (x, boxes, batch)\n}}",
                      {"x": random(channels, 2, channels, 12, 11).astype(t), "boxes": boxes.astype(t), "batch": np.array([0, 1, 1, 0, 1, 0], np.int64)})
grid = random(3, 2, 5, 9, 2)
for mode in ("linear", "nearest", "cubic"):
    for beyond in ("zeros", "border", "reflection"):
        for size in ((8, 6), (1, 7), (1, 1)):
            graph(f"samples_of_grid_{mode}_{beyond}_{size[0]}_{size[1]}",
                  f"f (float[2, 9, {size[0]}, {size[1]}] x, float[2, 5, 9, 2] at) => (float[a, b, c, d] y) {{\n  y = GridSample <mode = \"{mode}\", padding_mode = \"{beyond}\"> (x, at)\n}}",
                  {"x": random(size[1], 2, 9, *size), "at": grid}, opset=20)
graph("samples_of_open_grid", "f (float[n, c, h, w] x, float[n, a, b, 2] at) => (float[n, c, a, b] y) {\n  y = GridSample (x, at)\n}",
      {"x": random(1, 1, 9, 4, 4), "at": grid[:1]}, {"x": random(2, 2, 1, 1, 3), "at": grid}, opset=20)
graph("samples_beyond_all", "f (float[2, 9, 8, 6] x, float[2, 5, 9, 2] at) => (float[2, 9, 5, 9] y) {\n  y = GridSample (x, at)\n}",
      {"x": random(4, 2, 9, 8, 6), "at": grid * np.float32(1e30)}, opset=20, expect=lambda x, at: [np.zeros((2, 9, 5, 9), np.float32)])
