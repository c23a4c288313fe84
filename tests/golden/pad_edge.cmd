./castnet compile pad_edge.onnx -o out --target c99
