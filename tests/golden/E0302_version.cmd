./castnet compile E0302_version.onnx -o out --target c99
