/* SPDX-License-Identifier: MIT-0 */
/* Samples of regions of an image (RoiAlign), and their largest elements (MaxRoiPool). */
#ifndef CN_OPS_REGIONS_H
#define CN_OPS_REGIONS_H

#include "base.h"
#include "ops/real.h"

/* Where a coordinate falls between two places of an axis of n. */
typedef struct cn_between { size_t lo, hi; double w_lo, w_hi; } cn_between;

/* 0 beyond one place outside of the axis: nothing is there. */
CN_INLINE int cn_between_at(double x, size_t n, cn_between *ret) {
  if (!(x >= -1.0 && x <= (double)n) || n == 0) return 0;
  if (x < 0.0) x = 0.0;
  ret->lo = (size_t)x;
  if (ret->lo >= n - 1) {
    ret->lo = ret->hi = n - 1;
    x = (double)(n - 1);
  } else {
    ret->hi = ret->lo + 1;
  }
  ret->w_hi = x - (double)ret->lo;
  ret->w_lo = 1.0 - ret->w_hi;
  return 1;
}

typedef struct cn_roi {
  const castnet_tensor *x; /* [batches][channels][height][width] */
  size_t height, width;
  double y0, x0, bin_h, bin_w; /* of one region */
  size_t grid_h, grid_w;       /* samples a bin */
} cn_roi;

/* ---- the largest weighted value ---- */
/* Channels that take one look at where samples lie. */
#define CN_ROI_CHANNELS 64

/* For each channel of the image from `plane` on the largest weighted value of a bin's samples. */
CN_INLINE void cn_roi_bin_largest(const cn_roi *r, size_t plane, size_t channels, size_t by, size_t bx, double *ret) {
  const size_t area = r->height * r->width;
  for (size_t c = 0; c < channels; c++) ret[c] = 0.0;
  for (size_t i = 0; i < r->grid_h * r->grid_w; i++) {
    const double gy = ((double)(i / r->grid_w) + 0.5) / (double)r->grid_h, gx = ((double)(i % r->grid_w) + 0.5) / (double)r->grid_w;
    cn_between y, x;
    if (!cn_between_at(r->y0 + ((double)by + gy) * r->bin_h, r->height, &y) || !cn_between_at(r->x0 + ((double)bx + gx) * r->bin_w, r->width, &x)) {
      for (size_t c = 0; c < channels; c++) ret[c] = i == 0 || ret[c] < 0.0 ? 0.0 : ret[c];
      continue;
    }
    const double w[4] = {y.w_lo * x.w_lo, y.w_lo * x.w_hi, y.w_hi * x.w_lo, y.w_hi * x.w_hi};
    const size_t at[4] = {y.lo * r->width + x.lo, y.lo * r->width + x.hi, y.hi * r->width + x.lo, y.hi * r->width + x.hi};
    for (size_t c = 0; c < channels; c++)
      for (int k = 0; k < 4; k++) {
        const double part = w[k] * cn_real_load(r->x, plane + c * area + at[k]);
        ret[c] = (i == 0 && k == 0) || part > ret[c] ? part : ret[c];
      }
  }
}

/* ---- the average ---- */
/* What each of some bins takes of an axis: bin k the places first[k] + i, i < count[k], with the weights from at[k] on. Bins lie in order along the axis, or against
 * it, so that neighbours share two places at most: all of n places and two a bin. */
typedef struct cn_roi_axis { size_t *first, *count, *at; double *weight; } cn_roi_axis;

/* Numbers of 8 bytes that the axis of n places takes for so many bins. */
CN_INLINE size_t cn_roi_axis_room(size_t bins, size_t n) { return 5 * bins + n; }

CN_INLINE cn_roi_axis cn_roi_axis_at(double *scratch, size_t bins) {
  cn_roi_axis a;
  a.first = (size_t *)scratch;
  a.count = a.first + bins;
  a.at = a.count + bins;
  a.weight = scratch + 3 * bins;
  return a;
}

/* `grid` samples a bin, from `from` on. */
CN_INLINE void cn_roi_axis_fill(const cn_roi_axis *a, size_t bins, size_t n, double from, double bin, size_t grid) {
  size_t used = 0;
  for (size_t k = 0; k < bins; k++) {
    a->first[k] = a->count[k] = 0;
    a->at[k] = used;
    for (size_t i = 0; i < grid; i++) {
      const size_t sample = bin < 0.0 ? grid - 1 - i : i; /* the first place first */
      cn_between b;
      if (!cn_between_at(from + ((double)k + ((double)sample + 0.5) / (double)grid) * bin, n, &b)) continue;
      if (!a->count[k]) a->first[k] = b.lo;
      for (; a->first[k] + a->count[k] <= b.hi; a->count[k]++) a->weight[used + a->count[k]] = 0.0;
      a->weight[used + b.lo - a->first[k]] += b.w_lo;
      a->weight[used + b.hi - a->first[k]] += b.w_hi;
    }
    used += a->count[k];
  }
}

/* Places from `from` to `to` of the rows that bin k takes, added up. wide: a literal. */
CN_INLINE void cn_roi_rows(const cn_roi *r, size_t plane, const cn_roi_axis *rows, size_t k, size_t from, size_t to, int wide, double *restrict sum) {
  for (size_t i = from; i < to; i++) sum[i] = 0.0;
  for (size_t j = 0; j < rows->count[k]; j++) {
    const double w = rows->weight[rows->at[k] + j];
    const size_t row = plane + (rows->first[k] + j) * r->width;
    const float *single = (const float *)r->x->data + row;
    const double *twice = (const double *)r->x->data + row;
    for (size_t i = from; i < to && w != 0.0; i++) sum[i] += w * (wide ? twice[i] : (double)single[i]);
  }
}

/* One channel: bins of rows, then of columns, of each the sum of its samples. */
CN_INLINE void cn_roi_channel(const cn_roi *r, size_t plane, const cn_roi_axis *rows, size_t h, const cn_roi_axis *columns, size_t w, double *sum, castnet_tensor *out, size_t at) {
  const double count = (double)(r->grid_h * r->grid_w);
  size_t from = r->width, to = 0;
  for (size_t k = 0; k < w; k++) {
    if (!columns->count[k]) continue;
    from = columns->first[k] < from ? columns->first[k] : from;
    to = columns->first[k] + columns->count[k] > to ? columns->first[k] + columns->count[k] : to;
  }
  for (size_t by = 0; by < h; by++) {
    if (r->x->dtype == 11) cn_roi_rows(r, plane, rows, by, from, to, 1, sum);
    else cn_roi_rows(r, plane, rows, by, from, to, 0, sum);
    for (size_t bx = 0; bx < w; bx++) {
      const double *weight = columns->weight + columns->at[bx], *x = sum + columns->first[bx];
      double v = 0.0;
      for (size_t j = 0; j < columns->count[bx]; j++) v += weight[j] != 0.0 ? weight[j] * x[j] : 0.0;
      cn_real_store(out, at + by * w + bx, count > 0.0 ? v / count : v);
    }
  }
}

/* How many samples cover `size` in bins: as many as its elements, rounded up, none of an empty one, 4,096 at most. */
CN_INLINE size_t cn_roi_grid(int64_t ratio, double bin) {
  if (ratio > 0) return (size_t)ratio;
  if (!(bin > 0.0)) return 0;
  if (bin > 4096.0) return 4096;
  const size_t whole = (size_t)bin;
  return whole + ((double)whole < bin);
}

/* The region's place on an axis: its start and the length of a bin. */
CN_INLINE double cn_roi_side(double from, double to, int half_pixel, size_t bins, double *ret_bin) {
  double size = to - from;
  if (!half_pixel && !(size > 1.0)) size = 1.0;
  *ret_bin = size / (double)bins;
  return from;
}

/* in: X [batches][channels][height][width], regions [n][4] (x0 y0 x1 y1), their batches s64 [n], the scale []; out:
 * [n][channels][h][w], all f32 or f64; attrs: sampling_ratio, half_pixel, largest; scratch: 8 (5 (h + w) + height + 2 width) bytes. */
CN_NOINLINE int cn_op_roi_align(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)out[0].dims[0], channels = (size_t)out[0].dims[1], h = (size_t)out[0].dims[2], w = (size_t)out[0].dims[3];
  const int half_pixel = attrs[1].value.i != 0, largest = attrs[2].value.i != 0;
  const double scale = cn_real_load(&in[3], 0), offset = half_pixel ? 0.5 : 0.0;
  cn_roi r;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  r.x = &in[0];
  r.height = (size_t)in[0].dims[2];
  r.width = (size_t)in[0].dims[3];
  if (scratch_size / sizeof(double) < cn_roi_axis_room(h, r.height) + cn_roi_axis_room(w, r.width) + r.width) return CASTNET_ERR_DIM;
  const cn_roi_axis rows = cn_roi_axis_at((double *)scratch, h), columns = cn_roi_axis_at((double *)scratch + cn_roi_axis_room(h, r.height), w);
  double *sum = (double *)scratch + cn_roi_axis_room(h, r.height) + cn_roi_axis_room(w, r.width);
  for (size_t i = 0; i < n; i++) {
    const int64_t batch = ((const int64_t *)in[2].data)[i];
    if (batch < 0 || batch >= in[0].dims[0]) return CASTNET_ERR_INDEX;
    double side[4];
    for (size_t k = 0; k < 4; k++) side[k] = cn_real_load(&in[1], 4 * i + k) * scale - offset;
    r.x0 = cn_roi_side(side[0], side[2], half_pixel, w, &r.bin_w);
    r.y0 = cn_roi_side(side[1], side[3], half_pixel, h, &r.bin_h);
    r.grid_h = cn_roi_grid(attrs[0].value.i, r.bin_h);
    r.grid_w = cn_roi_grid(attrs[0].value.i, r.bin_w);
    const size_t area = r.height * r.width, plane = (size_t)batch * channels * area;
    if (!largest) {
      cn_roi_axis_fill(&rows, h, r.height, r.y0, r.bin_h, r.grid_h);
      cn_roi_axis_fill(&columns, w, r.width, r.x0, r.bin_w, r.grid_w);
    }
    for (size_t c = 0; c < channels && !largest; c++) cn_roi_channel(&r, plane + c * area, &rows, h, &columns, w, sum, &out[0], (i * channels + c) * h * w);
    for (size_t c = 0; c < channels && largest; c += CN_ROI_CHANNELS) {
      const size_t some = channels - c < CN_ROI_CHANNELS ? channels - c : CN_ROI_CHANNELS;
      for (size_t k = 0; k < h * w; k++) {
        double v[CN_ROI_CHANNELS];
        cn_roi_bin_largest(&r, plane + c * area, some, k / w, k % w, v);
        for (size_t j = 0; j < some; j++) cn_real_store(&out[0], ((i * channels + c + j) * h * w) + k, v[j]);
      }
    }
  }
  return CASTNET_OK;
}

/* A region's place in whole elements, halves away from zero; what is no place is far outside. */
CN_INLINE int64_t cn_roi_place(double x) {
  if (!(x > -1073741824.0)) return -1073741824;
  if (x > 1073741824.0) return 1073741824;
  return (int64_t)(x < 0.0 ? x - 0.5 : x + 0.5);
}

typedef struct cn_span { size_t from, to; } cn_span;

/* The part of 0 .. n - 1 that is bin k of `bins` over first .. last: bins share elements where the length is no multiple. */
CN_INLINE cn_span cn_roi_span(int64_t first, int64_t last, int64_t k, int64_t bins, int64_t n) {
  const int64_t length = last >= first ? last - first + 1 : 1;
  const int64_t from = first + k * length / bins, to = first + ((k + 1) * length + bins - 1) / bins;
  cn_span s;
  s.from = (size_t)(from < 0 ? 0 : from > n ? n : from);
  s.to = (size_t)(to < 0 ? 0 : to > n ? n : to);
  return s;
}

/* 0 where nothing is in the bin. */
CN_INLINE double cn_roi_largest(const castnet_tensor *x, size_t plane, cn_span rows, cn_span columns) {
  double most = 0.0;
  int any = 0;
  for (size_t i = rows.from; i < rows.to; i++)
    for (size_t j = columns.from; j < columns.to; j++) {
      const double v = cn_real_load(x, plane + i * (size_t)x->dims[3] + j);
      if (!any || v > most || v != v) most = v;
      if (v != v) return v;
      any = 1;
    }
  return most;
}

/* in: X [batches][channels][height][width], regions [n][5] (batch x0 y0 x1 y1, ends within), the scale []; out:
 * [n][channels][h][w], all f32 or f64. */
CN_NOINLINE int cn_op_max_roi_pool(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                   size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)out[0].dims[0], channels = (size_t)out[0].dims[1], h = (size_t)out[0].dims[2], w = (size_t)out[0].dims[3];
  const double scale = cn_real_load(&in[2], 0);
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < n; i++) {
    const double at = cn_real_load(&in[1], 5 * i);
    if (!(at >= 0.0 && at < (double)in[0].dims[0])) return CASTNET_ERR_INDEX;
    int64_t box[4];
    for (size_t k = 0; k < 4; k++) box[k] = cn_roi_place(cn_real_load(&in[1], 5 * i + 1 + k) * scale);
    for (size_t k = 0; k < channels * h * w; k++) {
      const size_t plane = ((size_t)at * channels + k / (h * w)) * (size_t)in[0].dims[2] * (size_t)in[0].dims[3];
      const cn_span rows = cn_roi_span(box[1], box[3], (int64_t)(k / w % h), (int64_t)h, in[0].dims[2]),
                    columns = cn_roi_span(box[0], box[2], (int64_t)(k % w), (int64_t)w, in[0].dims[3]);
      cn_real_store(&out[0], i * channels * h * w + k, cn_roi_largest(&in[0], plane, rows, columns));
    }
  }
  return CASTNET_OK;
}

#endif
