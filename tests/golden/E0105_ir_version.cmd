./castnet compile E0105_ir_version.onnx -o out --target c99
