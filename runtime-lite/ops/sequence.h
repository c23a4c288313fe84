/* SPDX-License-Identifier: MIT-0 */
/* Sequences and optionals as tensors: u8 [lines][64], without pointers in it, so that it may be copied and moved as a whole.
 *
 * The first line holds two int64: how many tensors there are (CN_SEQ_NONE: an optional sequence that is not there) and how many lines
 * are used, this one included. The tensors follow one after the other: int64 lines (of this tensor in all), rank, dims[rank]; from
 * the next full line on its elements, row-major, those of 4 and 2 bits packed. An optional of a tensor is a sequence of at most one. Only routines write this
 * form, so what it says is right. */
#ifndef CN_OPS_SEQUENCE_H
#define CN_OPS_SEQUENCE_H

#include "base.h"
#include "castnet_abi.h"
#include "scalar_packed.h"

enum { CN_SEQ_LINE = 64, CN_SEQ_NONE = -1, CN_SEQ_RANK = 16 };

typedef struct cn_seq_head { int64_t count, lines; } cn_seq_head;

/* A tensor in a sequence, at the start of a line: dims [rank] follow. */
typedef struct cn_seq_item { int64_t lines, rank; } cn_seq_item;

CN_INLINE cn_seq_head cn_seq_read(const void *seq) {
  cn_seq_head h;
  memcpy(&h, seq, sizeof h);
  return h;
}

CN_INLINE cn_seq_item cn_seq_read_item(const unsigned char *at) {
  cn_seq_item h;
  memcpy(&h, at, sizeof h);
  return h;
}

CN_INLINE int64_t cn_seq_dim(const unsigned char *at, int64_t axis) {
  int64_t d;
  memcpy(&d, at + sizeof(cn_seq_item) + 8 * (size_t)axis, sizeof d);
  return d;
}

/* Lines before a tensor's elements. */
CN_INLINE size_t cn_seq_head_lines(size_t rank) { return cn_ceil_div(sizeof(cn_seq_item) + 8 * rank, CN_SEQ_LINE); }

CN_INLINE const unsigned char *cn_seq_data(const unsigned char *at) {
  return at + CN_SEQ_LINE * cn_seq_head_lines((size_t)cn_seq_read_item(at).rank);
}

/* Tensor i, which is there (i may be their number: the end). */
CN_INLINE const unsigned char *cn_seq_find(const void *seq, int64_t i) {
  const unsigned char *at = (const unsigned char *)seq + CN_SEQ_LINE;
  while (i-- > 0) at += CN_SEQ_LINE * cn_seq_read_item(at).lines;
  return at;
}

/* For results of a call: how many tensors there are, and whether an optional sequence is. */
CN_INLINE size_t cn_seq_count(const void *seq) { return cn_seq_read(seq).count > 0 ? (size_t)cn_seq_read(seq).count : 0; }

CN_INLINE uint8_t cn_seq_is_there(const void *seq) { return (uint8_t)(cn_seq_read(seq).count != CN_SEQ_NONE); }

/* Bits of an element, by TensorProto.DataType. */
CN_NOINLINE size_t cn_seq_element(uint32_t dtype) {
  switch (dtype) {
    case 4: case 5: case 10: case 16: return 16;
    case 1: case 6: case 12: return 32;
    case 7: case 11: case 13: case 14: return 64;
    case 8: return 8 * sizeof(castnet_string);
    case 15: return 128;
    case 21: case 22: case 23: return 4;
    case 25: case 26: return 2;
    default: return 8;
  }
}

/* Bytes of n elements. */
CN_INLINE size_t cn_seq_bytes(size_t n, size_t element) { return element < 8 ? cn_ceil_div(n, 8 / element) : n * (element / 8); }

/* Lines of a tensor of these dimensions, -1 where they make no size. */
CN_NOINLINE int64_t cn_seq_lines(const int64_t *dims, size_t rank, size_t element) {
  const uint64_t most = (uint64_t)INT64_MAX / 2;
  uint64_t bits = element;
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0) return -1;
    if (dims[i] == 0) bits = 0;
    else if (bits > most / (uint64_t)dims[i]) return -1;
    else bits *= (uint64_t)dims[i];
  }
  return (int64_t)(cn_seq_head_lines(rank) + (bits + 8 * CN_SEQ_LINE - 1) / (8 * CN_SEQ_LINE));
}

/* n elements from place `from_at` of `from` to place `to_at` of `to`, whose neighbours stay. */
CN_NOINLINE void cn_seq_move(unsigned char *to, size_t to_at, const unsigned char *from, size_t from_at, size_t n, size_t element) {
  if (element >= 8) {
    const size_t bytes = element / 8;
    if (n) memcpy(to + to_at * bytes, from + from_at * bytes, n * bytes);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    if (element == 4) cn_put_u4(to, to_at + i, cn_get_u4(from, from_at + i));
    else cn_put_u2(to, to_at + i, cn_get_u2(from, from_at + i));
  }
}

/* Elements that share bytes are put one by one: what lies behind the last is zero, too. */
CN_INLINE void cn_seq_clear(unsigned char *to, size_t n, size_t element) {
  if (element < 8 && n) memset(to, 0, cn_seq_bytes(n, element));
}

/* Writes the head of a tensor; its elements belong at the place returned. */
CN_INLINE unsigned char *cn_seq_begin(unsigned char *at, const int64_t *dims, size_t rank, int64_t lines) {
  cn_seq_item h;
  h.lines = lines;
  h.rank = (int64_t)rank;
  memcpy(at, &h, sizeof h);
  if (rank) memcpy(at + sizeof h, dims, 8 * rank);
  return at + CN_SEQ_LINE * cn_seq_head_lines(rank);
}

/* A result with this head; false where there is no room. Nobody reads the rest of its first line. */
CN_INLINE int cn_seq_open(castnet_tensor *out, int64_t count, int64_t lines) {
  cn_seq_head h;
  if (lines < 1 || (uint64_t)lines > out->capacity / CN_SEQ_LINE) return 0;
  memset(out->data, 0, CN_SEQ_LINE);
  h.count = count;
  h.lines = lines;
  memcpy(out->data, &h, sizeof h);
  return 1;
}

/* The one element of an integer tensor (s32 or s64). */
CN_INLINE int64_t cn_seq_int(const castnet_tensor *t, size_t i) {
  return t->dtype == 6 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* The place that operand k says, counted from the end where negative, from 0 to `last`; without operand: `absent`. */
CN_NOINLINE int cn_seq_place(const castnet_tensor *in, size_t n_in, size_t k, int64_t count, int64_t last, int64_t absent, int64_t *ret) {
  *ret = absent;
  if (k < n_in && in[k].data != NULL) *ret = cn_seq_int(&in[k], 0);
  if (*ret < 0) *ret += count;
  return *ret >= 0 && *ret <= last;
}

CN_INLINE unsigned char *cn_seq_copy(unsigned char *to, const unsigned char *from, const unsigned char *end) {
  if (from != end) memcpy(to, from, (size_t)(end - from));
  return to + (end - from);
}

/* The elements of `in` as a tensor at `at`. */
CN_NOINLINE unsigned char *cn_seq_put(unsigned char *at, const castnet_tensor *in, int64_t lines) {
  unsigned char *data = cn_seq_begin(at, in->dims, in->rank, lines);
  size_t n = 1;
  for (size_t i = 0; i < in->rank; i++) n *= (size_t)in->dims[i];
  if (n) memcpy(data, in->data, cn_seq_bytes(n, cn_seq_element(in->dtype)));
  return at + CN_SEQ_LINE * lines;
}

/* in: any number of tensors; out: u8 [lines][64], the sequence of them. attrs: none (1: an optional sequence that is not there). */
CN_NOINLINE int cn_op_seq_construct(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                    size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  int64_t lines = 1;
  (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < n_in; i++) lines += cn_seq_lines(in[i].dims, in[i].rank, cn_seq_element(in[i].dtype));
  if (!cn_seq_open(out, attrs[0].value.i ? CN_SEQ_NONE : (int64_t)n_in, lines)) return CASTNET_ERR_DIM;
  unsigned char *at = (unsigned char *)out->data + CN_SEQ_LINE;
  for (size_t i = 0; i < n_in; i++) at = cn_seq_put(at, &in[i], cn_seq_lines(in[i].dims, in[i].rank, cn_seq_element(in[i].dtype)));
  return CASTNET_OK;
}

/* in: sequence, tensor, place (absent: behind the last); out: the sequence with it. */
CN_NOINLINE int cn_op_seq_insert(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                 size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  const int64_t lines = cn_seq_lines(in[1].dims, in[1].rank, cn_seq_element(in[1].dtype));
  int64_t i;
  (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (h.count == CN_SEQ_NONE) return CASTNET_ERR_OP;
  if (!cn_seq_place(in, n_in, 2, h.count, h.count, h.count, &i)) return CASTNET_ERR_INDEX;
  if (!cn_seq_open(out, h.count + 1, h.lines + lines)) return CASTNET_ERR_DIM;
  const unsigned char *seq = (const unsigned char *)in[0].data, *middle = cn_seq_find(seq, i);
  unsigned char *at = cn_seq_copy((unsigned char *)out->data + CN_SEQ_LINE, seq + CN_SEQ_LINE, middle);
  (void)cn_seq_copy(cn_seq_put(at, &in[1], lines), middle, seq + CN_SEQ_LINE * h.lines);
  return CASTNET_OK;
}

/* in: sequence, place (absent: the last); out: u8 [lines][64], the sequence without that tensor, lines decided here. */
CN_NOINLINE int cn_op_seq_erase(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  int64_t i;
  (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (h.count == CN_SEQ_NONE) return CASTNET_ERR_OP;
  if (!cn_seq_place(in, n_in, 1, h.count, h.count - 1, h.count - 1, &i)) return CASTNET_ERR_INDEX;
  const unsigned char *seq = (const unsigned char *)in[0].data, *middle = cn_seq_find(seq, i);
  const int64_t lines = h.lines - cn_seq_read_item(middle).lines;
  if (!cn_seq_open(out, h.count - 1, lines)) return CASTNET_ERR_DIM;
  unsigned char *at = cn_seq_copy((unsigned char *)out->data + CN_SEQ_LINE, seq + CN_SEQ_LINE, middle);
  (void)cn_seq_copy(at, middle + CN_SEQ_LINE * cn_seq_read_item(middle).lines, seq + CN_SEQ_LINE * h.lines);
  out->dims[0] = lines;
  return CASTNET_OK;
}

/* in: sequence; out: s64, how many tensors there are. attrs: optional (1: CN_SEQ_NONE is an answer, not an error). */
CN_NOINLINE int cn_op_seq_length(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                 size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (h.count == CN_SEQ_NONE && !attrs[0].value.i) return CASTNET_ERR_OP;
  *(int64_t *)out[0].data = h.count;
  return CASTNET_OK;
}

/* The tensor at in[1] of sequence in[0], without in[1] the first; CASTNET_OK, or why there is none. */
CN_INLINE int cn_seq_chosen(const castnet_tensor *in, size_t n_in, const unsigned char **ret_item) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  int64_t i;
  if (h.count == CN_SEQ_NONE) return CASTNET_ERR_OP;
  if (!cn_seq_place(in, n_in, 1, h.count, h.count - 1, 0, &i)) return n_in < 2 ? CASTNET_ERR_OP : CASTNET_ERR_INDEX;
  *ret_item = cn_seq_find(in[0].data, i);
  return CASTNET_OK;
}

/* in: sequence, place (absent: the first, and it is an error of the operator if there is none); out: that tensor. Without room for
 * it: its dimensions only; with room they must be as given. */
CN_NOINLINE int cn_op_seq_at(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                             size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const unsigned char *item = NULL;
  (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  size_t n = 1;
  const int status = cn_seq_chosen(in, n_in, &item);
  if (status != CASTNET_OK) return status;
  if (cn_seq_read_item(item).rank != (int64_t)out->rank) return CASTNET_ERR_DIM;
  for (size_t k = 0; k < out->rank; k++) {
    const int64_t d = cn_seq_dim(item, (int64_t)k);
    if (out->data == NULL) out->dims[k] = d;
    else if (out->dims[k] != d) return CASTNET_ERR_DIM;
    n *= (size_t)d;
  }
  if (out->data != NULL && n) memcpy(out->data, cn_seq_data(item), cn_seq_bytes(n, cn_seq_element(out->dtype)));
  return CASTNET_OK;
}

/* in: sequence, place (absent: the first); out: s64, the rank of the tensor there. */
CN_NOINLINE int cn_op_seq_rank(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                               size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const unsigned char *item = NULL;
  (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  const int status = cn_seq_chosen(in, n_in, &item);
  if (status == CASTNET_OK) *(int64_t *)out[0].data = cn_seq_read_item(item).rank;
  return status;
}

/* How the axis of a tensor is cut: part i of n, its first element and how many. */
CN_INLINE int64_t cn_seq_cut(const castnet_tensor *split, int64_t size, int64_t i, int64_t first) {
  if (split == NULL) return 1;
  if (split->rank == 1) return cn_seq_int(split, (size_t)i);
  const int64_t part = cn_seq_int(split, 0);
  return part < size - first ? part : size - first;
}

/* How many parts there are, -1 where the sizes do not make up the axis. */
CN_INLINE int64_t cn_seq_cuts(const castnet_tensor *split, int64_t size) {
  int64_t sum = 0;
  if (split == NULL) return size;
  if (split->rank == 0) {
    const int64_t part = cn_seq_int(split, 0);
    return part < 1 ? -1 : size / part + (size % part != 0);
  }
  for (int64_t i = 0; i < split->dims[0]; i++) {
    const int64_t part = cn_seq_int(split, (size_t)i);
    if (part < 0 || part > size - sum) return -1;
    sum += part;
  }
  return sum == size ? split->dims[0] : -1;
}

/* in: tensor, sizes of the parts (scalar: of each but the last; absent: 1); out: the sequence of parts along an axis.
 * attrs: axis, keepdims (0: parts of one element lose the axis). */
CN_NOINLINE int cn_op_seq_split(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_tensor *x = &in[0], *split = n_in > 1 && in[1].data != NULL ? &in[1] : NULL;
  const size_t axis = (size_t)attrs[0].value.i, element = cn_seq_element(x->dtype);
  const int drop = attrs[1].value.i == 0;
  const int64_t size = x->dims[axis], n = cn_seq_cuts(split, size);
  int64_t dims[CN_SEQ_RANK], lines = 1, first = 0;
  size_t before = 1, behind = 1;
  (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (n < 0) return CASTNET_ERR_DIM;
  for (size_t i = 0; i < x->rank; i++) {
    if (i < axis) before *= (size_t)x->dims[i];
    if (i > axis) behind *= (size_t)x->dims[i];
    dims[drop && i > axis ? i - 1 : i] = x->dims[i];
  }
  const size_t rank = x->rank - (drop ? 1 : 0);
  for (int64_t i = 0; i < n; i++) {
    const int64_t part = cn_seq_cut(split, size, i, first);
    if (!drop) dims[axis] = part;
    lines += cn_seq_lines(dims, rank, element);
    first += part;
  }
  if (!cn_seq_open(out, n, lines)) return CASTNET_ERR_DIM;
  unsigned char *at = (unsigned char *)out->data + CN_SEQ_LINE;
  first = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t part = cn_seq_cut(split, size, i, first);
    if (!drop) dims[axis] = part;
    const size_t run = (size_t)part * behind;
    lines = cn_seq_lines(dims, rank, element);
    unsigned char *to = cn_seq_begin(at, dims, rank, lines);
    cn_seq_clear(to, before * run, element);
    for (size_t k = 0; k < before; k++) cn_seq_move(to, k * run, (const unsigned char *)x->data, (k * (size_t)size + (size_t)first) * behind, run, element);
    at += CN_SEQ_LINE * lines;
    first += part;
  }
  return CASTNET_OK;
}

/* The size of a concatenation of tensor `item` on `axis` (`fresh`: a new one), once `size` are there; false where it does not fit
 * the result's dims. */
CN_INLINE int cn_seq_joins(const unsigned char *item, const castnet_tensor *out, size_t axis, int fresh, int64_t *size) {
  if (cn_seq_read_item(item).rank + fresh != (int64_t)out->rank) return 0;
  for (size_t k = 0; k < out->rank; k++) {
    if (k == axis) continue;
    if (cn_seq_dim(item, (int64_t)k - (fresh && k > axis ? 1 : 0)) != out->dims[k]) return 0;
  }
  *size += fresh ? 1 : cn_seq_dim(item, (int64_t)axis);
  return 1;
}

/* in: sequence; out: its tensors joined along an axis. attrs: axis, new_axis. Without room: its dimensions only. */
CN_NOINLINE int cn_op_seq_concat(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                 size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const cn_seq_head h = cn_seq_read(in[0].data);
  const size_t axis = (size_t)attrs[0].value.i, element = cn_seq_element(out->dtype);
  const int fresh = attrs[1].value.i != 0;
  const unsigned char *item = cn_seq_find(in[0].data, 0);
  size_t before = 1, behind = 1, at = 0;
  int64_t size = 0;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (h.count < 1) return CASTNET_ERR_OP;
  if (cn_seq_read_item(item).rank + fresh != (int64_t)out->rank) return CASTNET_ERR_DIM;
  for (size_t k = 0; k < out->rank && out->data == NULL; k++)
    if (k != axis) out->dims[k] = cn_seq_dim(item, (int64_t)k - (fresh && k > axis ? 1 : 0));
  for (int64_t i = 0; i < h.count; i++) {
    if (!cn_seq_joins(item, out, axis, fresh, &size)) return CASTNET_ERR_DIM;
    item += CN_SEQ_LINE * cn_seq_read_item(item).lines;
  }
  if (out->data == NULL) {
    out->dims[axis] = size;
    return CASTNET_OK;
  }
  if (out->dims[axis] != size) return CASTNET_ERR_DIM;
  for (size_t k = 0; k < out->rank; k++) {
    if (k < axis) before *= (size_t)out->dims[k];
    if (k > axis) behind *= (size_t)out->dims[k];
  }
  cn_seq_clear((unsigned char *)out->data, before * (size_t)size * behind, element);
  item = cn_seq_find(in[0].data, 0);
  for (int64_t i = 0; i < h.count; i++) {
    const size_t run = (fresh ? 1 : (size_t)cn_seq_dim(item, (int64_t)axis)) * behind;
    for (size_t k = 0; k < before; k++) cn_seq_move((unsigned char *)out->data, at + k * (size_t)size * behind, cn_seq_data(item), k * run, run, element);
    at += run;
    item += CN_SEQ_LINE * cn_seq_read_item(item).lines;
  }
  return CASTNET_OK;
}

#endif
