./castnet compile E0305_arity.onnx -o out --target c99
