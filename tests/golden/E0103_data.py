"""Six floats declared, five given."""
import sys

from crafted import F32, to_bytes
from crafted.sizes import with_initializer

sys.stdout.buffer.write(to_bytes(with_initializer(data_type=F32, dims=[2, 3], raw_data=bytes(20))))
