./castnet check E0603_custom.onnx E0603_custom.data --op my.domain::Failing=failing --source E0603_custom.c --cc gcc
