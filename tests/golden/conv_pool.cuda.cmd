./castnet compile conv_pool.onnx -o out --target cuda
