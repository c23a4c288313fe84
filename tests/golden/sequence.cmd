./castnet compile sequence.onnx -o out --target c99
