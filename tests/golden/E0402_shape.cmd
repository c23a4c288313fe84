./castnet compile E0402_shape.onnx -o out --target c99
