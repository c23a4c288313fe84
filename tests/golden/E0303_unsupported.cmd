./castnet compile E0303_unsupported.onnx -o out --target c99
