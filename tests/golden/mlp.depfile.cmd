./castnet compile mlp.onnx -o out --name net --depfile out/net.d >/dev/null && cat out/net.d && rm -r out
