./castnet compile E0301_unknown.onnx -o out --target c99
