./castnet compile E0306_gradient.onnx -o out --target c99
