/* SPDX-License-Identifier: MIT-0 */
/* Selection among boxes (NonMaxSuppression). */
#ifndef CN_OPS_BOXES_H
#define CN_OPS_BOXES_H

#include "base.h"
#include "ops/order.h"

typedef struct cn_box { float y0, x0, y1, x1; } cn_box;

CN_INLINE float cn_box_min(float a, float b) { return a < b ? a : b; }

CN_INLINE float cn_box_max(float a, float b) { return a > b ? a : b; }

/* Corners in either order, or centre, width and height: x y w h. */
CN_INLINE cn_box cn_box_read(const float *p, int center) {
  cn_box b;
  if (center) {
    b.y0 = p[1] - p[3] / 2.0f;
    b.x0 = p[0] - p[2] / 2.0f;
    b.y1 = p[1] + p[3] / 2.0f;
    b.x1 = p[0] + p[2] / 2.0f;
    return b;
  }
  b.y0 = cn_box_min(p[0], p[2]);
  b.x0 = cn_box_min(p[1], p[3]);
  b.y1 = cn_box_max(p[0], p[2]);
  b.x1 = cn_box_max(p[1], p[3]);
  return b;
}

/* Whether intersection over union exceeds the threshold; boxes without area overlap nothing. */
CN_INLINE int cn_box_overlaps(cn_box a, cn_box b, float threshold) {
  const float h = cn_box_min(a.y1, b.y1) - cn_box_max(a.y0, b.y0), w = cn_box_min(a.x1, b.x1) - cn_box_max(a.x0, b.x0);
  const float area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  if (!(h > 0.0f && w > 0.0f && area_a > 0.0f && area_b > 0.0f)) return 0;
  const float both = h * w, either = area_a + area_b - both;
  return either > 0.0f && both / either > threshold;
}

typedef struct cn_nms {
  const castnet_tensor *scores; /* [batches][classes][n] */
  const float *boxes;           /* [n][4] of the batch at hand */
  size_t n, most;
  int center, has_threshold;
  float overlap, threshold;
  cn_candidate *heap; /* [n] */
} cn_nms;

/* Candidates from the best to the worst; those kept go to the heap's end, from behind. Returns how many were kept. */
CN_INLINE size_t cn_nms_class(const cn_nms *s, size_t first) {
  const float *scores = (const float *)s->scores->data + first;
  size_t n = 0, kept = 0;
  for (size_t i = 0; i < s->n; i++) {
    cn_candidate c;
    if (s->has_threshold && !(scores[i] > s->threshold)) continue;
    c.key = ~cn_order_key(s->scores, first + i);
    c.at = -(int64_t)i; /* the heap's top is the least by this order: the best score, of equal ones the first */
    s->heap[n++] = c;
  }
  for (size_t j = n / 2; j-- > 0;) cn_candidate_sink(s->heap, n, j, s->heap[j]);
  while (n > 0 && kept < s->most) {
    const int64_t at = -s->heap[0].at;
    const cn_box box = cn_box_read(s->boxes + 4 * at, s->center);
    size_t k = 0;
    n--;
    if (n > 0) cn_candidate_sink(s->heap, n, 0, s->heap[n]);
    while (k < kept && !cn_box_overlaps(box, cn_box_read(s->boxes + 4 * s->heap[s->n - 1 - k].at, s->center), s->overlap)) k++;
    if (k < kept) continue;
    kept++;
    s->heap[s->n - kept].at = at; /* behind all candidates: each place kept came out of the heap */
  }
  return kept;
}

/* in: boxes f32 [batches][n][4], scores f32 [batches][classes][n], the most boxes of a class s64, overlap and score thresholds f32
 * (the last three may be absent); out: s64 [m][3] (batch, class, box), m decided here; attrs: center_point_box; scratch: n
 * candidates of 16 bytes. */
CN_NOINLINE int cn_op_nms(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                          size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const int64_t batches = in[1].dims[0], classes = in[1].dims[1];
  int64_t *selected = (int64_t *)out[0].data;
  size_t m = 0;
  cn_nms s;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  s.scores = &in[1];
  s.n = (size_t)in[1].dims[2];
  const int64_t most = in[2].data ? ((const int64_t *)in[2].data)[0] : 0;
  s.most = most < 0 ? 0 : cn_min((size_t)most, s.n);
  s.overlap = in[3].data ? ((const float *)in[3].data)[0] : 0.0f;
  s.has_threshold = in[4].data != NULL;
  s.threshold = in[4].data ? ((const float *)in[4].data)[0] : 0.0f;
  s.center = attrs[0].value.i != 0;
  s.heap = (cn_candidate *)scratch;
  if (scratch_size / sizeof *s.heap < s.n) return CASTNET_ERR_DIM;
  for (int64_t b = 0; b < batches; b++) {
    s.boxes = (const float *)in[0].data + 4 * (size_t)b * s.n;
    for (int64_t c = 0; c < classes; c++) {
      const size_t kept = cn_nms_class(&s, (size_t)(b * classes + c) * s.n);
      if (out[0].capacity / 3 - m < kept) return CASTNET_ERR_OP;
      for (size_t k = 0; k < kept; k++, m++) {
        selected[3 * m] = b;
        selected[3 * m + 1] = c;
        selected[3 * m + 2] = s.heap[s.n - 1 - k].at;
      }
    }
  }
  out[0].dims[0] = (int64_t)m;
  return CASTNET_OK;
}

#endif
