/* Sequences and optionals: what their tensors have in common, and the memory that they take (runtime-lite/ops/sequence.h). */
#include "ir/build.h"
#include "ir/build_priv.h"

static const Dim *lines_of(DimCtx *c, const Dim *bytes) { return dim_ceildiv(c, bytes, dim_const(c, SEQ_LINE)); }

const Dim *build_seq_item_bytes(Builder *b, DType t, uint32_t rank, const Dim *const *dims) {
  DimCtx *c = b->ir->dims;
  const unsigned bits = dtype_rows[t].bits;
  const Dim *n = dim_product(c, dims, rank);
  return bits < 8 ? dim_ceildiv(c, n, dim_const(c, 8 / bits)) : dim_mulc(c, n, bits / 8);
}

int64_t build_seq_head_lines(uint32_t rank) { return (16 + 8 * (int64_t)rank + SEQ_LINE - 1) / SEQ_LINE; }

const Dim *build_seq_item_lines(Builder *b, DType t, uint32_t rank, const Dim *const *dims) {
  return dim_addc(b->ir->dims, lines_of(b->ir->dims, build_seq_item_bytes(b, t, rank, dims)), build_seq_head_lines(rank));
}

bool build_seq_type(Builder *b, SeqType s, const Dim *lines, Type *ret) {
  const Dim *const dims[] = {lines, bd_const(b, SEQ_LINE)};
  if (!build_type(b, DT_u8, 2, dims, ret)) return false;
  SeqType *kept = arena_dup(b->ir->arena, &s, sizeof s);
  if (s.rank > 0) kept->dims = arena_dup(b->ir->arena, s.dims, (size_t)s.rank * sizeof *s.dims);
  ret->seq = kept;
  return true;
}

static SeqType of_any_size(Builder *b, SeqType s, SeqForm form) {
  s.form = form;
  s.guess = true;
  s.dims = NEW_ARRAY(b->ir->arena, const Dim *, s.rank > 0 ? (size_t)s.rank : 0);
  return s;
}

/* Nothing is in it, or nothing is said of what is. A declared item without dimensions says little, either: exporters write it where
 * they mean any tensor. */
static bool says_little(const SeqType *s) { return s->rank == SEQ_RANK_UNKNOWN || s->rank == 0; }

SeqType build_seq_join(Builder *b, SeqType x, SeqType y) {
  if (x.rank != y.rank && (says_little(&x) || says_little(&y))) {
    const SeqType *little = x.rank == SEQ_RANK_UNKNOWN || (x.rank == 0 && y.rank != SEQ_RANK_UNKNOWN) ? &x : &y, *other = little == &x ? &y : &x;
    if (little->guess || little->rank == 0) return of_any_size(b, *other, x.form);
    return (SeqType){x.form, x.dtype, other->rank, other->dims, other->guess};
  }
  if (x.rank != y.rank) return (SeqType){x.form, x.dtype, SEQ_RANK_MIXED, NULL, false};
  x.guess = x.guess || y.guess;
  if (x.rank <= 0) return x;
  const Dim **dims = NEW_ARRAY(b->ir->arena, const Dim *, (size_t)x.rank);
  for (int32_t i = 0; i < x.rank; i++) dims[i] = x.dims[i] == y.dims[i] ? x.dims[i] : NULL;
  x.dims = dims;
  return x;
}

static bool same_seq(const SeqType *x, const SeqType *y) {
  if (x->form != y->form || x->rank != y->rank || x->guess != y->guess) return false;
  for (int32_t i = 0; i < x->rank; i++)
    if (x->dims[i] != y->dims[i]) return false;
  return true;
}

bool build_seq_merge(Builder *b, const Type *x, const Type *y, const SeqType **ret) {
  const SeqType *s = x->seq, *t = y->seq;
  *ret = NULL;
  if (!s || !t) return !s && !t;
  if (s->dtype != t->dtype || (s->form != t->form && (s->form == SEQ_OPTIONAL || t->form == SEQ_OPTIONAL))) return false;
  SeqType *both = NEW(b->ir->arena, SeqType);
  *both = build_seq_join(b, *s, *t);
  both->form = s->form > t->form ? s->form : t->form;
  const Dim **dims = NEW_ARRAY(b->ir->arena, const Dim *, both->rank > 0 ? (size_t)both->rank : 0);
  for (int32_t i = 0; i < both->rank; i++) /* what data decide may be another the next time */
    dims[i] = both->dims[i] && !dim_has_data(both->dims[i]) ? both->dims[i] : NULL;
  both->dims = dims;
  *ret = same_seq(both, s) ? s : both;
  return true;
}

SeqType build_seq_of(const Type *t) { return (SeqType){SEQ_SEQUENCE, t->dtype, (int32_t)t->rank, t->dims, false}; }
