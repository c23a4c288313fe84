./castnet compile transpose.onnx -o out --target x86-64-v3 --threads all
