./castnet compile E0502_functions.onnx -o out --target c99
