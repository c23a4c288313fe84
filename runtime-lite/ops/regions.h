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
  int largest;
} cn_roi;

/* Channels that take one look at where samples lie. */
#define CN_ROI_CHANNELS 64

/* For each channel of the image from `plane` on the sum of all samples of a bin, or the largest weighted value. wide, largest: literals. */
CN_INLINE void cn_roi_bin(const cn_roi *r, size_t plane, size_t channels, size_t by, size_t bx, int wide, int largest, double *ret) {
  const float *single = r->x->data;
  const double *twice = r->x->data;
  const size_t area = r->height * r->width;
  for (size_t c = 0; c < channels; c++) ret[c] = 0.0;
  for (size_t i = 0; i < r->grid_h * r->grid_w; i++) {
    const double gy = ((double)(i / r->grid_w) + 0.5) / (double)r->grid_h, gx = ((double)(i % r->grid_w) + 0.5) / (double)r->grid_w;
    cn_between y, x;
    if (!cn_between_at(r->y0 + ((double)by + gy) * r->bin_h, r->height, &y) || !cn_between_at(r->x0 + ((double)bx + gx) * r->bin_w, r->width, &x)) {
      for (size_t c = 0; c < channels && largest; c++) ret[c] = i == 0 || ret[c] < 0.0 ? 0.0 : ret[c];
      continue;
    }
    const double w[4] = {y.w_lo * x.w_lo, y.w_lo * x.w_hi, y.w_hi * x.w_lo, y.w_hi * x.w_hi};
    const size_t at[4] = {y.lo * r->width + x.lo, y.lo * r->width + x.hi, y.hi * r->width + x.lo, y.hi * r->width + x.hi};
    for (size_t c = 0; c < channels; c++) {
      double part[4];
      for (int k = 0; k < 4; k++) part[k] = w[k] * (wide ? twice[plane + c * area + at[k]] : (double)single[plane + c * area + at[k]]);
      if (!largest) ret[c] += part[0] + part[1] + part[2] + part[3];
      for (int k = 0; k < 4 && largest; k++) ret[c] = (i == 0 && k == 0) || part[k] > ret[c] ? part[k] : ret[c];
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

/* in: X [batches][channels][height][width], regions [n][4] (x0 y0 x1 y1), their batches s64 [n], the scale []; out:
 * [n][channels][h][w], all f32 or f64; attrs: sampling_ratio, half_pixel, largest. */
CN_NOINLINE int cn_op_roi_align(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)out[0].dims[0], channels = (size_t)out[0].dims[1], h = (size_t)out[0].dims[2], w = (size_t)out[0].dims[3];
  const double scale = cn_real_load(&in[3], 0), offset = attrs[1].value.i ? 0.5 : 0.0;
  cn_roi r;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  r.x = &in[0];
  r.height = (size_t)in[0].dims[2];
  r.width = (size_t)in[0].dims[3];
  r.largest = attrs[2].value.i != 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t batch = ((const int64_t *)in[2].data)[i];
    if (batch < 0 || batch >= in[0].dims[0]) return CASTNET_ERR_INDEX;
    r.x0 = cn_real_load(&in[1], 4 * i) * scale - offset;
    r.y0 = cn_real_load(&in[1], 4 * i + 1) * scale - offset;
    double width = cn_real_load(&in[1], 4 * i + 2) * scale - offset - r.x0, height = cn_real_load(&in[1], 4 * i + 3) * scale - offset - r.y0;
    if (offset == 0.0 && !(width > 1.0)) width = 1.0;
    if (offset == 0.0 && !(height > 1.0)) height = 1.0;
    r.bin_h = height / (double)h;
    r.bin_w = width / (double)w;
    r.grid_h = cn_roi_grid(attrs[0].value.i, r.bin_h);
    r.grid_w = cn_roi_grid(attrs[0].value.i, r.bin_w);
    const size_t count = r.grid_h * r.grid_w;
    for (size_t c = 0; c < channels; c += CN_ROI_CHANNELS) {
      const size_t some = channels - c < CN_ROI_CHANNELS ? channels - c : CN_ROI_CHANNELS, plane = ((size_t)batch * channels + c) * r.height * r.width;
      for (size_t k = 0; k < h * w; k++) {
        double v[CN_ROI_CHANNELS];
        if (r.x->dtype == 11) cn_roi_bin(&r, plane, some, k / w, k % w, 1, r.largest, v);
        else if (r.largest) cn_roi_bin(&r, plane, some, k / w, k % w, 0, 1, v);
        else cn_roi_bin(&r, plane, some, k / w, k % w, 0, 0, v);
        for (size_t j = 0; j < some; j++)
          cn_real_store(&out[0], ((i * channels + c + j) * h * w) + k, r.largest || count == 0 ? v[j] : v[j] / (double)count);
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
