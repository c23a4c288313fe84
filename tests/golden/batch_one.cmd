./castnet compile batch_one.onnx -o out --target c99
