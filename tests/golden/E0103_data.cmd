./castnet compile E0103_data.onnx -o out --target c99
