./castnet compile tile_data.onnx -o out --target c99
