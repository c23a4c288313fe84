"""An If inside an If, 200 times over."""
import sys

from crafted.structure import nested_graphs

sys.stdout.buffer.write(nested_graphs(200))
