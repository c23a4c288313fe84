./castnet check E0602_differs.onnx E0602_differs.data --cc gcc
