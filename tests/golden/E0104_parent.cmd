./castnet compile E0104_parent.onnx -o out --target c99
