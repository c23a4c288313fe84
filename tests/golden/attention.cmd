./castnet compile attention.onnx -o out --target c99 --dump=program && ./castnet check attention.onnx --target c99 --dim n=1..400 --dim m=1..400 | cut -c1-7
