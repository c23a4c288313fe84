./castnet compile if_sizes.onnx -o out --target c99
