./castnet compile tile_data.onnx -o out --target cuda
