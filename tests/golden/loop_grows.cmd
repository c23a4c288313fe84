./castnet compile loop_grows.onnx -o out --target c99
