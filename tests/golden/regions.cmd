./castnet check regions.onnx regions.data --cc gcc | cut -d, -f1
