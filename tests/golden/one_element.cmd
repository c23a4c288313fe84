./castnet compile one_element.onnx -o out --target c99 --dump=program && ./castnet compile one_element.onnx -o out --target c99
