/* SPDX-License-Identifier: MIT-0 */
/* Sequences and optionals of N_inputs and N_outputs, as the structs that headers declare (N_seq_f32 ...), from and to the form of
 * sequence.h. The structs differ only in what their pointers point to. */
#ifndef CN_OPS_SEQUENCE_IO_H
#define CN_OPS_SEQUENCE_IO_H

#include "ops/sequence.h"

/* N_tensor_T, N_seq_T, N_opt_T, N_opt_seq_T */
typedef struct cn_seq_tensor { const void *data; const int64_t *dims; size_t rank; } cn_seq_tensor;

typedef struct cn_seq_list { const void *items; size_t count; } cn_seq_list;

typedef struct cn_seq_maybe { uint8_t has; cn_seq_tensor value; } cn_seq_maybe;

typedef struct cn_seq_maybe_list { uint8_t has; cn_seq_list value; } cn_seq_maybe_list;

enum { CN_SEQ_SEQUENCE, CN_SEQ_OPTIONAL, CN_SEQ_OPTIONAL_SEQUENCE };

/* The caller's value: false where an optional sequence is not there. */
CN_INLINE int cn_seq_given(const void *value, int64_t form, cn_seq_list *ret) {
  ret->items = NULL;
  ret->count = 0;
  if (form == CN_SEQ_SEQUENCE) {
    memcpy(ret, value, sizeof *ret);
  } else if (form == CN_SEQ_OPTIONAL) {
    cn_seq_maybe o;
    memcpy(&o, value, sizeof o);
    ret->items = (const unsigned char *)value + offsetof(cn_seq_maybe, value);
    ret->count = o.has != 0;
  } else {
    cn_seq_maybe_list o;
    memcpy(&o, value, sizeof o);
    if (o.has) *ret = o.value;
    return o.has != 0;
  }
  return 1;
}

CN_INLINE cn_seq_tensor cn_seq_given_item(const cn_seq_list *list, size_t i) {
  cn_seq_tensor t;
  memcpy(&t, (const unsigned char *)list->items + i * sizeof t, sizeof t);
  return t;
}

/* Whether the tensor is as the model declares: a rank (negative: any), sizes (negative: any). */
CN_INLINE int cn_seq_as_declared(const cn_seq_tensor *t, int64_t rank, const castnet_attr *sizes) {
  if (t->rank > CN_SEQ_RANK || (rank >= 0 && t->rank != (size_t)rank)) return 0;
  for (size_t k = 0; k < t->rank; k++) {
    if (t->dims[k] < 0 || t->dims[k] > INT32_MAX) return 0;
    if (rank >= 0 && sizes->value.ints[k] >= 0 && sizes->value.ints[k] != t->dims[k]) return 0;
  }
  return 1;
}

/* in: the caller's struct; out: u8 [lines][64]; without room: lines only. attrs: form, dtype, rank, sizes [rank] as declared. */
CN_NOINLINE int cn_op_seq_pack(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                               size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t element = cn_seq_element((uint32_t)attrs[1].value.i);
  cn_seq_list list;
  const int there = cn_seq_given(in[0].data, attrs[0].value.i, &list);
  int64_t lines = 1;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < list.count; i++) {
    const cn_seq_tensor t = cn_seq_given_item(&list, i);
    if (!cn_seq_as_declared(&t, attrs[2].value.i, &attrs[3])) return CASTNET_ERR_DIM;
    const int64_t more = cn_seq_lines(t.dims, t.rank, element);
    if (more < 0 || more > INT32_MAX || (lines += more) > INT32_MAX) return CASTNET_ERR_DIM;
  }
  if (out->data == NULL) {
    out->dims[0] = lines;
    return CASTNET_OK;
  }
  if (!cn_seq_open(out, there ? (int64_t)list.count : CN_SEQ_NONE, lines)) return CASTNET_ERR_DIM;
  unsigned char *at = (unsigned char *)out->data + CN_SEQ_LINE;
  for (size_t i = 0; i < list.count; i++) {
    const cn_seq_tensor t = cn_seq_given_item(&list, i);
    const int64_t more = cn_seq_lines(t.dims, t.rank, element);
    size_t n = 1;
    for (size_t k = 0; k < t.rank; k++) n *= (size_t)t.dims[k];
    unsigned char *data = cn_seq_begin(at, t.dims, t.rank, more);
    if (n) memcpy(data, t.data, cn_seq_bytes(n, element));
    at += CN_SEQ_LINE * more;
  }
  return CASTNET_OK;
}

/* in: sequence; out: u64 [count][3], in whose place the caller's items stand (of at most 24 bytes), pointing into the sequence;
 * without room: count only. attrs: form. */
CN_NOINLINE int cn_op_seq_unpack(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                 size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (h.count == CN_SEQ_NONE && attrs[0].value.i != CN_SEQ_OPTIONAL_SEQUENCE) return CASTNET_ERR_OP;
  if (out->data == NULL) {
    out->dims[0] = h.count > 0 ? h.count : 0;
    return CASTNET_OK;
  }
  const unsigned char *item = cn_seq_find(in[0].data, 0);
  for (int64_t i = 0; i < h.count; i++) {
    cn_seq_tensor t;
    t.data = cn_seq_data(item);
    t.dims = (const int64_t *)(const void *)(item + sizeof(cn_seq_item));
    t.rank = (size_t)cn_seq_read_item(item).rank;
    memcpy((unsigned char *)out->data + (size_t)i * sizeof t, &t, sizeof t);
    item += CN_SEQ_LINE * cn_seq_read_item(item).lines;
  }
  return CASTNET_OK;
}

#endif
