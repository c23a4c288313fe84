/* SPDX-License-Identifier: MIT-0 */
/* Maps: ZipMap, CastMap, DictVectorizer, and maps that a caller gives. */
#ifndef CN_OPS_MAPS_H
#define CN_OPS_MAPS_H

#include "base.h"
#include "castnet_abi.h"
#include "ops/find.h"

/* Every struct of a map in a header, whatever its types are. */
typedef struct cn_map {
  const void *keys, *values;
  size_t count;
} cn_map;

/* in: keys [k]; values f32 [n][k]. out: the maps, cn_map [n], in the place of u64 [n][3]; a copy of the values, to which they point. */
CN_NOINLINE int cn_op_zip_map(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                              void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t n = (size_t)in[1].dims[0], k = (size_t)in[1].dims[1];
  float *const values = (float *)out[1].data;
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (n > 0 && k > 0) memcpy(values, in[1].data, n * k * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    cn_map m;
    m.keys = in[0].data;
    m.values = values + i * k;
    m.count = k;
    memcpy((unsigned char *)out[0].data + i * sizeof m, &m, sizeof m);
  }
  return CASTNET_OK;
}

CN_INLINE cn_map cn_map_at(const castnet_tensor *t, size_t i) {
  cn_map m;
  memcpy(&m, (const unsigned char *)t->data + i * sizeof m, sizeof m);
  return m;
}

CN_INLINE int cn_map_is_whole(const cn_map *m) { return m->count == 0 || (m->keys != NULL && m->values != NULL); }

/* in: the caller's map, or {maps, count}. out: the maps as cn_op_zip_map gives them; without room: their number only. Attribute: sequence. */
CN_NOINLINE int cn_op_map_input(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                                void *scratch, size_t scratch_size, const castnet_env *env) {
  struct { const void *items; size_t count; } s = {in[0].data, 1};
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (attrs[0].value.i != 0) memcpy(&s, in[0].data, sizeof s);
  if (s.count > INT32_MAX || (s.count > 0 && s.items == NULL)) return CASTNET_ERR_OP;
  out[0].dims[0] = (int64_t)s.count;
  if (out[0].data == NULL) return CASTNET_OK;
  for (size_t i = 0; i < s.count; i++) {
    cn_map m;
    memcpy(&m, (const unsigned char *)s.items + i * sizeof m, sizeof m);
    if (!cn_map_is_whole(&m)) return CASTNET_ERR_OP;
  }
  if (s.count > 0) memcpy(out[0].data, s.items, s.count * sizeof(cn_map));
  return CASTNET_OK;
}

CN_INLINE size_t cn_map_size(uint32_t dtype) { return dtype == 8 ? sizeof(castnet_string) : dtype == 1 ? sizeof(float) : 8; }

/* Zero, or the empty string, at element i. */
CN_INLINE void cn_map_clear(castnet_tensor *t, size_t i) {
  if (t->dtype == 8) {
    ((castnet_string *)t->data)[i].ptr = "";
    ((castnet_string *)t->data)[i].length = 0;
  } else {
    memset((unsigned char *)t->data + i * cn_map_size(t->dtype), 0, cn_map_size(t->dtype));
  }
}

/* in: a map, the vocabulary ascending [v], the place of each word s64 [v]. out: [v] the value of each word, zero where the map has none. Keys that are
 * no word count for nothing. */
CN_NOINLINE int cn_op_map_vector(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                                 void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_map m = cn_map_at(&in[0], 0);
  const size_t words = (size_t)in[1].dims[0], size = cn_map_size(out[0].dtype), n = cn_elements(&out[0]);
  castnet_tensor keys = in[1];
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  keys.data = (void *)(uintptr_t)m.keys;
  for (size_t i = 0; i < n; i++) cn_map_clear(&out[0], i);
  for (size_t i = 0; i < m.count; i++) {
    const size_t at = cn_find_key(&keys, i, &in[1]);
    if (at < words) memcpy((unsigned char *)out[0].data + (size_t)((const int64_t *)in[2].data)[at] * size, (const unsigned char *)m.values + i * size, size);
  }
  return CASTNET_OK;
}

/* An entry that is being sorted: its key, and where its value is. */
CN_INLINE void cn_map_swap(int64_t *keys, castnet_tensor *values, size_t i, size_t k) {
  const size_t size = cn_map_size(values->dtype);
  unsigned char *p = (unsigned char *)values->data, held[16];
  const int64_t key = keys[i];
  keys[i] = keys[k];
  keys[k] = key;
  memcpy(held, p + i * size, size);
  memcpy(p + i * size, p + k * size, size);
  memcpy(p + k * size, held, size);
}

CN_NOINLINE void cn_map_sink(int64_t *keys, castnet_tensor *values, size_t i, size_t n) {
  for (size_t k = 2 * i + 1; k < n; k = 2 * i + 1) {
    if (k + 1 < n && keys[k + 1] > keys[k]) k++;
    if (keys[i] >= keys[k]) return;
    cn_map_swap(keys, values, i, k);
    i = k;
  }
}

/* in: a map of integers. out: its values, its keys s64, ascending: [1][n]; without room: n only. Attribute: most, keys are below it
 * and not negative, or -1. */
CN_NOINLINE int cn_op_map_values(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                                 void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_map m = cn_map_at(&in[0], 0);
  int64_t *const keys = (int64_t *)out[1].data;
  const int64_t most = attrs[0].value.i;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (m.count > INT32_MAX) return CASTNET_ERR_OP;
  out[0].dims[1] = out[1].dims[1] = (int64_t)m.count;
  if (out[0].data == NULL || m.count == 0) return CASTNET_OK;
  memcpy(out[0].data, m.values, m.count * cn_map_size(out[0].dtype));
  memcpy(keys, m.keys, m.count * sizeof *keys);
  for (size_t i = 0; i < m.count && most >= 0; i++)
    if (keys[i] < 0 || keys[i] >= most) return CASTNET_ERR_INDEX;
  for (size_t i = m.count / 2; i-- > 0;) cn_map_sink(keys, &out[0], i, m.count);
  for (size_t i = m.count; i-- > 1;) {
    cn_map_swap(keys, &out[0], 0, i);
    cn_map_sink(keys, &out[0], 0, i);
  }
  return CASTNET_OK;
}

#endif
