./castnet compile E0402_packed.onnx -o out --target c99
