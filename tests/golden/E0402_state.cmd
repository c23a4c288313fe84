./castnet compile E0402_state.onnx -o out --target c99
