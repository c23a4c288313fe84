./castnet compile E0304_resize_axes.onnx -o out --target c99
