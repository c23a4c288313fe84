./castnet compile E0202_duplicate.onnx -o out --target c99
