/* SPDX-License-Identifier: MIT-0 */
/* Which driver of kernels/blocked_f32.h computes a convolution: the compiler's choice, and that of tests. */
#ifndef CN_KERNELS_BLOCKED_DRIVER_H
#define CN_KERNELS_BLOCKED_DRIVER_H

#include "kernels/blocked.h"

/* That of n outputs that slide over blocks. */
CN_INLINE const char *cn_blocked_slide_driver(cn_blocked_grouping grouping, size_t stride, size_t n, size_t sums) {
  static const char *const names[3][6] = {
      {"cn_blocked_slide_f32", "cn_blocked_slide_f32_even", "cn_blocked_slide_f32_few", "cn_blocked_slide_f32_short", "cn_blocked_slide_f32_s2", "cn_blocked_slide_f32_s2_short"},
      {"cn_blocked_groups_slide_f32", "cn_blocked_groups_slide_f32_even", "cn_blocked_groups_slide_f32_few", "cn_blocked_groups_slide_f32_short", "cn_blocked_groups_slide_f32_s2", "cn_blocked_groups_slide_f32_s2_short"},
      {"cn_blocked_straddle_slide_f32", "cn_blocked_straddle_slide_f32_even", "cn_blocked_straddle_slide_f32_few", "cn_blocked_straddle_slide_f32_short", "cn_blocked_straddle_slide_f32_s2", "cn_blocked_straddle_slide_f32_s2_short"}};
  const int is_short = n == CN_BLOCKED_SLIDE_SHORT;
  if (stride == 2) return names[grouping][is_short ? 5 : 4];
  return names[grouping][is_short ? 3 : n == CN_BLOCKED_SLIDE(sums) ? 0 : n == CN_BLOCKED_SLIDE_EVEN(sums) ? 1 : 2];
}

/* The name of the driver that computes this window that way: each is made for one width of the tile, or for one way to slide, so that
 * generated code has no other. The window's groups are blocks where they do not lie in whole ones. */
CN_INLINE const char *cn_blocked_driver(const cn_window *w, cn_blocked_input input, cn_blocked_grouping grouping, cn_blocked_way way, size_t sums) {
  static const char *const tiles[2][2][5] = { /* of a plain input; narrow; by blocks */
      {{NULL, "cn_blocked_conv_f32_1", "cn_blocked_conv_f32_2", "cn_blocked_conv_f32_3", "cn_blocked_conv_f32_4"},
       {NULL, "cn_blocked_conv_f32_1_narrow", "cn_blocked_conv_f32_2_narrow", "cn_blocked_conv_f32_3_narrow", "cn_blocked_conv_f32_4_narrow"}},
      {{NULL, "cn_blocked_plain_f32_1", "cn_blocked_plain_f32_2", "cn_blocked_plain_f32_3", "cn_blocked_plain_f32_4"},
       {NULL, "cn_blocked_plain_f32_1_narrow", "cn_blocked_plain_f32_2_narrow", "cn_blocked_plain_f32_3_narrow", "cn_blocked_plain_f32_4_narrow"}}};
  static const char *const grouped[2][2] = {{"cn_blocked_groups_f32", "cn_blocked_groups_f32_narrow"}, {"cn_blocked_straddle_f32", "cn_blocked_straddle_f32_narrow"}};
  const int few = way.slides && way.slides != CN_BLOCKED_SLIDE(sums), whole = way.pixels == cn_blocked_wide(way.blocks, sums);
  if (way.slides && input == CN_BLOCKED_BLOCKS) return cn_blocked_slide_driver(grouping, w->stride[2], way.slides, sums);
  if (grouping != CN_BLOCKED_WHOLE) return grouped[grouping == CN_BLOCKED_STRADDLE][!whole];
  if (!way.slides) return tiles[input == CN_BLOCKED_PLAIN][!whole][way.blocks];
  if (w->c == 1) return few ? "cn_blocked_slide_f32_c1_few" : "cn_blocked_slide_f32_c1";
  if (w->stride[2] == 2) return "cn_blocked_slide_f32_c3s2";
  return few ? "cn_blocked_slide_f32_c3_few" : "cn_blocked_slide_f32_c3";
}

#endif
