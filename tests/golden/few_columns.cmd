./castnet compile few_columns.onnx -o out --target x86-64-v3
