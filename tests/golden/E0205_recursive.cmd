./castnet compile E0205_recursive.onnx -o out --target c99
