./castnet compile E0102_nested.onnx -o out --target c99
