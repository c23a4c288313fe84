/* Attention: a product, a softmax over its rows and a product with that become one step, which never holds all of the scores. What was
 * fused behind the first product (scale, mask) is done to each tile of scores. */
#include "lower/lower_private.h"

#include "kernels/attention.h"

/* Three steps are as quick where all scores fit the first caches, quicker where a head has so few that what it begins with costs more. */
enum { FEW_SCORES = 1 << 14, FEW_OF_A_HEAD = 1 << 9, FEW_ROWS = 16 };

static bool known(const Dim *d) {
  int64_t v;
  return dim_is_const(d, &v) && v >= 0;
}

/* Whether a tile function can do the epilogue of a product that becomes `of`: over batch axes, then queries, then keys or what a value holds. */
static bool fits_tiles(const Program *p, const Epilogue *e, const PTensor *of, uint32_t n_batch) {
  if (of->rank != n_batch + 2) return false;
  const bool one = dim_is(of->dims[n_batch + 1], 1);
  for (uint32_t i = 0; i < e->expr.n; i++) {
    const ExprNode *x = &e->expr.nodes[i];
    if ((x->kind == EXPR_INDEX && x->axis < n_batch) || (x->kind == EXPR_DIM && !dim_is_const(x->dim, NULL))) return false;
  }
  for (uint32_t k = 0; k < e->n_loads; k++) {
    const Access *a = &e->loads[k];
    if (a->n_indirect || !dim_is(a->offset, 0) || dtype_rows[p->tensors.data[a->tensor].dtype].bits < 8) return false;
    if (!known(a->stride[n_batch + 1]) || (!known(a->stride[n_batch]) && (one || dim_is(a->stride[n_batch + 1], 0)))) return false;
    for (uint32_t j = 0; j <= n_batch; j++)
      if (a->stride[j]->lo < 0) return false;
  }
  return true;
}

static bool same_batches(const ContractStep *scores, const ContractStep *sum) {
  if (scores->n_batch != sum->n_batch) return false;
  for (uint32_t i = 0; i < scores->n_batch; i++)
    if (scores->batch[i] != sum->batch[i] || (scores->c_batch[i] != sum->a_batch[i] && !dim_is(sum->batch[i], 1))) return false;
  return true;
}

static bool all_f32(const Program *p, const Step *s) {
  if (((const ContractStep *)s->attr)->acc != DT_f32) return false;
  for (uint32_t k = 0; k < 2; k++)
    if (p->tensors.data[s->in[k]].dtype != DT_f32) return false;
  return p->tensors.data[s->out[0]].dtype == DT_f32 && s->in[2] == NO_TENSOR && s->in[3] == NO_TENSOR;
}

/* [queries][keys] of one product are softmax's rows and the other's left operand, dense. */
static bool fits(Lower *l, const Step *first, const ContractStep *scores, const SoftmaxStep *soft, const Step *last, const ContractStep *sum) {
  const PTensor *shapes[2] = {&l->p->tensors.data[first->out[0]], &l->p->tensors.data[last->out[0]]};
  DimCtx *c = l->p->dims;
  const Dim *of_a_head = dim_mul(c, scores->m, scores->n), *all = dim_mul(c, dim_product(c, scores->batch, scores->n_batch), of_a_head);
  const bool few = all->hi < FEW_SCORES || of_a_head->hi < FEW_OF_A_HEAD;
  if (few || soft->log || !dim_is(soft->inner, 1) || soft->n != scores->n || !same_batches(scores, sum)) return false;
  if (scores->thin || sum->thin) return false; /* what is fused packs keys and values */
  if (scores->b_packed || sum->b_packed || scores->c_m != scores->n || sum->m != scores->m || sum->k != scores->n) return false;
  if ((sum->a_m != scores->n && !dim_is(sum->m, 1)) || !dim_is(sum->a_k, 1)) return false;
  return fits_tiles(l->p, &scores->epilogue, shapes[0], scores->n_batch) && (!sum->epilogue.expr.n || fits_tiles(l->p, &sum->epilogue, shapes[1], sum->n_batch));
}

/* What a node of a tile function does with its score. */
typedef enum Course { APART, RISING, ELSE } Course; /* APART: does not look at it. RISING: never less of a greater one */

/* Whether it is a factor that keeps rounding errors small beside what tells a masked key from others. */
static bool is_positive(const ExprNode *n) {
  float f;
  if (n->kind != EXPR_CONST || n->type != DT_f32) return false;
  memcpy(&f, &n->bits, sizeof f);
  return f >= 0x1p-16f && f <= 0x1p16f;
}

static Course course_of(const Expr *e, const ExprNode *n, const Course *of) {
  const Course x = expr_node_arity(n) ? of[n->args[0]] : APART, y = expr_node_arity(n) > 1 ? of[n->args[1]] : APART, z = expr_node_arity(n) > 2 ? of[n->args[2]] : APART;
  if (n->kind == EXPR_INPUT) return n->operand ? APART : RISING;
  if (x == APART && y == APART && z == APART) return APART;
  if (n->kind != EXPR_FN || n->type != DT_f32 || x == ELSE || y == ELSE || z == ELSE) return ELSE;
  switch (n->fn) {
    case SC_add:
    case SC_max:
    case SC_min:
    case SC_tanh: return RISING;
    case SC_sub: return y == APART ? RISING : ELSE;
    case SC_mul: return is_positive(&e->nodes[n->args[0]]) || is_positive(&e->nodes[n->args[1]]) ? RISING : ELSE;
    case SC_div: return is_positive(&e->nodes[n->args[1]]) ? RISING : ELSE;
    case SC_select: return x == APART ? RISING : ELSE;
    default: return ELSE;
  }
}

/* Whether something beside the score decides what comes of it, which rises with it. */
static bool may_mask(Lower *l, const Expr *e) {
  Course *of = NEW_ARRAY(l->a, Course, e->n + 1);
  bool apart = false;
  for (uint32_t i = 0; i < e->n; i++) {
    of[i] = course_of(e, &e->nodes[i], of);
    apart = apart || e->nodes[i].kind == EXPR_INDEX || (e->nodes[i].kind == EXPR_INPUT && e->nodes[i].operand);
  }
  return e->n && apart && of[e->n - 1] == RISING;
}

/* Rows of several axes, heads that share keys and values and then their queries: all but the last become axes that count products. False where that
 * would leave few rows, or columns are several axes, too. */
static bool part_rows(Lower *l, ContractStep *s, const PTensor *out) {
  DimCtx *c = l->p->dims;
  const uint32_t more = out->rank < s->n_batch + 2 ? 0 : out->rank - s->n_batch - 2;
  if (!more) return true;
  const Dim *each = out->dims[out->rank - 2];
  if (each->hi < FEW_ROWS || out->dims[out->rank - 1] != s->n || dim_product(c, out->dims + s->n_batch, more + 1) != s->m) return false;
  const Dim *const *const old[] = {s->batch, s->a_batch, s->b_batch, s->c_batch};
  const Dim **all[4];
  for (int i = 0; i < 4; i++) {
    all[i] = NEW_ARRAY(l->a, const Dim *, s->n_batch + more);
    for (uint32_t j = 0; j < s->n_batch; j++) all[i][j] = old[i][j];
  }
  for (uint32_t j = s->n_batch + more; j-- > s->n_batch;) {
    all[0][j] = out->dims[j];
    all[1][j] = dim_mul(c, s->a_m, each);
    all[2][j] = c->zero;
    all[3][j] = dim_mul(c, s->c_m, each);
    each = dim_mul(c, each, out->dims[j]);
  }
  s->m = out->dims[out->rank - 2];
  s->n_batch += more;
  s->batch = all[0], s->a_batch = all[1], s->b_batch = all[2], s->c_batch = all[3];
  return true;
}

/* Floats of cn_attention_f32_scratch, as bytes. */
static const Dim *scratch_bytes(Lower *l, const ContractStep *scores, const ContractStep *sum) {
  DimCtx *c = l->p->dims;
  const Dim *nr = dim_const(c, target_tile(l->opt->target, "gemm_f32")->nr);
  const Dim *k = dim_mul(c, dim_mul(c, dim_ceildiv(c, scores->n, nr), nr), scores->k);
  const Dim *v = dim_mul(c, scores->n, dim_mul(c, dim_ceildiv(c, sum->n, nr), nr));
  return dim_mulc(c, dim_addc(c, dim_add(c, k, v), CN_ATTENTION_QUERIES * (CN_ATTENTION_KEYS + 2)), 4);
}

static Step attention_step(Lower *l, const Step *first, const SoftmaxStep *soft, const Step *last, const ContractStep *scores, const ContractStep *sum) {
  AttentionStep *a = NEW(l->a, AttentionStep);
  *a = (AttentionStep){*scores, *sum, first->out[0], may_mask(l, &scores->epilogue.expr), soft->safe};
  uint32_t n = 3, *in = NEW_ARRAY(l->a, uint32_t, 3 + first->n_in + last->n_in);
  in[0] = first->in[0];
  in[1] = first->in[1];
  in[2] = last->in[1];
  for (uint32_t k = 4; k < first->n_in; k++) in[n++] = first->in[k];
  for (uint32_t k = 4; k < last->n_in; k++) in[n++] = last->in[k];
  Step s = {.kind = STEP_ATTENTION, .n_in = n, .in = in, .n_out = 1, .out = last->out, .attr = a, .src = last->src};
  const Dim **dims = NEW(l->a, const Dim *);
  dims[0] = scratch_bytes(l, &a->scores, &a->sum);
  s.scratch = lower_temp(l, DT_u8, 1, dims, (Str){0});
  return s;
}

void lower_fuse_attention(Lower *l) {
  const Readers r = lower_readers(l);
  const size_t n = l->p->main.steps.n;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) {
    int32_t soft_at, first_at;
    Step *s = &l->p->main.steps.data[i];
    if (s->kind != STEP_CONTRACT) continue;
    const Step *soft = lower_only_maker(l, &r, s->in[0], STEP_SOFTMAX, &soft_at);
    const Step *first = soft ? lower_only_maker(l, &r, soft->in[0], STEP_CONTRACT, &first_at) : NULL;
    if (!first || !all_f32(l->p, first) || !all_f32(l->p, s)) continue;
    ContractStep scores = *(const ContractStep *)first->attr, sum = *(const ContractStep *)s->attr;
    if (!part_rows(l, &scores, &l->p->tensors.data[first->out[0]]) || !part_rows(l, &sum, &l->p->tensors.data[s->out[0]])) continue;
    if (!fits(l, first, &scores, soft->attr, s, &sum)) continue;
    gone[soft_at] = gone[first_at] = true;
    *s = attention_step(l, first, soft->attr, s, &scores, &sum);
  }
  lower_drop_steps(l, gone);
}
