"""Arithmetic on sizes, as exporters write it out: what is known of it at compile time has to be what the operators compute."""
import numpy as np

from case_list import f32, graph, random

graph("places_of_extremes_along_one_size", """
f (float[n, 3] x) => (int64 a, int64[1, 2] b, int64[1, 2] c) {
  shape = Shape (x)
  first = Constant <value = int64[1] {0}> ()
  axis = Constant <value = int64[1] {0}> ()
  pair = Constant <value = int64[1, 2] {5, 7}> ()
  n1 = Gather (shape, first)
  a = ArgMax <keepdims = 0> (n1)
  b = ArgMax <axis = 0> (pair)
  row = Unsqueeze (shape, axis)
  c = ArgMin <axis = 0> (row)
}""", *[{"x": random(n, n, 3)} for n in (3, 1)])
