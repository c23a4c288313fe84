./castnet compile relu.onnx -o out --target c99
