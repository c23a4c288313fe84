/* Sequences and optionals. Each value is a tensor (runtime-lite/ops/sequence.h) that a routine makes; where the tensors in it are known,
 * what takes them out again gives them back, and nobody reads the sequence. */
#include "ops/import_private.h"
#include "ops/import_sequence.h"
#include "ops/shared.h"

enum { ITEMS_MAX = 256 }; /* of a sequence whose tensors are followed */

/* ---- what is known of a sequence ---- */
static const SeqType *seq_in(const OpContext *c, size_t k) { return op_in(c, k)->type.seq; }
static const Dim *seq_lines(const OpContext *c, size_t k) { return op_dim(c, k, 0); }

static const SeqItems *items_new(OpContext *c, size_t n) {
  SeqItems *s = NEW(op_arena(c), SeqItems);
  *s = (SeqItems){(uint32_t)n, NEW_ARRAY(op_arena(c), Value *, n)};
  return s;
}

static Value **items_of(const SeqItems *s) { return (Value **)(uintptr_t)s->values; }

/* The items of x but `left`, with v at place `at` if it is one. */
static const SeqItems *items_with(OpContext *c, const SeqItems *x, size_t left, Value *v, size_t at) {
  size_t n = 0;
  const SeqItems *s = items_new(c, x->n + (size_t)1);
  for (size_t i = 0; i <= x->n; i++) {
    if (v && i == at) items_of(s)[n++] = v;
    if (i < x->n && i != left) items_of(s)[n++] = x->values[i];
  }
  ((SeqItems *)(uintptr_t)s)->n = (uint32_t)n;
  return s;
}

/* The constant that operand k is, `absent` without it, made positive as an index of n elements; false when it is not known or lies
 * outside of 0 to `last`, which the call will say. */
static bool known_place(OpContext *c, size_t k, int64_t n, int64_t last, int64_t absent, int64_t *ret) {
  size_t count;
  *ret = absent;
  if (op_in(c, k)) {
    const Dim *const *content = build_content(&c->b, op_in(c, k), &count);
    if (!content || count != 1 || !dim_is_const(content[0], ret)) return false;
  }
  if (*ret < 0) *ret += n;
  return *ret >= 0 && *ret <= last;
}

/* Calls a routine that makes a sequence. */
static Value *make(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs, SeqType s,
                 const Dim *lines, const SeqItems *items) {
  Type type;
  Value *v;
  if (!build_seq_type(&c->b, s, lines, &type) || !op_routine(c, symbol, in, n_in, attrs, n_attrs, NULL, &type, 1, &v)) return NULL;
  v->items = items && items->n <= ITEMS_MAX ? items : NULL;
  return v;
}

static Value *construct(OpContext *c, SeqType s, Value *const *in, size_t n, bool none) {
  const Dim *lines = op_dims(c)->one;
  const RoutineInt attrs[] = {{"none", none}};
  const SeqItems *items = items_new(c, n);
  for (size_t i = 0; i < n; i++) {
    lines = dim_add(op_dims(c), lines, build_seq_item_lines(&c->b, s.dtype, in[i]->type.rank, in[i]->type.dims));
    items_of(items)[i] = in[i];
  }
  return make(c, "cn_op_seq_construct", in, n, attrs, 1, s, lines, none ? NULL : items);
}

/* The same content as another kind of value. */
static Value *retype(OpContext *c, Value *v, SeqForm form) {
  SeqType s = *v->type.seq;
  Type type;
  s.form = form;
  if (!build_seq_type(&c->b, s, v->type.dims[0], &type)) return NULL;
  Value *same = graph_add_node(c->b.graph, OP_RESHAPE, &v, 1, &type, 1, NULL, c->b.place)->out[0];
  same->items = v->items;
  return same;
}

/* ---- taking tensors out: their sizes are measured where they are not known ---- */
static const OnnxType *declared_output(const OpContext *c) { return map_get(&c->importer->scope->types, c->node->outputs[0]); }

/* The shape `t` that the model declares for what is taken out, where the rank of what is in a sequence is not known. */
static bool declared_item(OpContext *c, const OnnxType *t, SeqType *s) {
  if (s->rank >= 0 && !s->guess) return true;
  if (!t || t->kind != ONNX_TYPE_TENSOR || !t->has_shape || t->n_dims > MAX_RANK) {
    if (s->rank >= 0) return true;
    if (s->rank == SEQ_RANK_MIXED) return op_unsupported(c, "a sequence of tensors of several ranks: the model must declare the shape of the one taken out");
    return op_unsupported(c, "nothing says which rank the tensors of the sequence have: the model must declare the shape of the one taken out");
  }
  const Dim **dims = NEW_ARRAY(op_arena(c), const Dim *, t->n_dims);
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i].kind == ONNX_DIM_VALUE && t->dims[i].value >= 0) dims[i] = bd_const(&c->b, t->dims[i].value);
  *s = (SeqType){s->form, s->dtype, (int32_t)t->n_dims, dims, false};
  return true;
}

/* The rank of a tensor that is taken out by itself, where neither the sequence nor the model says it. place NULL: of an optional's. */
static bool choose_item(OpContext *c, Value *place, const OnnxType *declared, SeqType *s) {
  Value *const in[] = {op_in(c, 0), place};
  const Type type = type_tensor(c->b.ir, DT_s64, 0, NULL);
  const bool told = declared && declared->kind == ONNX_TYPE_TENSOR && declared->has_shape;
  const SeqItems *items = op_in(c, 0)->items;
  Value *rank;
  int64_t lo = items && items->n ? MAX_RANK : 0, hi = lo ? 0 : MAX_RANK, n;
  *s = *seq_in(c, 0);
  if (s->rank >= 0 || told) return true;
  for (size_t i = 0; items && i < items->n; i++) {
    const int64_t r = items->values[i]->type.rank;
    if (r < lo) lo = r;
    if (r > hi) hi = r;
  }
  if (!op_routine(c, "cn_op_seq_rank", in, place ? 2 : 1, NULL, 0, NULL, &type, 1, &rank) || !op_choose(c, rank, lo, hi, &n)) return false;
  *s = (SeqType){s->form, s->dtype, (int32_t)n, NEW_ARRAY(op_arena(c), const Dim *, MAX_RANK), false};
  return true;
}

/* Most elements of an axis for a tensor made of what lies in `lines`: NULL where they are not known before the call, or two axes are open. */
static const Dim *axis_bound(OpContext *c, DType t, const Dim *lines, uint32_t rank, const Dim *const *dims) {
  DimCtx *d = op_dims(c);
  const unsigned bits = dtype_rows[t].bits;
  const Dim *known = dim_const(d, bits < 8 ? 1 : bits / 8);
  unsigned open = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (dims[i]) known = dim_mul(d, known, dims[i]);
    open += !dims[i];
  }
  int64_t unit;
  if (open != 1 || dim_has_data(lines) || !dim_is_const(known, &unit) || unit < 1) return NULL;
  return dim_floordiv(d, dim_mulc(d, dim_addc(d, lines, -1), bits < 8 ? SEQ_LINE * (8 / bits) : SEQ_LINE), known);
}

/* A routine whose result's open (NULL) dimensions are measured. */
static Value *take(OpContext *c, const char *symbol, Value *const *in, size_t n_in, const RoutineInt *attrs, size_t n_attrs, DType t,
                 uint32_t rank, const Dim *const *known) {
  const Dim *dims[MAX_RANK], *bound = axis_bound(c, t, in[0]->type.dims[0], rank, known);
  bool open = false;
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = known[i] ? known[i] : bd_data_symbol(&c->b, "item", 0, INT32_MAX, bound);
    open = open || !known[i];
  }
  const Type type = type_tensor(c->b.ir, t, rank, dims);
  Value *v;
  const bool ok = open ? op_routine_measured(c, symbol, in, n_in, attrs, n_attrs, &type, 1, &v)
                       : op_routine(c, symbol, in, n_in, attrs, n_attrs, NULL, &type, 1, &v);
  return ok ? v : NULL;
}

static Value *take_at(OpContext *c, Value *seq, Value *place, const OnnxType *declared, SeqType s) {
  Value *const in[] = {seq, place};
  return declared_item(c, declared, &s) ? take(c, "cn_op_seq_at", in, place ? 2 : 1, NULL, 0, s.dtype, (uint32_t)s.rank, s.dims) : NULL;
}

/* The node's result; place NULL: the tensor of an optional. */
static bool take_out(OpContext *c, Value *place) {
  SeqType s;
  return choose_item(c, place, declared_output(c), &s) && op_give(c, 0, take_at(c, op_in(c, 0), place, declared_output(c), s));
}

/* ---- sequences ---- */
Value *sequence_none(OpContext *c, DType t) {
  return construct(c, (SeqType){SEQ_SEQUENCE, t, SEQ_RANK_UNKNOWN, NULL, false}, NULL, 0, false);
}

bool import_sequence_empty(OpContext *c) {
  const DType t = dtype_from_onnx(op_int(c, "dtype", dtype_rows[DT_f32].onnx));
  if (t == DT_NONE) return op_fail(c, DIAG_E0304, "attribute 'dtype' is %lld", (long long)op_int(c, "dtype", 0));
  return op_give(c, 0, sequence_none(c, t));
}

bool import_sequence_construct(OpContext *c) {
  SeqType s = build_seq_of(&op_in(c, 0)->type);
  for (size_t i = 1; i < c->n_in; i++) s = build_seq_join(&c->b, s, build_seq_of(&op_in(c, i)->type));
  return op_give(c, 0, construct(c, s, c->in, c->n_in, false));
}

/* in: sequence, tensor, place or NULL. */
static Value *insert(OpContext *c, Value *const *in, const SeqItems *items) {
  const SeqType s = *in[0]->type.seq;
  const Value *v = in[1];
  if (v->type.dtype != s.dtype || v->type.seq) return (void)op_fail(c, DIAG_E0401, "a tensor of %s for a sequence of %s", dtype_name(v->type.dtype), dtype_name(s.dtype)), NULL;
  const Dim *lines = dim_add(op_dims(c), in[0]->type.dims[0], build_seq_item_lines(&c->b, s.dtype, v->type.rank, v->type.dims));
  return make(c, "cn_op_seq_insert", in, in[2] ? 3 : 2, NULL, 0, build_seq_join(&c->b, s, build_seq_of(&v->type)), lines, items);
}

bool import_sequence_insert(OpContext *c) {
  const SeqItems *items = op_in(c, 0)->items, *now = NULL;
  int64_t at;
  if (!op_one_element(c, 2)) return false;
  if (items && known_place(c, 2, items->n, items->n, items->n, &at)) now = items_with(c, items, SIZE_MAX, op_in(c, 1), (size_t)at);
  return op_give(c, 0, insert(c, c->in, now));
}

bool import_sequence_erase(OpContext *c) {
  const SeqItems *items = op_in(c, 0)->items;
  const Dim *most = seq_lines(c, 0);
  int64_t at;
  if (!op_one_element(c, 1)) return false;
  if (items && known_place(c, 1, items->n, (int64_t)items->n - 1, (int64_t)items->n - 1, &at)) items = items_with(c, items, (size_t)at, NULL, 0);
  else items = NULL;
  const Dim *lines = bd_data_symbol(&c->b, "lines", 1, most->hi < INT32_MAX ? most->hi : INT32_MAX, most);
  return op_give(c, 0, make(c, "cn_op_seq_erase", c->in, c->n_in, NULL, 0, *seq_in(c, 0), lines, items));
}

bool import_sequence_at(OpContext *c) {
  const SeqItems *items = op_in(c, 0)->items;
  int64_t at;
  if (!op_one_element(c, 1)) return false;
  if (items && known_place(c, 1, items->n, (int64_t)items->n - 1, 0, &at)) return op_give(c, 0, items->values[at]);
  return take_out(c, op_in(c, 1));
}

static Value *length(OpContext *c, Value *seq, bool optional) {
  Value *n;
  const Type type = type_tensor(c->b.ir, DT_s64, 0, NULL);
  const RoutineInt attrs[] = {{"optional", optional}};
  if (seq->items) return build_scalar_i(&c->b, DT_s64, seq->items->n);
  return op_routine(c, "cn_op_seq_length", &seq, 1, attrs, 1, NULL, &type, 1, &n) ? n : NULL;
}

Value *sequence_length(OpContext *c, Value *seq) { return length(c, seq, false); }

bool import_sequence_length(OpContext *c) { return op_give(c, 0, sequence_length(c, op_in(c, 0))); }

/* ---- SplitToSequence, ConcatFromSequence ---- */
/* The parts as views, where their sizes are constants. */
static const SeqItems *split_items(OpContext *c, uint32_t axis, const int64_t *sizes, size_t n, bool drop) {
  const SeqItems *items = items_new(c, n);
  int64_t at = 0;
  for (size_t i = 0; i < n; i++) {
    Value *v = build_slice(&c->b, op_in(c, 0), axis, bd_const(&c->b, at), bd_const(&c->b, sizes[i]), op_dims(c)->one);
    items_of(items)[i] = drop && v ? build_squeeze(&c->b, v, 1u << axis) : v;
    if (!items->values[i]) return NULL;
    at += sizes[i];
  }
  return items;
}

/* The sizes of the parts when all is constant; NULL, with a diagnostic where they do not make up the axis. */
static const int64_t *split_sizes(OpContext *c, const Dim *size, size_t *ret_n) {
  const int64_t *split;
  size_t n = 0;
  int64_t whole, sum = 0;
  if (!dim_is_const(size, &whole)) return NULL;
  const bool given = op_in(c, 1) != NULL;
  if (given && !build_const_ints(&c->b, op_in(c, 1), &split, &n)) return NULL;
  if (given && op_rank(c, 1) == 1) {
    for (size_t i = 0; i < n; i++) {
      if (split[i] < 0 || split[i] > whole - sum) return (void)op_fail(c, DIAG_E0403, "the parts do not make up the axis of %lld", (long long)whole), NULL;
      sum += split[i];
    }
    if (sum != whole) return (void)op_fail(c, DIAG_E0403, "the parts do not make up the axis of %lld", (long long)whole), NULL;
    *ret_n = n;
    return split;
  }
  const int64_t part = given ? split[0] : 1;
  if (part < 1) return (void)op_fail(c, DIAG_E0403, "parts of size %lld", (long long)part), NULL;
  const int64_t parts = whole / part + (whole % part != 0);
  if (parts > ITEMS_MAX) return NULL;
  int64_t *sizes = NEW_ARRAY(op_arena(c), int64_t, (size_t)parts);
  for (int64_t i = 0; i < parts; i++) sizes[i] = i + 1 < parts ? part : whole - i * part;
  *ret_n = (size_t)parts;
  return sizes;
}

/* How many parts there are at most: a scalar size is read from data. */
static const Dim *split_count(OpContext *c, const Dim *size) {
  size_t n;
  if (!op_in(c, 1)) return size;
  if (op_rank(c, 1) == 1) return op_dim(c, 1, 0);
  const Dim *const *part = build_read_dims(&c->b, op_in(c, 1), "part", 1, INT32_MAX, NULL, &n);
  return part ? dim_ceildiv(op_dims(c), size, part[0]) : NULL;
}

bool import_split_to_sequence(OpContext *c) {
  DimCtx *d = op_dims(c);
  Value *x = op_in(c, 0);
  const uint32_t rank = op_rank(c, 0);
  uint32_t axis;
  if (!op_rank_in(c, 0, 1, MAX_RANK) || !op_axis_attr(c, "axis", 0, rank, &axis)) return false;
  const bool drop = !op_in(c, 1) && op_int(c, "keepdims", 1) == 0;
  if (op_in(c, 1) && op_rank(c, 1) > 1) return op_fail(c, DIAG_E0402, "split has shape %s", op_shape(c, 1));
  const size_t said = c->b.ir->diags->list.n;
  const Dim *size = op_dim(c, 0, axis), *dims[MAX_RANK], *n = NULL;
  size_t parts = 0;
  const int64_t *sizes = split_sizes(c, size, &parts);
  if (said != c->b.ir->diags->list.n || (!sizes && (n = split_count(c, size)) == NULL)) return false;
  if (sizes) n = bd_const(&c->b, (int64_t)parts);
  SeqType s = {SEQ_SEQUENCE, x->type.dtype, (int32_t)(rank - drop), dims, false};
  for (uint32_t i = 0; i < rank; i++)
    if (!drop || i != axis) dims[drop && i > axis ? i - 1 : i] = i == axis ? (op_in(c, 1) ? NULL : d->one) : op_dim(c, 0, i);
  /* each part rounds up to a line at most */
  const Dim *bytes = build_seq_item_bytes(&c->b, s.dtype, rank, x->type.dims);
  const Dim *lines = dim_add(d, dim_mulc(d, n, build_seq_head_lines((uint32_t)s.rank) + 1), dim_floordiv(d, bytes, bd_const(&c->b, SEQ_LINE)));
  const RoutineInt attrs[] = {{"axis", axis}, {"keepdims", !drop}};
  const SeqItems *items = sizes && parts <= ITEMS_MAX ? split_items(c, axis, sizes, parts, drop) : NULL;
  return op_give(c, 0, make(c, "cn_op_seq_split", c->in, c->n_in, attrs, 2, s, dim_addc(d, lines, 1), items));
}

/* All tensors known: as Concat of them. */
static bool concat_items(OpContext *c, const SeqItems *items, uint32_t axis, bool fresh) {
  Value **parts = NEW_ARRAY(op_arena(c), Value *, items->n);
  for (size_t i = 0; i < items->n; i++) {
    parts[i] = fresh ? build_unsqueeze(&c->b, items->values[i], 1u << axis) : items->values[i];
    if (!parts[i]) return false;
  }
  return op_give(c, 0, build_concat(&c->b, parts, items->n, axis));
}

/* What is joined, where the model declares the result. */
static bool declared_parts(OpContext *c, bool fresh, SeqType *s) {
  const int32_t before = s->rank;
  const bool guess = s->guess;
  if (!declared_item(c, declared_output(c), s)) return false;
  if (s->guess == guess && s->rank == before) return true; /* nothing is declared */
  s->rank -= fresh;
  s->dims = NEW_ARRAY(op_arena(c), const Dim *, MAX_RANK);
  return true;
}

bool import_concat_from_sequence(OpContext *c) {
  SeqType s = *seq_in(c, 0);
  const SeqItems *items = op_in(c, 0)->items;
  const int64_t fresh = op_int(c, "new_axis", 0);
  uint32_t axis;
  if (fresh != 0 && fresh != 1) return op_fail(c, DIAG_E0304, "attribute 'new_axis' is %lld", (long long)fresh);
  if (items && items->n && s.rank == SEQ_RANK_MIXED) return op_fail(c, DIAG_E0402, "tensors of several ranks");
  if ((s.rank < 0 || s.guess) && !declared_parts(c, fresh != 0, &s)) return false;
  const uint32_t rank = (uint32_t)s.rank + (fresh ? 1 : 0);
  if (s.rank < 0 || rank < 1 || rank > MAX_RANK) return op_fail(c, DIAG_E0402, "tensors of rank %d", s.rank);
  if (!op_axis(c, op_int(c, "axis", 0), rank, &axis)) return false;
  if (items && items->n) return concat_items(c, items, axis, fresh != 0);
  const Dim *dims[MAX_RANK];
  for (uint32_t i = 0; i < rank; i++) dims[i] = i == axis ? NULL : s.dims[fresh && i > axis ? i - 1 : i];
  const RoutineInt attrs[] = {{"axis", axis}, {"new_axis", fresh}};
  return op_give(c, 0, take(c, "cn_op_seq_concat", c->in, 1, attrs, 2, s.dtype, rank, dims));
}

/* ---- optionals ---- */
static bool empty_optional(OpContext *c) {
  const OnnxType *t = op_type(c, "type");
  SeqType s;
  if (!t) return op_fail(c, DIAG_E0304, "neither a value nor the type of one is given");
  if (!import_seq_type(c->importer, &(OnnxType){.kind = ONNX_TYPE_OPTIONAL, .elem = t}, STR("type"), &s)) return false;
  return op_give(c, 0, construct(c, s, NULL, 0, s.form == SEQ_OPTIONAL_SEQUENCE));
}

bool import_optional(OpContext *c) {
  Value *v = op_in(c, 0);
  if (!v) return empty_optional(c);
  if (v->type.seq) return op_give(c, 0, retype(c, v, SEQ_OPTIONAL_SEQUENCE));
  SeqType s = build_seq_of(&v->type);
  s.form = SEQ_OPTIONAL;
  return op_give(c, 0, construct(c, s, &v, 1, false));
}

static bool is_optional(const Value *v) { return v->type.seq && v->type.seq->form != SEQ_SEQUENCE; }

bool import_optional_has_element(OpContext *c) {
  Builder *b = &c->b;
  if (!op_in(c, 0) || !is_optional(op_in(c, 0))) return op_give(c, 0, build_scalar_i(b, DT_b1, op_in(c, 0) != NULL));
  Value *n = length(c, op_in(c, 0), true);
  const bool sequence = seq_in(c, 0)->form == SEQ_OPTIONAL_SEQUENCE;
  return op_give(c, 0, n ? build_fn2(b, sequence ? SC_ge : SC_gt, n, build_scalar_i(b, DT_s64, 0)) : NULL);
}

bool import_optional_get_element(OpContext *c) {
  Value *v = op_in(c, 0);
  if (!is_optional(v)) return op_give(c, 0, v);
  if (v->type.seq->form == SEQ_OPTIONAL_SEQUENCE) return op_give(c, 0, retype(c, v, SEQ_SEQUENCE)); /* who reads it finds that it is not there */
  if (v->items && v->items->n) return op_give(c, 0, v->items->values[0]);
  return take_out(c, NULL);
}
