"""Functions that call the one below twice, 60 deep."""
import sys

from crafted import to_bytes
from crafted.functions import calling, tower

sys.stdout.buffer.write(to_bytes(calling(tower(60, 2), "f60")))
