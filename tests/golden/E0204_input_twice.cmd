./castnet compile E0204_input_twice.onnx -o out --target c99
