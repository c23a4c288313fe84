./castnet compile E0304_attribute.onnx -o out --target c99
