./castnet compile resize.onnx -o out --target c99 --dim H=0..64
