./castnet inspect tiles.onnx --target x86-64-v4 --threads off --no-run
