./castnet compile E0401_output.onnx -o out --target c99
