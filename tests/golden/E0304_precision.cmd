./castnet compile E0304_precision.onnx -o out --target c99
