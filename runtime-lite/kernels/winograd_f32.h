/* SPDX-License-Identifier: MIT-0 */
/* Convolution of 3x3 windows, stride 1, over blocked channels by Winograd's minimal filtering (Lavin and Gray, 2016), f32: 16
 * products where four pixels need 36, or 36 where sixteen need 144. Needs a SIMD layer included before. */
#ifndef CN_KERNELS_WINOGRAD_F32_H
#define CN_KERNELS_WINOGRAD_F32_H

#include "kernels/blocked_f32.h"
#include "kernels/spread.h"
#include "kernels/winograd.h"

/* Output blocks that are computed together, at most: as many as leave registers for sums of some tiles. */
#define CN_WINOGRAD_BLOCKS (CN_BLOCKED_F32_SUMS < 16 ? 3 : 4)

/* Two spatial dimensions, no groups; out must not overlap in or weights. An infinity or a NaN in a tile's input makes NaN of all
 * of the tile's results. */
typedef struct cn_winograd_f32_args {
  cn_window window;     /* c: channels as they lie in `in`; m: output channels, a multiple of the LANES */
  size_t band;          /* tiles that are transformed together, of one image, at most */
  size_t groups;        /* parts of the output blocks, at most CN_WINOGRAD_BLOCKS blocks each */
  cn_blocked_slices slices; /* as of a direct convolution; where the window sees several, c is of whole blocks */
  size_t part;          /* channels whose products are summed before that is added to the sums of others: 16 or 32 */
  const float *in;      /* [images][blocks][height][width][LANES] */
  const float *weights; /* transformed: [places][groups][c of all slices][blocks of the group][LANES] */
  float *out;
  cn_epilogue_f32 ep;   /* CN_EP_ROW_BIAS: [m]; its tile: rows are blocks, columns pixels times LANES, index the image */
} cn_winograd_f32_args;

/* Tasks: a band of one image's tiles for a group of output blocks. Neighbours share the transformed input. */
CN_INLINE size_t cn_winograd_tasks(const cn_winograd_f32_args *a, size_t n) {
  return a->window.images * cn_ceil_div(cn_winograd_tiles(&a->window, n), a->band) * a->groups;
}

/* The band of one image that is being computed. */
typedef struct cn_winograd_job {
  const cn_winograd_f32_args *args;
  const struct cn_winograd_form *form;
  size_t image, first, count; /* tiles first .. first + count */
  cn_blocked_seen seen;
  float *before, *after;      /* [places][band][c in whole blocks], [places][band][m] */
  size_t before_row, before_plane, after_plane;
  size_t parts, shares;       /* of a product's tiles, and of each phase, where many threads compute the band */
} cn_winograd_job;

/* What knows the side of a tile, n, as a literal: the transforms of units u0 .. u1 (cn_winograd_units) of a band's input, and of its products, tiles
 * t0 .. t1 of one row and output blocks b .. b + blocks. */
typedef struct cn_winograd_form {
  size_t n;
  void (*before)(const cn_winograd_job *j, size_t u0, size_t u1);
  void (*after)(const cn_winograd_job *j, size_t t0, size_t t1, size_t b, size_t blocks);
} cn_winograd_form;

/* ---- transforms of a column or a row of a tile ---- */
/* n + 2 values of the input to as many: the columns of B. */
CN_KERNEL void cn_winograd_in_f32(size_t n, const cn_vf32 *d, cn_vf32 *ret) {
  const float a = CN_WINOGRAD_A, b = CN_WINOGRAD_B;
  if (n == 2) {
    ret[0] = cn_vf32_sub(d[0], d[2]);
    ret[1] = cn_vf32_add(d[1], d[2]);
    ret[2] = cn_vf32_sub(d[2], d[1]);
    ret[3] = cn_vf32_sub(d[1], d[3]);
  } else {
    const cn_vf32 sum = cn_vf32_set1(-(a * a + b * b)), product = cn_vf32_set1(a * a * b * b);
    const cn_vf32 even_a = cn_vf32_fma(cn_vf32_set1(-b * b), d[2], d[4]), odd_a = cn_vf32_fma(cn_vf32_set1(-b * b), d[1], d[3]);
    const cn_vf32 even_b = cn_vf32_fma(cn_vf32_set1(-a * a), d[2], d[4]), odd_b = cn_vf32_fma(cn_vf32_set1(-a * a), d[1], d[3]);
    ret[0] = cn_vf32_fma(product, d[0], cn_vf32_fma(sum, d[2], d[4]));
    ret[1] = cn_vf32_fma(cn_vf32_set1(a), odd_a, even_a);
    ret[2] = cn_vf32_fma(cn_vf32_set1(-a), odd_a, even_a);
    ret[3] = cn_vf32_fma(cn_vf32_set1(b), odd_b, even_b);
    ret[4] = cn_vf32_fma(cn_vf32_set1(-b), odd_b, even_b);
    ret[5] = cn_vf32_fma(product, d[1], cn_vf32_fma(sum, d[3], d[5]));
  }
}

/* n + 2 products to n values of the result: the rows of A. */
CN_KERNEL void cn_winograd_out_f32(size_t n, const cn_vf32 *p, cn_vf32 *ret) {
  const float a = CN_WINOGRAD_A, b = CN_WINOGRAD_B;
  if (n == 2) {
    ret[0] = cn_vf32_add(cn_vf32_add(p[0], p[1]), p[2]);
    ret[1] = cn_vf32_sub(cn_vf32_sub(p[1], p[2]), p[3]);
  } else {
    const cn_vf32 sum_a = cn_vf32_add(p[1], p[2]), difference_a = cn_vf32_sub(p[1], p[2]);
    const cn_vf32 sum_b = cn_vf32_add(p[3], p[4]), difference_b = cn_vf32_sub(p[3], p[4]);
    ret[0] = cn_vf32_add(p[0], cn_vf32_add(sum_a, sum_b));
    ret[1] = cn_vf32_fma(cn_vf32_set1(a), difference_a, cn_vf32_mul(cn_vf32_set1(b), difference_b));
    ret[2] = cn_vf32_fma(cn_vf32_set1(a * a), sum_a, cn_vf32_mul(cn_vf32_set1(b * b), sum_b));
    ret[3] = cn_vf32_fma(cn_vf32_set1(a * a * a), difference_a, cn_vf32_fma(cn_vf32_set1(b * b * b), difference_b, p[5]));
  }
}

/* ---- the input ---- */
/* Which of a tile's rows and columns lie inside of the image, and where it begins, in floats from the block's start. */
typedef struct cn_winograd_place {
  size_t y0, y1, x0, x1;
  ptrdiff_t at;
} cn_winograd_place;

/* The part of lo .. lo + side that lies in 0 .. end, from lo on. */
CN_INLINE void cn_winograd_inside(ptrdiff_t lo, size_t side, size_t end, size_t *ret0, size_t *ret1) {
  const ptrdiff_t room = (ptrdiff_t)end - lo;
  *ret0 = lo < 0 ? cn_min(side, (size_t)-lo) : 0;
  *ret1 = room < 0 ? 0 : cn_min(side, (size_t)room);
}

/* What no pixel of the result reads counts as outside: it may be anything. */
CN_INLINE cn_winograd_place cn_winograd_place_of(const cn_window *w, size_t n, size_t tile) {
  const size_t across = cn_ceil_div(w->out[2], n);
  const ptrdiff_t y = (ptrdiff_t)(tile / across * n) - w->pad[1], x = (ptrdiff_t)(tile % across * n) - w->pad[2];
  const ptrdiff_t rows = (ptrdiff_t)w->out[1] + 2 - w->pad[1], columns = (ptrdiff_t)w->out[2] + 2 - w->pad[2];
  cn_winograd_place p;
  cn_winograd_inside(y, n + 2, rows < 0 ? 0 : cn_min(w->in[1], (size_t)rows), &p.y0, &p.y1);
  cn_winograd_inside(x, n + 2, columns < 0 ? 0 : cn_min(w->in[2], (size_t)columns), &p.x0, &p.x1);
  p.at = y * (ptrdiff_t)w->in[2] + x;
  return p;
}

/* One tile of one block of channels, its places `plane` apart. whole, a literal: all of the tile is inside. */
CN_KERNEL void cn_winograd_tile_in_f32(size_t n, const float *in, size_t width, const cn_winograd_place *p, int whole, float *dst,
                                       size_t plane) {
  const size_t side = n + 2;
  cn_vf32 half[36];
  CN_UNROLL(6)
  for (size_t j = 0; j < side; j++) {
    cn_vf32 d[6], t[6];
    CN_UNROLL(6)
    for (size_t i = 0; i < side; i++) {
      const int inside = whole || (i >= p->y0 && i < p->y1 && j >= p->x0 && j < p->x1);
      d[i] = inside ? cn_vf32_load(in + (p->at + (ptrdiff_t)(i * width + j)) * CN_VF32_LANES) : cn_vf32_zero();
    }
    cn_winograd_in_f32(n, d, t);
    CN_UNROLL(6)
    for (size_t i = 0; i < side; i++) half[i * side + j] = t[i];
  }
  CN_UNROLL(6)
  for (size_t i = 0; i < side; i++) {
    cn_vf32 t[6];
    cn_winograd_in_f32(n, half + i * side, t);
    CN_UNROLL(6)
    for (size_t j = 0; j < side; j++) cn_vf32_store(dst + (i * side + j) * plane, t[j]);
  }
}

/* Blocks of channels that fill a line of the cache. */
CN_INLINE size_t cn_winograd_line(void) { return CN_VF32_LANES < 16 ? 16 / CN_VF32_LANES : 1; }

/* A line of channels of one tile each: a band's input. */
CN_INLINE size_t cn_winograd_units(const cn_winograd_job *j) {
  const size_t blocks = (j->seen.to - j->seen.from) * cn_ceil_div(j->args->window.c, CN_VF32_LANES);
  return cn_ceil_div(blocks, cn_winograd_line()) * j->count;
}

CN_KERNEL void cn_winograd_before_f32(size_t n, const cn_winograd_job *j, size_t u0, size_t u1) {
  const cn_window *w = &j->args->window;
  const size_t blocks = cn_ceil_div(w->c, CN_VF32_LANES), area = cn_volume(w->in) * CN_VF32_LANES, side = n + 2, line = cn_winograd_line();
  const size_t all = (j->seen.to - j->seen.from) * blocks;
  while (u0 < u1) {
    const size_t first = u0 / j->count * line, t0 = u0 % j->count, t1 = cn_min(j->count, t0 + (u1 - u0));
    for (size_t b = first; b < cn_min(all, first + line); b++) {
      const float *in = j->args->in + (j->seen.first * blocks + b) * area;
      for (size_t t = t0; t < t1; t++) {
        const cn_winograd_place p = cn_winograd_place_of(w, n, j->first + t);
        float *dst = j->before + t * j->before_row + b * CN_VF32_LANES;
        if (!p.y0 && !p.x0 && p.y1 == side && p.x1 == side) cn_winograd_tile_in_f32(n, in, w->in[2], &p, 1, dst, j->before_plane);
        else cn_winograd_tile_in_f32(n, in, w->in[2], &p, 0, dst, j->before_plane);
      }
    }
    u0 += t1 - t0;
  }
}

/* ---- the products ---- */
/* One place's product for one group of output blocks: out [count][row of m] = in [count][in_row] weights [depth][blocks][LANES] */
typedef struct cn_winograd_product {
  const float *in, *weights;
  const float *then, *end; /* about where the weights that come after these begin, and the end of all: what is asked for ahead of its turn */
  float *out;
  size_t count, in_row, out_row, depth, blocks, part;
} cn_winograd_product;

/* np tiles, n of them inside, and nb blocks: channels c0 .. c1 of them, added to what is there if c0; sums by parts, for the error that long ones
 * bring. In place of tiles that are outside the last one is computed again: no branch for each of them, and what it stores is the same. */
CN_KERNEL void cn_winograd_sums_f32(const cn_winograd_product *p, size_t tile, size_t n, size_t c0, size_t c1, const float *ahead,
                                    size_t step, size_t nb, size_t np) {
  const size_t lanes = CN_VF32_LANES, turn = np <= 4 ? cn_blocked_turn(0, np) : CN_TURN(cn_blocked_turn(0, np)); /* of more pixels gcc spills a sum */
  const float *x[12], *weights = p->weights + c0 * nb * lanes;
  float *out[12];
  CN_UNROLL(12)
  for (size_t i = 0; i < np; i++) {
    x[i] = p->in + (tile + cn_min(i, n - 1)) * p->in_row;
    out[i] = p->out + (tile + cn_min(i, n - 1)) * p->out_row;
  }
  while (c0 < c1) {
    const size_t run = cn_min(p->part, c1 - c0);
    cn_vf32 sums[24];
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++) sums[i] = cn_vf32_zero();
    cn_blocked_products_f32(x, 0, c0, weights, ahead, step, nb * lanes > 32, run, turn, 0, nb, np, sums);
    if (c0) {
      CN_UNROLL(24)
      for (size_t i = 0; i < nb * np; i++) sums[i] = cn_vf32_add(sums[i], cn_vf32_load(out[i / nb] + i % nb * lanes));
    }
    CN_UNROLL(24)
    for (size_t i = 0; i < nb * np; i++) cn_vf32_store(out[i / nb] + i % nb * lanes, sums[i]);
    c0 += run;
    weights += run * nb * lanes;
    ahead += run * step;
  }
}

/* A part of the depth at a time: its weights stay in the first cache. Tiles ask for the part behind it, each for its share. */
CN_KERNEL void cn_winograd_product_of(const cn_winograd_product *p, size_t nb, size_t np) {
  const size_t each = cn_max(1, 2048 / (p->part * nb * CN_VF32_LANES)) * p->part;
  const size_t step = cn_min(nb * CN_VF32_LANES > 32 ? 32 : 16, cn_ceil_div(nb * CN_VF32_LANES, cn_ceil_div(p->count, np)));
  for (size_t c0 = 0; c0 < p->depth; c0 += each) {
    const size_t c1 = cn_min(p->depth, c0 + each);
    const float *next = c1 < p->depth ? p->weights + c1 * nb * CN_VF32_LANES : p->then;
    for (size_t t = 0; t < p->count; t += np) {
      const size_t asked = t / np * (c1 - c0) * step;
      const float *ahead = asked < (size_t)(p->end - next) ? next + asked : p->weights;
      cn_winograd_sums_f32(p, t, cn_min(np, p->count - t), c0, c1, ahead, step, nb, np);
    }
  }
}

/* Tiles side by side: whichever of three widths is quickest. */
CN_INLINE size_t cn_winograd_wide(size_t tiles, size_t blocks) {
  const size_t most = cn_blocked_wide(blocks, CN_BLOCKED_F32_SUMS);
  size_t best = most;
  for (size_t less = 1; less < 3 && less < most; less++)
    if (cn_blocked_time(tiles, blocks, most - less) < cn_blocked_time(tiles, blocks, best)) best = most - less;
  return best;
}

/* nb: a literal. */
CN_KERNEL void cn_winograd_any_wide_f32(const cn_winograd_product *p, size_t nb) {
  const size_t most = cn_blocked_wide(nb, CN_BLOCKED_F32_SUMS), wide = cn_winograd_wide(p->count, nb);
  if (wide == most) cn_winograd_product_of(p, nb, most);
  else if (wide + 1 == most) cn_winograd_product_of(p, nb, cn_max(most, 2) - 1);
  else cn_winograd_product_of(p, nb, cn_max(most, 3) - 2);
}

CN_DRIVER void cn_winograd_product_f32(const cn_winograd_product *p) {
  switch (p->blocks) {
    case 1: cn_winograd_any_wide_f32(p, 1); return;
    case 2: cn_winograd_any_wide_f32(p, 2); return;
    case 3: cn_winograd_any_wide_f32(p, 3); return;
    default: cn_winograd_any_wide_f32(p, CN_WINOGRAD_BLOCKS); return;
  }
}

/* ---- the result ---- */
/* One tile of one output block: rows and columns of it that lie in the image; whole, a literal: all. */
CN_KERNEL void cn_winograd_tile_out_f32(size_t n, const float *src, size_t plane, const cn_epilogue_f32 *ep, const float *bias,
                                        const float *residual, float *out, size_t width, size_t rows, size_t columns, int whole) {
  const size_t side = n + 2, lanes = CN_VF32_LANES;
  cn_vf32 half[24];
  CN_UNROLL(6)
  for (size_t j = 0; j < side; j++) {
    cn_vf32 p[6], t[4];
    CN_UNROLL(6)
    for (size_t i = 0; i < side; i++) p[i] = cn_vf32_load(src + (i * side + j) * plane);
    cn_winograd_out_f32(n, p, t);
    CN_UNROLL(4)
    for (size_t i = 0; i < n; i++) half[i * side + j] = t[i];
  }
  const cn_vf32 add = ep->flags & CN_EP_ROW_BIAS ? cn_vf32_load(bias) : cn_vf32_zero();
  const cn_vf32 lo = cn_vf32_set1(ep->lo), hi = cn_vf32_set1(ep->hi);
  CN_UNROLL(4)
  for (size_t i = 0; i < n; i++) {
    cn_vf32 t[4];
    cn_winograd_out_f32(n, half + i * side, t);
    CN_UNROLL(4)
    for (size_t j = 0; j < n; j++) {
      if (!whole && (i >= rows || j >= columns)) continue;
      t[j] = cn_vf32_add(t[j], add);
      if (ep->flags & CN_EP_RESIDUAL) t[j] = cn_vf32_add(t[j], cn_vf32_load(residual + (i * width + j) * lanes));
      if (ep->flags & CN_EP_CLAMP) t[j] = cn_vf32_min(hi, cn_vf32_max(lo, t[j]));
      cn_vf32_store(out + (i * width + j) * lanes, t[j]);
    }
  }
}

/* Calls the epilogue's tile for the rows of pixels that tiles t0 .. t1 of one row of tiles cover. */
CN_KERNEL void cn_winograd_tiles_done(size_t n, const cn_winograd_job *j, size_t b, size_t blocks, size_t t0, size_t t1) {
  const cn_winograd_f32_args *a = j->args;
  const cn_window *w = &a->window;
  const size_t pixels = cn_volume(w->out), across = cn_ceil_div(w->out[2], n), all = w->m / CN_VF32_LANES, y = t0 / across * n;
  const size_t x0 = t0 % across * n, x1 = cn_min(w->out[2], x0 + (t1 - t0) * n);
  for (size_t i = y; i < cn_min(w->out[1], y + n); i++) {
    const size_t p = i * w->out[2] + x0;
    a->ep.tile(a->ep.ctx, a->out + ((j->image * all + b) * pixels + p) * CN_VF32_LANES, pixels * CN_VF32_LANES, j->image, b, blocks,
               p * CN_VF32_LANES, (x1 - x0) * CN_VF32_LANES);
  }
}

/* Output blocks b .. b + blocks of tiles t0 .. t1, which lie in one row of the band's. */
CN_KERNEL void cn_winograd_after_f32(size_t n, const cn_winograd_job *j, size_t t0, size_t t1, size_t b, size_t blocks) {
  const cn_winograd_f32_args *a = j->args;
  const cn_window *w = &a->window;
  const size_t area = cn_volume(w->out) * CN_VF32_LANES, across = cn_ceil_div(w->out[2], n), all = w->m / CN_VF32_LANES, y = t0 / across * n;
  for (size_t i = b; i < b + blocks; i++) {
    for (size_t t = t0; t < t1; t++) {
      const size_t x = t % across * n, rows = w->out[1] - y, columns = w->out[2] - x;
      const size_t at = (j->image * all + i) * area + (y * w->out[2] + x) * CN_VF32_LANES;
      const float *src = j->after + (t - j->first) * w->m + i * CN_VF32_LANES;
      const float *bias = a->ep.flags & CN_EP_ROW_BIAS ? a->ep.bias + i * CN_VF32_LANES : src;
      const float *residual = a->ep.flags & CN_EP_RESIDUAL ? a->ep.residual + at : src;
      if (rows >= n && columns >= n) cn_winograd_tile_out_f32(n, src, j->after_plane, &a->ep, bias, residual, a->out + at, w->out[2], n, n, 1);
      else cn_winograd_tile_out_f32(n, src, j->after_plane, &a->ep, bias, residual, a->out + at, w->out[2], rows, columns, 0);
    }
  }
  if (a->ep.tile) cn_winograd_tiles_done(n, j, b, blocks, t0, t1);
}

CN_DRIVER void cn_winograd_before_2x2(const cn_winograd_job *j, size_t u0, size_t u1) { cn_winograd_before_f32(2, j, u0, u1); }

CN_DRIVER void cn_winograd_before_4x4(const cn_winograd_job *j, size_t u0, size_t u1) { cn_winograd_before_f32(4, j, u0, u1); }

CN_DRIVER void cn_winograd_after_2x2(const cn_winograd_job *j, size_t t0, size_t t1, size_t b, size_t blocks) {
  cn_winograd_after_f32(2, j, t0, t1, b, blocks);
}

CN_DRIVER void cn_winograd_after_4x4(const cn_winograd_job *j, size_t t0, size_t t1, size_t b, size_t blocks) {
  cn_winograd_after_f32(4, j, t0, t1, b, blocks);
}

static const cn_winograd_form cn_winograd_2x2 = {2, cn_winograd_before_2x2, cn_winograd_after_2x2};

static const cn_winograd_form cn_winograd_4x4 = {4, cn_winograd_before_4x4, cn_winograd_after_4x4};

/* ---- drivers ---- */
/* Units u0 .. u1 of a band's products for the groups g0 .. g1: places, of each the groups, of each j->parts parts of the tiles. */
CN_DRIVER void cn_winograd_products_f32(const cn_winograd_job *j, size_t g0, size_t g1, size_t u0, size_t u1) {
  const cn_winograd_f32_args *a = j->args;
  const size_t blocks = a->window.m / CN_VF32_LANES, depth = a->window.c * a->window.kernel[0], one = depth * a->window.m;
  const size_t skipped = a->window.c * j->seen.from, seen = a->window.c * (j->seen.to - j->seen.from);
  const size_t all = cn_winograd_places(j->form->n) * one, first = cn_winograd_block(blocks, a->groups, g0) * depth * CN_VF32_LANES;
  for (size_t u = u0; u < u1; u++) {
    const size_t part = u % j->parts, g = g0 + u / j->parts % (g1 - g0), e = u / j->parts / (g1 - g0);
    const size_t t0 = cn_share(j->count, part, j->parts), t1 = cn_share(j->count, part + 1, j->parts);
    const size_t b0 = cn_winograd_block(blocks, a->groups, g), b1 = cn_winograd_block(blocks, a->groups, g + 1);
    const size_t then = g + 1 < g1 ? e * one + b1 * depth * CN_VF32_LANES : (e + 1) * one + first;
    const cn_winograd_product p = {j->before + e * j->before_plane + t0 * j->before_row,
                                   a->weights + e * one + (b0 * depth + skipped * (b1 - b0)) * CN_VF32_LANES,
                                   a->weights + cn_min(then, all), a->weights + all,
                                   j->after + e * j->after_plane + t0 * a->window.m + b0 * CN_VF32_LANES,
                                   t1 - t0, j->before_row, a->window.m, seen, b1 - b0, a->part};
    cn_winograd_product_f32(&p);
  }
}

/* Tiles of row i of the band: their ends. */
CN_INLINE void cn_winograd_row_of(const cn_winograd_job *j, size_t i, size_t *ret0, size_t *ret1) {
  const size_t across = cn_ceil_div(j->args->window.out[2], j->form->n), row = j->first / across + i;
  *ret0 = cn_max(j->first, row * across);
  *ret1 = cn_min(j->first + j->count, (row + 1) * across);
}

CN_INLINE size_t cn_winograd_rows(const cn_winograd_job *j) {
  const size_t across = cn_ceil_div(j->args->window.out[2], j->form->n);
  return (j->first + j->count - 1) / across - j->first / across + 1;
}

/* A band of one image. */
CN_KERNEL cn_winograd_job cn_winograd_job_of(const cn_winograd_f32_args *a, const cn_winograd_form *form, float *scratch, size_t image, size_t band) {
  const cn_window *w = &a->window;
  const size_t tiles = cn_winograd_tiles(w, form->n), most = cn_min(a->band, tiles), row = cn_winograd_row(w, CN_VF32_LANES);
  const size_t before = cn_winograd_plane(most, row), first = band * a->band;
  const cn_winograd_job j = {a, form, image, first, cn_min(a->band, tiles - first), cn_blocked_sees(&a->slices, w->kernel[0], image), scratch,
                             scratch + cn_winograd_places(form->n) * before, row, before, cn_winograd_plane(most, w->m), 1, 1};
  return j;
}

/* Tasks t0 .. t1. */
CN_DRIVER void cn_winograd_f32(const cn_winograd_f32_args *a, const cn_winograd_form *form, float *scratch, size_t t0, size_t t1) {
  const size_t bands = cn_ceil_div(cn_winograd_tiles(&a->window, form->n), a->band), blocks = a->window.m / CN_VF32_LANES;
  while (t0 < t1) {
    const size_t g0 = t0 % a->groups, g1 = cn_min(a->groups, g0 + (t1 - t0));
    const cn_winograd_job j = cn_winograd_job_of(a, form, scratch, t0 / a->groups / bands, t0 / a->groups % bands);
    form->before(&j, 0, cn_winograd_units(&j));
    cn_winograd_products_f32(&j, g0, g1, 0, cn_winograd_places(form->n) * (g1 - g0));
    const size_t b0 = cn_winograd_block(blocks, a->groups, g0), b1 = cn_winograd_block(blocks, a->groups, g1);
    for (size_t i = 0; i < cn_winograd_rows(&j); i++) {
      size_t first, end;
      cn_winograd_row_of(&j, i, &first, &end);
      form->after(&j, first, end, b0, b1 - b0);
    }
    t0 += g1 - g0;
  }
}

/* ---- a band by many threads: one phase after the other, each in shares ---- */
CN_DRIVER void cn_winograd_before_share(void *arg, size_t i) {
  const cn_winograd_job *j = (const cn_winograd_job *)arg;
  const size_t units = cn_winograd_units(j);
  j->form->before(j, cn_share(units, i, j->shares), cn_share(units, i + 1, j->shares));
}

CN_INLINE size_t cn_winograd_product_units(const cn_winograd_job *j) {
  return cn_winograd_places(j->form->n) * j->args->groups * j->parts;
}

CN_DRIVER void cn_winograd_products_share(void *arg, size_t i) {
  const cn_winograd_job *j = (const cn_winograd_job *)arg;
  const size_t units = cn_winograd_product_units(j);
  cn_winograd_products_f32(j, 0, j->args->groups, cn_share(units, i, j->shares), cn_share(units, i + 1, j->shares));
}

/* An output block of a row of tiles each. */
CN_DRIVER void cn_winograd_after_share(void *arg, size_t i) {
  const cn_winograd_job *j = (const cn_winograd_job *)arg;
  const size_t blocks = j->args->window.m / CN_VF32_LANES, units = cn_winograd_rows(j) * blocks;
  for (size_t u = cn_share(units, i, j->shares); u < cn_share(units, i + 1, j->shares); u++) {
    size_t first, end;
    cn_winograd_row_of(j, u / blocks, &first, &end);
    j->form->after(j, first, end, u % blocks, 1);
  }
}

/* Shares of a phase for each thread: who is done sooner takes more. */
#define CN_WINOGRAD_SHARES 4

/* Nonzero: it could not be handed out. */
CN_INLINE int cn_winograd_phase(cn_winograd_job *j, const cn_spread *spread, size_t units, void (*share)(void *arg, size_t i)) {
  j->shares = cn_min(CN_WINOGRAD_SHARES * spread->threads, units);
  return j->shares ? spread->run(spread->user, j->shares, share, j) : 0;
}

/* All tasks, for more threads than there are bands: they transform a band's input together, multiply, each by its own weights, and transform the products. */
CN_DRIVER int cn_winograd_spread_f32(const cn_winograd_f32_args *a, const cn_winograd_form *form, float *scratch, const cn_spread *spread) {
  const size_t bands = cn_ceil_div(cn_winograd_tiles(&a->window, form->n), a->band), blocks = a->window.m / CN_VF32_LANES, few = 8;
  for (size_t t = 0; t < a->window.images * bands; t++) {
    cn_winograd_job j = cn_winograd_job_of(a, form, scratch, t / bands, t % bands);
    if (cn_winograd_phase(&j, spread, cn_winograd_units(&j), cn_winograd_before_share)) return 1;
    j.parts = cn_max(1, cn_min(j.count / few, cn_ceil_div(CN_WINOGRAD_SHARES * spread->threads, cn_winograd_product_units(&j))));
    if (cn_winograd_phase(&j, spread, cn_winograd_product_units(&j), cn_winograd_products_share)) return 1;
    if (cn_winograd_phase(&j, spread, cn_winograd_rows(&j) * blocks, cn_winograd_after_share)) return 1;
  }
  return 0;
}

/* Tasks t0 .. t1 of cn_winograd_tasks(a, 2), each call with its own scratch of cn_winograd_scratch floats; so for the other. spread, or NULL: all tasks, by it
 * (nonzero: it failed). */
CN_DRIVER int cn_winograd_f32_2x2(const cn_winograd_f32_args *a, float *scratch, const cn_spread *spread, size_t t0, size_t t1) {
  if (spread) return cn_winograd_spread_f32(a, &cn_winograd_2x2, scratch, spread);
  cn_winograd_f32(a, &cn_winograd_2x2, scratch, t0, t1);
  return 0;
}

CN_DRIVER int cn_winograd_f32_4x4(const cn_winograd_f32_args *a, float *scratch, const cn_spread *spread, size_t t0, size_t t1) {
  if (spread) return cn_winograd_spread_f32(a, &cn_winograd_4x4, scratch, spread);
  cn_winograd_f32(a, &cn_winograd_4x4, scratch, t0, t1);
  return 0;
}

#endif
