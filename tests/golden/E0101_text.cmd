./castnet compile E0101_text.onnx -o out --target c99
