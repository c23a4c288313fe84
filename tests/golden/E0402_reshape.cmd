./castnet compile E0402_reshape.onnx -o out --target c99
