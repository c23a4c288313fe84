/* Steps that are kernels: products, convolution, pooling, composites and runtime functions. */
#include "lower/lower_blocked.h"
#include "lower/lower_integer.h"
#include "lower/scratch.h"
#include "lower/window.h"

#include "kernels/pack.h"
#include "kernels/split.h"
#include "kernels/thin.h"
#include "scalar_f16.h"

/* ---- products ------------------------------------------------------------------------------------------------------------------------- */
typedef struct Group { uint32_t axes[MAX_RANK], n; } Group; /* labels of one role, in the output's order */

/* One stride for several axes walked as one, or NULL. which: the operand's labels. */
static const Dim *group_stride(Lower *l, const PTensor *t, const uint8_t *labels, const Group *g, const Dim *const *extent) {
  DimCtx *c = l->p->dims;
  const Dim *stride = c->one, *expect = NULL;
  for (uint32_t i = g->n; i-- > 0;) {
    if (dim_is(extent[g->axes[i]], 1)) continue;
    const Dim *s = NULL, *size = NULL;
    for (uint32_t a = 0; a < t->rank; a++)
      if (labels[a] == g->axes[i]) s = t->strides[a], size = t->dims[a];
    if (!s || (expect && s != expect)) return NULL;
    if (!expect) stride = s;
    expect = dim_mul(c, s, size); /* its own name of a size that the call holds to the extent */
  }
  return expect ? stride : c->one;
}

static bool has_label(const uint8_t *labels, uint32_t rank, uint8_t label) {
  for (uint32_t a = 0; a < rank; a++)
    if (labels[a] == label) return true;
  return false;
}

static const Dim *group_extent(Lower *l, const Group *g, const Dim *const *extent) {
  const Dim *d = l->p->dims->one;
  for (uint32_t i = 0; i < g->n; i++) d = dim_mul(l->p->dims, d, extent[g->axes[i]]);
  return d;
}

typedef struct Operand {
  const Value *value;
  const uint8_t *labels;
  uint32_t tensor;
  uint8_t order[MAX_RANK]; /* labels as stored in `tensor` */
} Operand;

/* Stores the operand with its axes in the order batch, first, second, so that each group is one stride. */
static void reorder_operand(Lower *l, Operand *o, const Group *g[3], DiagPlace src) {
  const Type *type = &o->value->type;
  const Dim *dims[MAX_RANK];
  Affine index[MAX_RANK];
  uint32_t at = 0;
  for (int r = 0; r < 3; r++) {
    for (uint32_t i = 0; i < g[r]->n; i++) {
      for (uint32_t a = 0; a < type->rank; a++) {
        if (o->labels[a] != g[r]->axes[i]) continue;
        const Dim **coef = NEW_ARRAY(l->a, const Dim *, type->rank);
        for (uint32_t j = 0; j < type->rank; j++) coef[j] = j == at ? l->p->dims->one : l->p->dims->zero;
        index[a] = (Affine){l->p->dims->zero, coef};
        dims[at] = type->dims[a];
        o->order[at++] = o->labels[a];
      }
    }
  }
  Virt v = virt_view(l->p, lower_virt(l, o->value), type->rank, arena_dup(l->a, index, type->rank * sizeof *index), type->rank);
  const Dim **kept = arena_dup(l->a, dims, type->rank * sizeof *dims);
  o->tensor = lower_temp(l, type->dtype, type->rank, kept, (Str){0});
  lower_store(l, &v, type->rank, kept, o->tensor, src);
}

static void operand_strides(Lower *l, Operand *o, const Group *g[3], const Dim *const *extent, const Dim ***ret_batch, const Dim **ret_x,
                            const Dim **ret_y, DiagPlace src) {
  o->tensor = lower_window(l, o->value, src);
  memcpy(o->order, o->labels, o->value->type.rank);
  const PTensor *t = &l->p->tensors.data[o->tensor];
  if (!group_stride(l, t, o->order, g[1], extent) || !group_stride(l, t, o->order, g[2], extent)) reorder_operand(l, o, g, src);
  t = &l->p->tensors.data[o->tensor];
  *ret_x = group_stride(l, t, o->order, g[1], extent);
  *ret_y = group_stride(l, t, o->order, g[2], extent);
  *ret_batch = NEW_ARRAY(l->a, const Dim *, g[0]->n);
  for (uint32_t i = 0; i < g[0]->n; i++) {
    (*ret_batch)[i] = l->p->dims->zero;
    for (uint32_t a = 0; a < t->rank; a++)
      if (o->order[a] == g[0]->axes[i] && !dim_is(t->dims[a], 1)) (*ret_batch)[i] = t->strides[a];
  }
}

/* The product is stored in the order batch, m, n; the value is a view of it where the labels ask for another. */
static uint32_t contract_result(Lower *l, const Node *n, const Group *g[3], const Dim *const *extent) {
  const ContractAttr *attr = n->attr;
  const Value *out = n->out[0];
  uint8_t order[MAX_RANK];
  uint32_t at = 0;
  bool natural = true;
  for (int r = 0; r < 3; r++)
    for (uint32_t i = 0; i < g[r]->n; i++, at++) {
      order[at] = (uint8_t)g[r]->axes[i];
      natural = natural && order[at] == attr->out[at];
    }
  if (natural) return lower_result(l, out);
  const Dim **dims = NEW_ARRAY(l->a, const Dim *, at);
  Affine *index = NEW_ARRAY(l->a, Affine, at);
  for (uint32_t i = 0; i < at; i++) {
    dims[i] = extent[order[i]];
    const Dim **coef = NEW_ARRAY(l->a, const Dim *, at);
    for (uint32_t j = 0; j < at; j++) coef[j] = attr->out[j] == order[i] ? l->p->dims->one : l->p->dims->zero;
    index[i] = (Affine){l->p->dims->zero, coef};
  }
  uint32_t t = lower_temp(l, out->type.dtype, at, dims, out->name);
  Virt stored = virt_of_tensor(l->p, t), v = virt_view(l->p, &stored, at, index, at);
  lower_set_virt(l, out, &v);
  return t;
}

/* What was packed, in host memory, as a constant of one axis. */
static uint32_t lower_packed(Lower *l, DType t, size_t count, void *elements, Str name) {
  const Dim **dims = NEW(l->a, const Dim *);
  dims[0] = dim_const(l->p->dims, (int64_t)count);
  return lower_constant(l, t, 1, dims, tensor_take_host(l->a, t, count, elements), name);
}

/* The type of 16 bits that has all those numbers, or f32. */
static DType least_type(const float *x, size_t n) {
  bool f16 = true, bf16 = true;
  for (size_t i = 0; i < n && (f16 || bf16); i++) {
    const uint32_t bits = cn_bits_f32(x[i]);
    f16 = f16 && cn_bits_f32(cn_round_f16_f32(x[i])) == bits;
    bf16 = bf16 && (bits & 0xffffu) == 0;
  }
  return f16 ? DT_f16 : bf16 ? DT_bf16 : DT_f32;
}

/* The same in 16 bits, t, of all of whose elements it has. */
static uint32_t lower_packed_16(Lower *l, DType t, size_t count, const float *elements, Str name) {
  uint16_t *half = NEW_ARRAY(l->a, uint16_t, count);
  for (size_t i = 0; i < count; i++) half[i] = t == DT_f16 ? cn_cast_f32_f16(elements[i]) : cn_cast_f32_bf16(elements[i]);
  return lower_packed(l, t, count, half, name);
}

/* A constant second operand: its matrices, of a batch one behind the other. */
typedef struct Matrices {
  const float *from;
  int64_t k, n, b_k, b_n;
  int64_t extent[MAX_RANK], stride[MAX_RANK]; /* of the axes of the batch along which it has others; the rest are of one */
  size_t count;
} Matrices;

enum { REPEATED = 4, SMALL = 1 << 18 /* elements */ };

/* False where it is none, or is repeated so often by its view that its copies would be many times as much. */
static bool read_matrices(const Lower *l, const ContractStep *s, uint32_t tensor, Matrices *ret) {
  const PTensor *t = &l->p->tensors.data[tensor];
  const Buffer *b = &l->p->buffers.data[t->buffer];
  int64_t offset;
  if (b->kind != BUF_CONST || !dim_is_const(t->offset, &offset)) return false;
  if (!dim_is_const(s->k, &ret->k) || !dim_is_const(s->n, &ret->n) || !dim_is_const(s->b_k, &ret->b_k) || !dim_is_const(s->b_n, &ret->b_n) || ret->b_k < 0 || ret->b_n < 0) return false;
  ret->count = 1;
  for (uint32_t i = 0; i < s->n_batch; i++) {
    if (!dim_is_const(s->b_batch[i], &ret->stride[i])) return false;
    ret->extent[i] = 1;
    if (ret->stride[i] != 0 && (!dim_is_const(s->batch[i], &ret->extent[i]) || ret->extent[i] < 1 || !size_mul(ret->count, (size_t)ret->extent[i], &ret->count))) return false;
  }
  size_t all;
  if (!size_mul((size_t)ret->k, (size_t)ret->n, &all) || !size_mul(all, ret->count, &all) || all / REPEATED > b->data->n + SMALL) return false;
  ret->from = (const float *)tensor_host_elements(l->a, b->data) + offset;
  return true;
}

/* All of them in panels. */
static float *pack_matrices(Arena *a, const Matrices *m, uint32_t n_batch, size_t each, unsigned nr) {
  float *packed = NEW_ARRAY(a, float, m->count * each);
  for (size_t i = 0; i < m->count; i++) {
    int64_t at = 0, rest = (int64_t)i;
    for (uint32_t k = n_batch; k-- > 0; rest /= m->extent[k]) at += rest % m->extent[k] * m->stride[k];
    cn_pack_b_f32(m->from + at, (size_t)m->b_k, (size_t)m->b_n, (size_t)m->k, (size_t)m->n, nr, packed + i * each);
  }
  return packed;
}

/* Where the matrices of a batch lie once they are packed. */
static const Dim *const *packed_strides(Lower *l, const Matrices *m, uint32_t n_batch, size_t each) {
  const Dim **r = NEW_ARRAY(l->a, const Dim *, n_batch + 1);
  size_t stride = each;
  for (uint32_t i = n_batch; i-- > 0; stride *= (size_t)m->extent[i]) r[i] = m->extent[i] == 1 ? l->p->dims->zero : dim_const(l->p->dims, (int64_t)stride);
  return r;
}

/* A constant second operand is packed now; else the step packs it into scratch, whose size is returned. */
static const Dim *pack_operand(Lower *l, ContractStep *s, Operand *b) {
  const TargetTile *tile = target_tile(l->opt->target, "gemm_f32");
  Matrices m;
  if (!tile) return NULL;
  if (!read_matrices(l, s, b->tensor, &m)) return scratch_pack(l->p->dims, l->opt->target, s->k, s->n, false);
  const Buffer *buf = &l->p->buffers.data[l->p->tensors.data[b->tensor].buffer];
  const size_t each = cn_pack_size((size_t)m.k, (size_t)m.n, tile->nr), count = m.count * each;
  /* a step of one row waits for its weights: half of the bytes give the same sums */
  if (dim_is(s->m, 1) && l->opt->target->vector_bits >= 128) s->b_type = least_type(tensor_host_elements(l->a, buf->data), buf->data->n);
  Arena *a = s->b_type == DT_f32 ? l->a : arena_new(arena_door(l->a), 0);
  float *packed = pack_matrices(a, &m, s->n_batch, each, tile->nr);
  b->tensor = s->b_type == DT_f32 ? lower_packed(l, DT_f32, count, packed, buf->name) : lower_packed_16(l, s->b_type, count, packed, buf->name);
  if (a != l->a) arena_free(a);
  s->b_batch = packed_strides(l, &m, s->n_batch, each);
  s->b_packed = true;
  return NULL;
}

/* Constant columns, no more than a vector has lanes, for few rows, laid side by side along the depth: a panel's others would be idle. */
static bool lay_few(Lower *l, ContractStep *s, Operand *b) {
  enum { DEPTH = 4096 /* beyond that threads may part the product */ };
  const int64_t lanes = l->opt->target->vector_bits / 32;
  int64_t rows;
  Matrices m;
  if (lanes < 2 || s->n_batch || !dim_is(s->a_k, 1) || !dim_is_const(s->m, &rows) || rows > CN_THIN_ROWS) return false;
  if (!dim_is_const(s->n, &m.n) || m.n < 1 || m.n > lanes || !read_matrices(l, s, b->tensor, &m) || m.k > DEPTH) return false;
  float *columns = NEW_ARRAY(l->a, float, (size_t)(m.k * m.n));
  for (int64_t j = 0; j < m.n; j++)
    for (int64_t i = 0; i < m.k; i++) columns[j * m.k + i] = m.from[j * m.b_n + i * m.b_k];
  b->tensor = lower_packed(l, DT_f32, (size_t)(m.k * m.n), columns, l->p->buffers.data[l->p->tensors.data[b->tensor].buffer].name);
  s->b_k = l->p->dims->one;
  s->b_n = s->k;
  return true;
}

/* Whether a tile's rows share a set of the first cache, which has fewer ways for them on many processors (kernels/gemm_f32.h): then the
 * step copies them, part by part. */
static bool rows_collide(const Lower *l, const ContractStep *s) {
  enum { LINES = 8, FLOATS = 1024 };
  const TargetTile *tile = target_tile(l->opt->target, "gemm_f32");
  int64_t rows;
  return tile && tile->mr > LINES && dim_is(s->a_k, 1) && dim_is_const(s->a_m, &rows) && rows > 0 && rows % FLOATS == 0 &&
         !(dim_is_const(s->m, &rows) && rows <= LINES);
}

/* Whether the target multiplies by parts (amx/split_f32.h), for which the step has room, and the sizes may gain by it. */
static bool may_split(const Lower *l, const ContractStep *s) {
  const Dim *const sizes[] = {s->m, s->n, s->k};
  size_t known[3];
  for (int i = 0; i < 3; i++) {
    int64_t v;
    known[i] = dim_is_const(sizes[i], &v) ? (size_t)v : SIZE_MAX;
  }
  return target_tile(l->opt->target, "split_f32") && dim_is(s->a_k, 1) && cn_split_wins(known[0], known[1], known[2]);
}

/* Whether the second operand, which is not packed, is read as it lies: of vectors, by few rows. */
static Thin thin_product(const Lower *l, const ContractStep *s) {
  int64_t rows;
  if (s->b_packed || l->opt->target->vector_bits <= 32 || !dim_is_const(s->m, &rows) || rows > CN_THIN_ROWS) return THIN_NOT;
  return dim_is(s->b_k, 1) && dim_is(s->a_k, 1) ? THIN_DOTS : dim_is(s->b_n, 1) ? THIN_ROWS : THIN_NOT;
}

/* One value a column and block, [n][blocks], in panels. */
static uint32_t lower_block_values(Lower *l, const Value *v, size_t nr) {
  const float *from = tensor_host_elements(l->a, v->data);
  const size_t n = (size_t)v->type.dims[0]->value, blocks = (size_t)v->type.dims[1]->value, count = cn_pack_size(blocks, n, nr);
  float *packed = NEW_ARRAY(l->a, float, count);
  cn_pack_b_f32(from, 1, blocks, blocks, n, nr, packed);
  return lower_packed(l, DT_f32, count, packed, v->name);
}

/* Codes [n][k], packed as ONNX packs them, low bits first: a word of 32 bits for so many of one column as it holds, in panels. */
static uint32_t lower_codes_words(Lower *l, const Value *v, size_t nr) {
  const size_t n = (size_t)v->type.dims[0]->value, words = (size_t)v->type.dims[1]->value * dtype_rows[v->type.dtype].bits / 32, count = cn_pack_size(words, n, nr);
  uint32_t *packed = NEW_ARRAY(l->a, uint32_t, count);
  const uint8_t *from = v->data->bytes;
  for (size_t j = 0; j < n; j++)
    for (size_t w = 0; w < words; w++, from += 4)
      packed[(j / nr * words + w) * nr + j % nr] = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
  return lower_packed(l, DT_u32, count, packed, v->name);
}

/* Of one row (pass_legalise leaves no other). */
bool lower_codes(Lower *l, const Node *n) {
  const CodesAttr *attr = n->attr;
  const Value *w = n->in[1];
  const size_t nr = target_tile(l->opt->target, "gemm_f32")->nr;
  ContractStep *s = NEW(l->a, ContractStep);
  const Dim *one = l->p->dims->one, *const zero = l->p->dims->zero;
  *s = (ContractStep){.m = one, .n = w->type.dims[0], .k = w->type.dims[1], .a_m = w->type.dims[1], .a_k = one, .b_k = zero, .b_n = zero, .c_m = w->type.dims[0], .c_n = one,
                      .b_packed = true, .b_type = w->type.dtype, .block = (size_t)attr->block, .zero = attr->zero, .acc = DT_f32};
  const uint32_t x = lower_dense(l, n->in[0], n->src), y = lower_result(l, n->out[0]);
  const uint32_t in[4] = {x, lower_codes_words(l, w, nr), lower_block_values(l, n->in[2], nr), n->n_in > 3 ? lower_block_values(l, n->in[3], nr) : NO_TENSOR};
  (void)lower_step(l, STEP_CONTRACT, in, 4, &y, 1, s, dim_const(l->p->dims, n->in[2]->type.dims[1]->value * (int64_t)sizeof(float)), n->src);
  return true;
}

bool lower_contract(Lower *l, const Node *n) {
  const ContractAttr *attr = n->attr;
  const Value *a = n->in[0], *b = n->in[1], *out = n->out[0];
  const Dim *extent[256] = {NULL};
  Group batch = {.n = 0}, m = {.n = 0}, cols = {.n = 0}, k = {.n = 0};
  for (uint32_t i = 0; i < a->type.rank; i++)
    if (!extent[attr->a[i]] || dim_is(extent[attr->a[i]], 1)) extent[attr->a[i]] = a->type.dims[i];
  for (uint32_t i = 0; i < b->type.rank; i++)
    if (!extent[attr->b[i]] || dim_is(extent[attr->b[i]], 1)) extent[attr->b[i]] = b->type.dims[i];
  for (uint32_t i = 0; i < out->type.rank; i++) {
    uint8_t label = attr->out[i];
    bool in_a = has_label(attr->a, a->type.rank, label), in_b = has_label(attr->b, b->type.rank, label);
    Group *g = in_a && in_b ? &batch : in_a ? &m : &cols;
    g->axes[g->n++] = label;
  }
  for (uint32_t i = 0; i < a->type.rank; i++)
    if (!has_label(attr->out, out->type.rank, attr->a[i])) k.axes[k.n++] = attr->a[i];
  ContractStep *s = NEW(l->a, ContractStep);
  Operand oa = {.value = a, .labels = attr->a}, ob = {.value = b, .labels = attr->b};
  const Group *ga[3] = {&batch, &m, &k}, *gb[3] = {&batch, &k, &cols}, *gc[3] = {&batch, &m, &cols};
  const Dim **sa, **sb, **sc;
  operand_strides(l, &oa, ga, extent, &sa, &s->a_m, &s->a_k, n->src);
  operand_strides(l, &ob, gb, extent, &sb, &s->b_k, &s->b_n, n->src);
  uint32_t t = contract_result(l, n, gc, extent);
  const Dim **batch_extent = NEW_ARRAY(l->a, const Dim *, batch.n);
  sc = NEW_ARRAY(l->a, const Dim *, batch.n);
  for (uint32_t i = 0; i < batch.n; i++) {
    batch_extent[i] = extent[batch.axes[i]];
    sc[i] = l->p->tensors.data[t].strides[i];
  }
  s->n_batch = batch.n;
  s->batch = batch_extent;
  s->a_batch = sa;
  s->b_batch = sb;
  s->c_batch = sc;
  s->m = group_extent(l, &m, extent);
  s->n = group_extent(l, &cols, extent);
  s->k = group_extent(l, &k, extent);
  s->c_m = s->n;
  s->c_n = l->p->dims->one;
  s->acc = attr->acc;
  s->b_type = DT_f32;
  if (s->acc == DT_s32) return lower_integer_contract(l, n, s, oa.tensor, ob.tensor, t);
  const bool few = lay_few(l, s, &ob);
  const Dim *scratch = few ? NULL : pack_operand(l, s, &ob);
  s->thin = few ? THIN_FEW : thin_product(l, s);
  if (s->thin) scratch = NULL;
  s->split = s->b_packed && may_split(l, s);
  s->lines = s->split || (s->b_packed && rows_collide(l, s));
  if (s->lines) scratch = scratch_lines(l->p->dims, l->opt->target, s->m);
  uint32_t in[4] = {oa.tensor, ob.tensor, NO_TENSOR, NO_TENSOR};
  (void)lower_step(l, STEP_CONTRACT, in, 4, &t, 1, s, scratch, n->src);
  return true;
}

/* ---- kernels over dense operands ------------------------------------------------------------------------------------------------------- */
/* Weights of a convolution packed now if constant, else by the step, into the scratch whose size is returned. */
static const Dim *pack_weights(Lower *l, ConvStep *s, uint32_t *weights, const Dim *depth) {
  const TargetTile *tile = target_tile(l->opt->target, "gemm_f32");
  const PTensor *t = &l->p->tensors.data[*weights];
  const Buffer *buf = &l->p->buffers.data[t->buffer];
  const Dim *m = dim_floordiv(l->p->dims, t->dims[0], dim_const(l->p->dims, s->attr.group));
  int64_t rows, channels, taps;
  const Dim *kernel = dim_product(l->p->dims, t->dims + 2, s->attr.n_spatial);
  if (buf->kind == BUF_CONST && dim_is_const(m, &rows) && dim_is_const(t->dims[1], &channels) && dim_is_const(kernel, &taps) &&
      dim_is(t->offset, 0)) {
    size_t group = (size_t)s->attr.group, count = group * cn_pack_size((size_t)(channels * taps), (size_t)rows, tile->mr);
    float *packed = NEW_ARRAY(l->a, float, count);
    cn_pack_conv_f32(tensor_host_elements(l->a, buf->data), group, (size_t)rows, (size_t)channels, (size_t)taps, tile->mr, packed);
    s->kernel = t->dims + 2;
    *weights = lower_packed(l, DT_f32, count, packed, buf->name);
    s->w_packed = true;
    return l->p->dims->zero;
  }
  s->kernel = t->dims + 2;
  return dim_mulc(l->p->dims, scratch_pack(l->p->dims, l->opt->target, depth, m, true), s->attr.group);
}

bool lower_conv(Lower *l, const Node *n) {
  DimCtx *c = l->p->dims;
  ConvStep *s = NEW(l->a, ConvStep);
  s->attr = *(const ConvAttr *)n->attr;
  if (s->attr.acc == DT_s32) return lower_integer_conv(l, n, s);
  if (s->attr.block) return lower_blocked_conv(l, n, s);
  uint32_t in[5], out, n_spatial = s->attr.n_spatial;
  for (uint32_t k = 0; k < 5; k++) in[k] = k < n->n_in ? lower_dense(l, n->in[k], n->src) : NO_TENSOR;
  out = lower_result(l, n->out[0]);
  PTensor x = l->p->tensors.data[in[0]], w = l->p->tensors.data[in[1]], y = l->p->tensors.data[out];
  s->channels = w.dims[1];
  s->kernel = w.dims + 2;
  WindowDims win = window_dims(c, &x, &y, n_spatial, w.dims + 2, s->attr.stride, s->attr.dilation, s->attr.dilate_x, s->attr.pad_lo, s->attr.pad_hi);
  const Dim *depth = dim_mul(c, w.dims[1], dim_product(c, w.dims + 2, n_spatial)), *scratch;
  s->depthwise = dim_is(w.dims[1], 1) && s->attr.group > 1;
  for (uint32_t i = 0; i < n_spatial; i++) s->depthwise = s->depthwise && s->attr.dilate_x[i] == 1;
  if (!target_tile(l->opt->target, "gemm_f32")) scratch = c->zero;
  else if (s->depthwise) scratch = scratch_plane(c, l->opt->target, &win, false);
  else {
    s->pack_bytes = pack_weights(l, s, &in[1], depth);
    const Dim *m = dim_floordiv(c, w.dims[0], dim_const(c, s->attr.group)), *gathered = scratch_conv(c, l->opt->target, &win, depth);
    const Dim *own = window_direct(c, l->opt->target, &win, x.dims[0], s->attr.group, w.dims[1], m);
    const Dim *open = own ? NULL : window_open_direct(c, l->opt->target, &win, x.dims[0], s->attr.group, w.dims[1], m);
    s->direct = own || open;
    s->open = open != NULL;
    scratch = dim_add(c, own ? own : open ? dim_max(c, open, gathered) : gathered, s->pack_bytes);
  }
  (void)lower_step(l, STEP_CONV, in, 5, &out, 1, s, scratch, n->src);
  return true;
}

bool lower_pool(Lower *l, const Node *n) {
  DimCtx *c = l->p->dims;
  PoolStep *s = NEW(l->a, PoolStep);
  s->attr = *(const PoolAttr *)n->attr;
  uint32_t in = lower_dense(l, n->in[0], n->src), out = lower_result(l, n->out[0]);
  PTensor x = l->p->tensors.data[in], y = l->p->tensors.data[out];
  const Dim *kernel[3];
  for (uint32_t i = 0; i < s->attr.n_spatial; i++) kernel[i] = dim_const(c, s->attr.kernel[i]);
  WindowDims win = window_dims(c, &x, &y, s->attr.n_spatial, kernel, s->attr.stride, s->attr.dilation, NULL, s->attr.pad_lo, s->attr.pad_hi);
  const bool copies = target_tile(l->opt->target, "gemm_f32") && !s->attr.block;
  const Dim *scratch = copies ? scratch_plane(c, l->opt->target, &win, true) : NULL;
  (void)lower_step(l, STEP_POOL, &in, 1, &out, 1, s, scratch, n->src);
  return true;
}

/* R [D][G * H][H] as packed [H][G * H] a direction; GRU's gate h apart from z and r. */
static size_t pack_recurrence(const RecurrentStep *s, const float *r, float *dst) {
  size_t h = (size_t)s->attr.hidden, n = s->gates * h, first = s->gates == 3 ? 2 * h : n;
  size_t size = cn_pack_size(h, first, s->nr);
  if (dst) cn_pack_b_f32(r, 1, h, h, first, s->nr, dst);
  if (s->gates != 3) return size;
  if (dst) cn_pack_b_f32(r + 2 * h * h, 1, h, h, h, s->nr, dst + size);
  return size + cn_pack_size(h, h, s->nr);
}

bool lower_recurrent(Lower *l, const Node *n) {
  static const uint32_t gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4}, acts[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};
  DimCtx *c = l->p->dims;
  RecurrentStep *s = NEW(l->a, RecurrentStep);
  const TargetTile *tile = target_tile(l->opt->target, "gemm_f32");
  *s = (RecurrentStep){.attr = *(const RecurrentAttr *)n->attr, .nr = tile ? tile->nr : 0};
  s->gates = gates[s->attr.cell];
  s->n_acts = acts[s->attr.cell];
  s->packed = tile ? pack_recurrence(s, NULL, NULL) : 0;
  uint32_t in[8], out[3], dirs = s->attr.direction == 2 ? 2 : 1;
  for (uint32_t k = 0; k < 8; k++) in[k] = k < n->n_in ? lower_dense(l, n->in[k], n->src) : NO_TENSOR;
  for (uint32_t k = 0; k < 3; k++) out[k] = k < n->n_out && l->slots[n->out[k]->id].uses ? lower_result(l, n->out[k]) : NO_TENSOR;
  const Buffer *r = &l->p->buffers.data[l->p->tensors.data[in[2]].buffer];
  if (tile && r->kind == BUF_CONST && dim_is(l->p->tensors.data[in[2]].offset, 0)) {
    const float *src = tensor_host_elements(l->a, r->data);
    float *packed = NEW_ARRAY(l->a, float, s->packed * dirs);
    size_t h = (size_t)s->attr.hidden;
    for (uint32_t d = 0; d < dirs; d++) (void)pack_recurrence(s, src + d * s->gates * h * h, packed + d * s->packed);
    in[2] = lower_packed(l, DT_f32, s->packed * dirs, packed, r->name);
    s->r_packed = true;
  }
  const Dim *batch = l->p->tensors.data[in[0]].dims[1];
  const Dim *floats = dim_mulc(c, batch, (int64_t)(s->gates + 1 + 2) * s->attr.hidden); /* gates and reset, then states that are no outputs */
  if (!tile) floats = dim_mulc(c, floats, dirs); /* directions run side by side */
  if (!s->r_packed) floats = dim_addc(c, floats, (int64_t)s->packed);
  if (dim_is(floats, 0)) floats = dim_const(c, 1); /* no batch: the kernel takes it all the same */
  (void)lower_step(l, STEP_RECURRENT, in, 8, out, 3, s, dim_mulc(c, floats, 4), n->src);
  return true;
}

/* The sizes among the results' dimensions that nothing has decided so far. */
static void find_defs(Lower *l, ExternStep *s, const uint32_t *out, size_t n_out) {
  VEC(SymbolDef) defs = {0};
  for (uint32_t k = 0; k < n_out; k++) {
    const PTensor *t = out[k] == NO_TENSOR ? NULL : &l->p->tensors.data[out[k]];
    for (uint32_t a = 0; t && a < t->rank; a++) {
      const Dim *d = t->dims[a];
      if (d->kind != DIM_SYMBOL || d->symbol.origin != DIM_FROM_DATA || l->decided[d->symbol.index]) continue;
      vec_push(l->a, defs, ((SymbolDef){d, k, a}));
      lower_decides(l, d);
    }
  }
  s->defs = defs.data;
  s->n_defs = (uint32_t)defs.n;
}

void lower_routine(Lower *l, const ExternAttr *attr, const uint32_t *in, size_t n_in, const uint32_t *out, size_t n_out, DiagPlace src) {
  ExternStep *s = NEW(l->a, ExternStep);
  s->attr = *attr;
  l->p->makes_strings |= attr->strings;
  if (attr->measured) {
    ExternStep *measure = arena_dup(l->a, s, sizeof *s);
    measure->measures = arena_dup(l->a, out, n_out * sizeof *out);
    measure->n_measures = (uint32_t)n_out;
    find_defs(l, measure, out, n_out);
    (void)lower_step(l, STEP_EXTERN, in, n_in, NULL, 0, measure, NULL, src);
  }
  find_defs(l, s, out, n_out);
  (void)lower_step(l, STEP_EXTERN, in, n_in, out, n_out, s, s->attr.scratch, src);
}

bool lower_extern(Lower *l, const Node *n) {
  if (lower_try_trees(l, n)) return true;
  uint32_t *in = NEW_ARRAY(l->a, uint32_t, n->n_in), *out = NEW_ARRAY(l->a, uint32_t, n->n_out);
  for (uint32_t k = 0; k < n->n_in; k++) in[k] = lower_dense(l, n->in[k], n->src);
  for (uint32_t k = 0; k < n->n_out; k++) out[k] = n->out[k] ? lower_result(l, n->out[k]) : NO_TENSOR;
  lower_routine(l, n->attr, in, n->n_in, out, n->n_out, n->src);
  return true;
}

bool lower_symbols(Lower *l, const Node *n) {
  SymbolsStep *s = NEW(l->a, SymbolsStep);
  int64_t count = 0;
  if (!dim_is_const(type_count(l->ir, &n->in[0]->type), &count)) return lower_unsupported(l, n, "how many sizes a tensor holds must be known");
  *s = (SymbolsStep){((const SymbolsAttr *)n->attr)->symbols, (size_t)count};
  uint32_t *in = NEW_ARRAY(l->a, uint32_t, 1);
  in[0] = lower_dense(l, n->in[0], n->src);
  for (int64_t k = 0; k < count; k++) lower_decides(l, s->symbols[k]);
  (void)lower_step(l, STEP_SYMBOLS, in, 1, NULL, 0, s, NULL, n->src);
  return true;
}
