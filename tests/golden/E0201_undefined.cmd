./castnet compile E0201_undefined.onnx -o out --target c99
