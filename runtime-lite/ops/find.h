/* SPDX-License-Identifier: MIT-0 */
/* Search of elements in a sorted table: LabelEncoder, CategoryMapper, OneHotEncoder, DictVectorizer. */
#ifndef CN_OPS_FIND_H
#define CN_OPS_FIND_H

#include "base.h"
#include "ops/order.h"

/* How many elements a tensor has: its capacity is only a bound where data decide its size. */
CN_INLINE size_t cn_elements(const castnet_tensor *t) {
  size_t n = 1;
  for (uint32_t i = 0; i < t->rank; i++) n *= (size_t)t->dims[i];
  return n;
}

/* Where element i of x stands among keys (of its type, ascending, each once); their number where it does not. */
CN_NOINLINE size_t cn_find_key(const castnet_tensor *x, size_t i, const castnet_tensor *keys) {
  const uint64_t key = x->dtype == 8 ? 0 : cn_order_key(x, i);
  const size_t n = (size_t)keys->dims[0];
  size_t lo = 0, hi = n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    int c;
    if (x->dtype == 8) {
      c = cn_order_strings(((const castnet_string *)keys->data)[mid], ((const castnet_string *)x->data)[i]);
    } else {
      const uint64_t at = cn_order_key(keys, mid);
      c = (at > key) - (at < key);
    }
    if (c == 0) return mid;
    if (c < 0) lo = mid + 1;
    else hi = mid;
  }
  return n;
}

/* in: x, keys [K] as above. out: s64 of x's shape, 0 .. K, K where x is no key; attribute: refuse, where that is an error. */
CN_NOINLINE int cn_op_find(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                           void *scratch, size_t scratch_size, const castnet_env *env) {
  int64_t *y = (int64_t *)out[0].data;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  const size_t n = cn_elements(&in[0]), n_keys = (size_t)in[1].dims[0];
  for (size_t i = 0; i < n; i++) {
    const size_t at = cn_find_key(&in[0], i, &in[1]);
    if (at == n_keys && attrs[0].value.i != 0) return CASTNET_ERR_OP;
    y[i] = (int64_t)at;
  }
  return CASTNET_OK;
}

#endif
