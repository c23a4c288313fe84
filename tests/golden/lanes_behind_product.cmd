./castnet compile lanes_behind_product.onnx -o out --target x86-64-v3
