./castnet compile gather_rows.onnx -o out --target cuda
