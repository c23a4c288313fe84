./castnet compile E0402_rotary.onnx -o out --target c99
