/* SPDX-License-Identifier: MIT-0 */
/* Order among the elements of a tensor of any type, and what stands on it: TopK, Unique, the places of true flags.
 * NaN counts as greater than everything and equal to itself; -0 equals 0; strings compare byte by byte. */
#ifndef CN_OPS_ORDER_H
#define CN_OPS_ORDER_H

#include "base.h"

/* Bits of a floating-point number with the given sign bit and infinity, as an integer that sorts like it. */
CN_INLINE uint64_t cn_order_float(uint64_t bits, uint64_t sign, uint64_t infinity) {
  const uint64_t magnitude = bits & (sign - 1);
  if (magnitude > infinity) return UINT64_MAX;
  return (bits & sign) != 0 ? sign - magnitude : sign + magnitude;
}

CN_INLINE uint64_t cn_order_int(int64_t v) { return (uint64_t)v ^ UINT64_C(0x8000000000000000); }

/* Element i of a tensor of numbers (TensorProto.DataType says of which) as an integer that sorts like it. */
CN_NOINLINE uint64_t cn_order_key(const castnet_tensor *t, size_t i) {
  const unsigned char *p = (const unsigned char *)t->data;
  uint64_t u64;
  uint32_t u32;
  uint16_t u16;
  switch (t->dtype) {
    case 1: return memcpy(&u32, p + 4 * i, 4), cn_order_float(u32, UINT32_C(0x80000000), UINT32_C(0x7f800000));
    case 3: return cn_order_int((int64_t)((const signed char *)t->data)[i]);
    case 4: return ((const uint16_t *)t->data)[i];
    case 5: return cn_order_int((int64_t)((const int16_t *)t->data)[i]);
    case 6: return cn_order_int((int64_t)((const int32_t *)t->data)[i]);
    case 7: return cn_order_int(((const int64_t *)t->data)[i]);
    case 10: return memcpy(&u16, p + 2 * i, 2), cn_order_float(u16, 0x8000, 0x7c00);
    case 11: return memcpy(&u64, p + 8 * i, 8), cn_order_float(u64, UINT64_C(0x8000000000000000), UINT64_C(0x7ff0000000000000));
    case 12: return ((const uint32_t *)t->data)[i];
    case 13: return ((const uint64_t *)t->data)[i];
    case 16: return memcpy(&u16, p + 2 * i, 2), cn_order_float(u16, 0x8000, 0x7f80);
    default: return p[i]; /* u8, bool */
  }
}

CN_INLINE int cn_order_strings(castnet_string a, castnet_string b) {
  const size_t n = a.length < b.length ? a.length : b.length;
  const int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
  return c ? c : (a.length > b.length) - (a.length < b.length);
}

/* By the real parts, then by the imaginary ones. */
CN_INLINE int cn_order_complex(const castnet_tensor *t, size_t i, size_t j) {
  castnet_tensor parts = *t;
  parts.dtype = t->dtype == 14 ? 1 : 11;
  for (size_t k = 0; k < 2; k++) {
    const uint64_t a = cn_order_key(&parts, 2 * i + k), b = cn_order_key(&parts, 2 * j + k);
    if (a != b) return a > b ? 1 : -1;
  }
  return 0;
}

/* Negative, zero or positive, as element i is less than, equal to or greater than element j. */
CN_NOINLINE int cn_order_compare(const castnet_tensor *t, size_t i, size_t j) {
  if (t->dtype == 8) return cn_order_strings(((const castnet_string *)t->data)[i], ((const castnet_string *)t->data)[j]);
  if (t->dtype == 14 || t->dtype == 15) return cn_order_complex(t, i, j);
  const uint64_t a = cn_order_key(t, i), b = cn_order_key(t, j);
  return (a > b) - (a < b);
}

/* A candidate of TopK. */
typedef struct cn_candidate {
  uint64_t key; /* complemented where the smallest are asked for, so that the largest wins */
  int64_t at;
} cn_candidate;

/* Whether a comes before b: the larger, of equal ones the first. */
CN_INLINE int cn_candidate_before(cn_candidate a, cn_candidate b) { return a.key != b.key ? a.key > b.key : a.at < b.at; }

/* Puts c at place i of a heap of n or below, where the last comes on top. */
CN_INLINE void cn_candidate_sink(cn_candidate *heap, size_t n, size_t i, cn_candidate c) {
  for (size_t k = 2 * i + 1; k < n; k = 2 * i + 1) {
    if (k + 1 < n && cn_candidate_before(heap[k], heap[k + 1])) k++;
    if (!cn_candidate_before(c, heap[k])) break;
    heap[i] = heap[k];
    i = k;
  }
  heap[i] = c;
}

/* Whether x comes behind `last` or is its equal, and neither is a NaN. */
CN_INLINE int cn_candidate_behind(float x, float last, int largest) { return largest ? x <= last : x >= last; }

/* How many of n numbers, whole runs of 16 of them, do. */
CN_INLINE size_t cn_candidates_behind(const float *x, size_t n, float last, int largest) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    int any = 0;
    for (size_t l = 0; l < 16; l++) any |= !cn_candidate_behind(x[i + l], last, largest);
    if (any) break;
  }
  return i;
}

/* The k first of n elements at x, x + step ..., in order, in heap [k]. Of many few get into the heap: the others are passed over 16 at a time. */
CN_INLINE void cn_candidates(const castnet_tensor *t, size_t x, size_t step, size_t n, size_t k, int largest, cn_candidate *heap) {
  const float *row = t->dtype == 1 && step == 1 && k > 0 ? (const float *)t->data + x : NULL;
  size_t looked = k; /* those ahead of it are not behind the heap, as far as is known */
  for (size_t i = 0; i < n; i++) {
    cn_candidate c;
    if (row && i == looked) {
      i += cn_candidates_behind(row + i, n - i, row[heap[0].at], largest);
      looked = i + 16;
      if (i == n) break;
    }
    if (row && i >= k && cn_candidate_behind(row[i], row[heap[0].at], largest)) continue;
    c.key = cn_order_key(t, x + i * step);
    if (!largest) c.key = ~c.key;
    c.at = (int64_t)i;
    if (i < k) heap[i] = c;
    if (i + 1 == k) {
      for (size_t j = k / 2; j-- > 0;) cn_candidate_sink(heap, k, j, heap[j]);
    }
    if (i >= k && k > 0 && cn_candidate_before(c, heap[0])) cn_candidate_sink(heap, k, 0, c);
  }
  for (size_t m = k; m-- > 1;) { /* the last of the rest goes behind them */
    const cn_candidate last = heap[0];
    cn_candidate_sink(heap, m, 0, heap[m]);
    heap[m] = last;
  }
}

/* in: X of numbers; out: indices s64 of X's shape but k elements on the axis; attrs: axis, largest; scratch: k candidates of
 * 16 bytes. Sorted always, which `sorted` = 0 allows. */
CN_NOINLINE int cn_op_top_k(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                            size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t axis = (size_t)attrs[0].value.i, n = (size_t)in[0].dims[axis], k = (size_t)out[0].dims[axis];
  int64_t *indices = (int64_t *)out[0].data;
  size_t before = 1, behind = 1;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  if (k > n || scratch_size < k * sizeof(cn_candidate)) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < in[0].rank; i++) *(i < axis ? &before : &behind) *= i == axis ? 1 : (size_t)in[0].dims[i];
  for (size_t i = 0; i < before * behind; i++) {
    const size_t row = i / behind, column = i % behind;
    cn_candidate *heap = (cn_candidate *)scratch;
    cn_candidates(&in[0], row * n * behind + column, behind, n, k, attrs[1].value.i != 0, heap);
    for (size_t j = 0; j < k; j++) indices[(row * k + j) * behind + column] = heap[j].at;
  }
  return CASTNET_OK;
}

/* in: flags b1 [n]; out: s64 [m], the places of those that are set, m decided here. */
CN_NOINLINE int cn_op_places(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                             size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const unsigned char *flags = (const unsigned char *)in[0].data;
  int64_t *places = (int64_t *)out[0].data, m = 0;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (int64_t i = 0; i < in[0].dims[0]; i++) {
    if (flags[i]) places[m++] = i;
  }
  out[0].dims[0] = m;
  return CASTNET_OK;
}

/* Rows i and j of t [n][width] in lexicographic order. */
CN_INLINE int cn_order_rows(const castnet_tensor *t, size_t width, size_t i, size_t j) {
  int c = 0;
  for (size_t k = 0; k < width && c == 0; k++) c = cn_order_compare(t, i * width + k, j * width + k);
  return c;
}

/* Sorts places [n] of rows, equal ones by place: merges of runs of 1, 2, 4 ... between `at` and `spare`. Returns where they are. */
CN_INLINE int64_t *cn_sort_rows(const castnet_tensor *t, size_t width, size_t n, int64_t *at, int64_t *spare) {
  for (size_t i = 0; i < n; i++) at[i] = (int64_t)i;
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t lo = 0; lo < n; lo += 2 * run) {
      const size_t mid = lo + cn_min(run, n - lo), hi = lo + cn_min(2 * run, n - lo);
      size_t a = lo, b = mid;
      for (size_t i = lo; i < hi; i++) {
        const int left = b >= hi || (a < mid && cn_order_rows(t, width, (size_t)at[a], (size_t)at[b]) <= 0);
        spare[i] = left ? at[a++] : at[b++];
      }
    }
    int64_t *const other = at;
    at = spare;
    spare = other;
  }
  return at;
}

/* in: X [n][width] of numbers or strings; out: s64 first [m], inverse [n], counts [m], m decided here: of each different row, in
 * order, or (sorted 0) as they first occur; attrs: sorted; scratch: 4 n s64. */
CN_NOINLINE int cn_op_unique(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                             size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)in[0].dims[0], width = (size_t)in[0].dims[1];
  int64_t *first = (int64_t *)out[0].data, *inverse = (int64_t *)out[1].data, *counts = (int64_t *)out[2].data;
  int64_t *buffer = (int64_t *)scratch, *head = buffer + 2 * n, *number = buffer + 3 * n;
  size_t m = 0;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  if (scratch_size / 32 < n) return CASTNET_ERR_DIM;
  const int64_t *order = cn_sort_rows(&in[0], width, n, buffer, buffer + n);
  for (size_t i = 0; i < n; i++) { /* the first place of each row's equals */
    const int same = i > 0 && cn_order_rows(&in[0], width, (size_t)order[i - 1], (size_t)order[i]) == 0;
    head[order[i]] = same ? head[order[i - 1]] : order[i];
  }
  for (size_t i = 0; i < n; i++) {
    const int64_t at = attrs[0].value.i ? order[i] : (int64_t)i;
    if (head[at] != at) continue;
    number[at] = (int64_t)m;
    first[m] = at;
    counts[m++] = 0;
  }
  for (size_t i = 0; i < n; i++) {
    inverse[i] = number[head[i]];
    counts[inverse[i]]++;
  }
  out[0].dims[0] = (int64_t)m;
  out[2].dims[0] = (int64_t)m;
  return CASTNET_OK;
}

#endif
