./castnet compile mlp.onnx -o out --target c99
