./castnet check E0601_data_set.onnx nothing_here --cc gcc
