./castnet compile E0403_constant.onnx -o out --target c99
