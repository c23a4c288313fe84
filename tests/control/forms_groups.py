"""Convolutions whose groups lie across the ends of blocks of channels: of any width, with more and fewer outputs than channels, strides, rows of any length."""
from case_list import random
from forms_shuffle import Groups


def chain(name, c, m, groups, taps, size, strides=1, images=1, declared=None, residual=False, calls=None):
    """A 1x1 convolution, which begins blocks, the grouped one, another 1x1; declared: the sizes of an image, by name where they are open."""
    g, axes = Groups(), len(size)
    ones = (1,) * axes
    g.conv("a", "x", (c * groups, 8, *ones), 1)
    g.conv("b", "a", (m * groups, c, *taps), groups, strides, relu=not residual)
    if residual:
        g.nodes += "  r = Add (b, a)\n  s = Relu (r)\n"
    g.conv("y", "s" if residual else "b", (8, m * groups, *ones), 1, relu=False)
    inner = ", ".join(map(str, declared or size))
    outer = ", ".join("hwd"[i] if declared else str((n + 2 * (t // 2) - t) // strides + 1) for i, (n, t) in enumerate(zip(size, taps)))
    g.form(name, f"float[{images}, 8, {inner}] x", f"float[{images}, 8, {outer}] y", *[{"x": random(len(name) + i, images, 8, *s)} for i, s in enumerate(calls or [size])], prefix="groups_")


for width in (3, 5, 6, 9, 12, 20, 24, 40, 56, 72):
    chain(f"of_{width}", width, width, 5, (3, 3), (14, 14))
chain("of_more_outputs", 12, 20, 4, (3, 3), (7, 7))
chain("of_fewer_outputs", 24, 10, 6, (3, 3), (9, 16), images=2)
chain("of_a_last_block_in_part", 24, 24, 3, (3, 3), (20, 20))
for size in (7, 14, 15, 28, 32, 57):
    chain(f"skip_to_{(size + 1) // 2}", 24, 24, 4, (3, 3), (size, size), strides=2)
for size in ((7, 7), (6, 7), (1, 7), (5, 21), (8, 28), (3, 10), (4, 13)):
    chain(f"rows_of_{size[0]}_{size[1]}", 24, 24, 4, (3, 3), size)
chain("deep", 120, 120, 2, (3, 3), (5, 14))
chain("wide_window", 24, 24, 2, (5, 5), (14, 14))
chain("wide_window_of_short_rows", 24, 24, 2, (5, 5), (7, 7))
chain("window_of_two", 24, 24, 2, (2, 2), (7, 7))
chain("added", 24, 24, 4, (3, 3), (7, 14), residual=True)
chain("added_to_short_rows", 24, 24, 4, (3, 3), (7, 7), residual=True, images=2)
chain("row", 24, 24, 4, (3,), (100,))
chain("open", 24, 24, 4, (3, 3), (9, 14), declared=("height", "width"), calls=[(9, 14), (1, 3), (7, 7)])
