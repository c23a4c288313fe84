./castnet compile E0501_overflow.onnx -o out --target c99
