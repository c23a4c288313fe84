./castnet compile --target x86-64 mlp.onnx -o out 
