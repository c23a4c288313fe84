./castnet compile E0401_type.onnx -o out --target c99
