./castnet compile E0203_circle.onnx -o out --target c99
