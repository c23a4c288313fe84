./castnet compile E0306_rank.onnx -o out
