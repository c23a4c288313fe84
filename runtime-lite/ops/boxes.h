/* SPDX-License-Identifier: MIT-0 */
/* Selection among boxes (NonMaxSuppression). */
#ifndef CN_OPS_BOXES_H
#define CN_OPS_BOXES_H

#include "base.h"

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

CN_INLINE float cn_box_area(cn_box b) { return (b.y1 - b.y0) * (b.x1 - b.x0); }

/* Boxes and keys are looked at so many at a time: loops of this length become vector code. */
#define CN_NMS_SIDE 16

/* The most stretches of the y axis that boxes are kept by. */
#define CN_NMS_STRETCHES 64

/* Boxes kept, by where they begin on the y axis: a stretch is longer than any box, so that those which overlap one of stretch c lie in c - 1 .. c + 1 (detectors
 * of many classes lay each class elsewhere, so that one call tells them apart). A stretch has blocks of CN_NMS_SIDE boxes, each field [blocks][CN_NMS_SIDE],
 * without area where no box is yet; blocks are named by their number plus 1, 0: none. */
typedef struct cn_kept {
  float *y0, *x0, *y1, *x1, *area;
  uint32_t *before;        /* [blocks]: of the same stretch */
  uint32_t *newest, *used; /* [stretches]: its last block, and how many boxes that has (0: all) */
  uint32_t blocks;
  size_t stretches;
  float from, by; /* of a y: (y - from) * by */
} cn_kept;

/* So many at most where `most` boxes are kept: few boxes are compared with each other anyway. */
CN_INLINE size_t cn_nms_stretches(size_t most) { return cn_max(1, cn_min(CN_NMS_STRETCHES, most / 64)); }

CN_INLINE size_t cn_nms_blocks(size_t most) { return cn_ceil_div(most, CN_NMS_SIDE) + cn_nms_stretches(most); }

/* Lays the stretches over n boxes; one where these reach from nowhere to anywhere. */
CN_INLINE void cn_kept_lay(cn_kept *k, const float *boxes, size_t n, int center, size_t most) {
  const float bound = (float)cn_nms_stretches(most);
  float low = 0.0f, high = 0.0f, longest = 0.0f;
  for (size_t i = 0; i < n && bound > 1.0f; i++) {
    const cn_box b = cn_box_read(boxes + 4 * i, center);
    const float length = b.y1 - b.y0;
    low = i == 0 || b.y0 < low ? b.y0 : low;
    high = i == 0 || b.y0 > high ? b.y0 : high;
    longest = length > longest ? length : longest;
  }
  const float count = (high - low) / (longest * 1.01f); /* a little longer: neither rounding a length nor a place may lose a neighbour */
  k->stretches = 1;
  k->from = low;
  k->by = 0.0f;
  if (!(count >= 2.0f && high - low > 1e-30f && high - low < 1e30f)) return;
  k->stretches = (size_t)cn_box_min(count, bound);
  k->by = (float)k->stretches / (high - low);
}

CN_INLINE size_t cn_kept_stretch(const cn_kept *k, float y) {
  const float at = (y - k->from) * k->by, last = (float)(k->stretches - 1);
  return at > 0.0f ? (size_t)cn_box_min(at, last) : 0;
}

CN_INLINE void cn_kept_clear(cn_kept *k) {
  k->blocks = 0;
  memset(k->newest, 0, k->stretches * sizeof *k->newest);
  memset(k->used, 0, k->stretches * sizeof *k->used);
}

CN_INLINE void cn_kept_add(cn_kept *k, cn_box b) {
  const size_t c = cn_kept_stretch(k, b.y0);
  if (k->used[c] == 0) {
    memset(k->area + (size_t)k->blocks * CN_NMS_SIDE, 0, CN_NMS_SIDE * sizeof(float));
    k->before[k->blocks++] = k->newest[c];
    k->newest[c] = k->blocks;
  }
  const size_t i = (size_t)(k->newest[c] - 1) * CN_NMS_SIDE + k->used[c];
  k->used[c] = (k->used[c] + 1) % CN_NMS_SIDE;
  k->y0[i] = b.y0;
  k->x0[i] = b.x0;
  k->y1[i] = b.y1;
  k->x1[i] = b.x1;
  k->area[i] = cn_box_area(b);
}

/* Whether intersection over union with any of a block's boxes exceeds the threshold; boxes without area overlap nothing. */
CN_INLINE int cn_block_overlaps(const cn_kept *k, size_t i, cn_box b, float area, float threshold) {
  int any = 0;
  CN_LANES
  for (size_t j = i; j < i + CN_NMS_SIDE; j++) {
    const float h = cn_box_min(b.y1, k->y1[j]) - cn_box_max(b.y0, k->y0[j]), w = cn_box_min(b.x1, k->x1[j]) - cn_box_max(b.x0, k->x0[j]);
    const float both = h * w, either = area + k->area[j] - both;
    any |= (h > 0.0f) & (w > 0.0f) & (k->area[j] > 0.0f) & (either > 0.0f) & (both / either > threshold);
  }
  return any;
}

CN_INLINE int cn_kept_overlap(const cn_kept *k, cn_box b, float threshold) {
  const float area = cn_box_area(b);
  const size_t at = cn_kept_stretch(k, b.y0), end = cn_min(at + 2, k->stretches);
  for (size_t c = at ? at - 1 : 0; c < end && area > 0.0f; c++)
    for (uint32_t block = k->newest[c]; block; block = k->before[block - 1])
      if (cn_block_overlaps(k, (size_t)(block - 1) * CN_NMS_SIDE, b, area, threshold)) return 1;
  return 0;
}

/* A score as an integer that sorts like it: NaN above everything, -0 as 0. */
CN_INLINE int32_t cn_score_key(float score) {
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  const int32_t magnitude = (int32_t)(bits & UINT32_C(0x7fffffff));
  const int32_t key = bits >> 31 ? -magnitude : magnitude;
  return magnitude > 0x7f800000 ? INT32_MAX : key;
}

/* No candidate, or one taken: below every key. */
#define CN_NMS_NONE INT32_MIN

/* Keys, and above them the largest of each CN_NMS_SIDE, up to the largest of all: the best is found and taken in a few steps, however many
 * there are. Each level is filled up with CN_NMS_NONE to a multiple of CN_NMS_SIDE. */
typedef struct cn_best {
  int32_t *level[17];
  size_t top;
} cn_best;

CN_INLINE int32_t cn_best_of(const int32_t *keys) {
  int32_t most = keys[0];
  CN_LANES
  for (size_t j = 0; j < CN_NMS_SIDE; j++) most = keys[j] > most ? keys[j] : most;
  return most;
}

/* Level 0 holds n keys. */
CN_INLINE void cn_best_build(cn_best *b, size_t n) {
  for (b->top = 0;; b->top++) {
    int32_t *keys = b->level[b->top];
    const size_t room = cn_round_up(n, CN_NMS_SIDE);
    for (size_t i = n; i < room; i++) keys[i] = CN_NMS_NONE;
    if (n <= 1) return;
    n = room / CN_NMS_SIDE;
    b->level[b->top + 1] = keys + room;
    for (size_t i = 0; i < n; i++) keys[room + i] = cn_best_of(keys + i * CN_NMS_SIDE);
  }
}

/* Takes the largest key, of equal ones the first; returns 0 where none is left. */
CN_INLINE int cn_best_take(const cn_best *b, size_t *ret_at) {
  const int32_t key = b->level[b->top][0];
  size_t at = 0;
  if (key == CN_NMS_NONE) return 0;
  for (size_t l = b->top; l-- > 0;) {
    const int32_t *keys = b->level[l] + at * CN_NMS_SIDE;
    int32_t first = CN_NMS_SIDE;
    CN_LANES
    for (int32_t j = 0; j < CN_NMS_SIDE; j++) {
      const int32_t here = keys[j] == key ? j : CN_NMS_SIDE;
      first = here < first ? here : first;
    }
    at = at * CN_NMS_SIDE + (size_t)first;
  }
  *ret_at = at;
  b->level[0][at] = CN_NMS_NONE;
  for (size_t l = 0; l < b->top; l++) {
    at /= CN_NMS_SIDE;
    b->level[l + 1][at] = cn_best_of(b->level[l] + at * CN_NMS_SIDE);
  }
  return 1;
}

typedef struct cn_nms {
  const float *boxes; /* [n][4] of the batch at hand */
  size_t n, most;
  int center, has_threshold;
  float overlap, threshold;
  cn_best best;
  cn_kept kept;
} cn_nms;

/* Keys of all levels, which end with one. */
CN_INLINE size_t cn_nms_keys(size_t n) {
  size_t keys = cn_round_up(n, CN_NMS_SIDE);
  while (n > 1) {
    n = cn_ceil_div(n, CN_NMS_SIDE);
    keys += cn_round_up(n, CN_NMS_SIDE);
  }
  return keys;
}

/* Places keys and kept boxes; returns 0 where scratch has not the bytes. */
CN_INLINE int cn_nms_place(cn_nms *s, void *scratch, size_t bytes) {
  const size_t blocks = cn_nms_blocks(s->most), room = blocks * CN_NMS_SIDE, keys = cn_nms_keys(s->n), stretches = cn_nms_stretches(s->most);
  s->best.level[0] = (int32_t *)scratch;
  s->kept.y0 = (float *)scratch + keys;
  s->kept.x0 = s->kept.y0 + room;
  s->kept.y1 = s->kept.x0 + room;
  s->kept.x1 = s->kept.y1 + room;
  s->kept.area = s->kept.x1 + room;
  s->kept.before = (uint32_t *)(s->kept.area + room);
  s->kept.newest = s->kept.before + blocks;
  s->kept.used = s->kept.newest + stretches;
  return bytes >= (keys + 5 * room + blocks + 2 * stretches) * sizeof(float);
}

/* Candidates from the best to the worst, at most as many as selected has room for and one more; returns how many of them were kept. */
CN_INLINE size_t cn_nms_class(cn_nms *s, const float *scores, int64_t batch, int64_t class_at, int64_t *selected, size_t room) {
  size_t kept = 0, at = 0;
  for (size_t i = 0; i < s->n; i++)
    s->best.level[0][i] = s->has_threshold && !(scores[i] > s->threshold) ? CN_NMS_NONE : cn_score_key(scores[i]);
  cn_best_build(&s->best, s->n);
  cn_kept_clear(&s->kept);
  while (kept < s->most && cn_best_take(&s->best, &at)) {
    const cn_box box = cn_box_read(s->boxes + 4 * at, s->center);
    if (cn_kept_overlap(&s->kept, box, s->overlap)) continue;
    if (kept == room) return kept + 1;
    cn_kept_add(&s->kept, box);
    selected[3 * kept] = batch;
    selected[3 * kept + 1] = class_at;
    selected[3 * kept + 2] = (int64_t)at;
    kept++;
  }
  return kept;
}

/* in: boxes f32 [batches][n][4], scores f32 [batches][classes][n], the most boxes of a class s64, overlap and score thresholds f32
 * (the last three may be absent); out: s64 [m][3] (batch, class, box), m decided here; attrs: center_point_box; scratch: at
 * most 5 n + 26 most + 1280 bytes, a key of each box and five fields of each that may be kept, in blocks. */
CN_NOINLINE int cn_op_nms(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                          size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const int64_t batches = in[1].dims[0], classes = in[1].dims[1];
  size_t m = 0;
  cn_nms s;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  s.n = (size_t)in[1].dims[2];
  const int64_t most = in[2].data ? ((const int64_t *)in[2].data)[0] : 0;
  s.most = most < 0 ? 0 : cn_min((size_t)most, s.n);
  s.overlap = in[3].data ? ((const float *)in[3].data)[0] : 0.0f;
  s.has_threshold = in[4].data != NULL;
  s.threshold = in[4].data ? ((const float *)in[4].data)[0] : 0.0f;
  s.center = attrs[0].value.i != 0;
  if (!cn_nms_place(&s, scratch, scratch_size)) return CASTNET_ERR_DIM;
  for (int64_t b = 0; b < batches && s.most > 0; b++) {
    s.boxes = (const float *)in[0].data + 4 * (size_t)b * s.n;
    cn_kept_lay(&s.kept, s.boxes, s.n, s.center, s.most);
    for (int64_t c = 0; c < classes; c++) {
      const float *scores = (const float *)in[1].data + (size_t)(b * classes + c) * s.n;
      const size_t room = out[0].capacity / 3 - m, kept = cn_nms_class(&s, scores, b, c, (int64_t *)out[0].data + 3 * m, room);
      if (kept > room) return CASTNET_ERR_OP;
      m += kept;
    }
  }
  out[0].dims[0] = (int64_t)m;
  return CASTNET_OK;
}

#endif
