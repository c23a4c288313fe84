./castnet compile batch_fixed.onnx -o out --target c99
