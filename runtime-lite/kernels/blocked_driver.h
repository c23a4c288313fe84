/* SPDX-License-Identifier: MIT-0 */
/* Which driver of kernels/blocked_f32.h computes a convolution: the compiler's choice, and that of tests. */
#ifndef CN_KERNELS_BLOCKED_DRIVER_H
#define CN_KERNELS_BLOCKED_DRIVER_H

#include "kernels/blocked.h"

/* The name of the driver that computes this window that way: each is made for one width of the tile, or for one way to slide, so that
 * generated code has no other. spread: groups lie within blocks, of which the window has one or more. */
CN_INLINE const char *cn_blocked_driver(const cn_window *w, cn_blocked_input input, int spread, cn_blocked_way way, size_t sums) {
  static const char *const tiles[2][2][5] = { /* of a plain input; narrow; by blocks */
      {{NULL, "cn_blocked_conv_f32_1", "cn_blocked_conv_f32_2", "cn_blocked_conv_f32_3", "cn_blocked_conv_f32_4"},
       {NULL, "cn_blocked_conv_f32_1_narrow", "cn_blocked_conv_f32_2_narrow", "cn_blocked_conv_f32_3_narrow", "cn_blocked_conv_f32_4_narrow"}},
      {{NULL, "cn_blocked_plain_f32_1", "cn_blocked_plain_f32_2", "cn_blocked_plain_f32_3", "cn_blocked_plain_f32_4"},
       {NULL, "cn_blocked_plain_f32_1_narrow", "cn_blocked_plain_f32_2_narrow", "cn_blocked_plain_f32_3_narrow", "cn_blocked_plain_f32_4_narrow"}}};
  const int few = way.slides && way.slides != CN_BLOCKED_SLIDE(sums), whole = way.pixels == cn_blocked_wide(way.blocks, sums);
  if (spread && way.slides) return !few ? "cn_blocked_groups_slide_f32" : "cn_blocked_groups_slide_f32_few";
  if (spread) return whole ? "cn_blocked_groups_f32" : "cn_blocked_groups_f32_narrow";
  if (!way.slides) return tiles[input == CN_BLOCKED_PLAIN][!whole][way.blocks];
  if (input == CN_BLOCKED_BLOCKS) return few ? "cn_blocked_slide_f32_few" : "cn_blocked_slide_f32";
  if (w->c == 1) return few ? "cn_blocked_slide_f32_c1_few" : "cn_blocked_slide_f32_c1";
  if (w->stride[2] == 2) return "cn_blocked_slide_f32_c3s2";
  return few ? "cn_blocked_slide_f32_c3_few" : "cn_blocked_slide_f32_c3";
}

#endif
