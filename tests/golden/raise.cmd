./castnet compile raise.onnx -o out --target c99 --dump=passes
