./castnet compile poison.onnx -o out --target c99 --poison > /dev/null && sed -n '/^int poison_run/,/^}/p' out/poison.c && rm -r out; ./castnet compile poison.onnx -o out --target cuda --poison
