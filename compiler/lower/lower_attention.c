/* Attention: a product, a softmax over its rows and a product with that become one step, which never holds all of the scores. What was
 * fused behind the first product (scale, mask) is done to each tile of scores. */
#include "lower/lower_private.h"

#include "kernels/attention.h"

/* Three steps are as quick where all scores fit the first caches, quicker where a head has so few that what it begins with costs more. */
enum { FEW_SCORES = 1 << 14, FEW_OF_A_HEAD = 1 << 9 };

static bool known(const Dim *d) {
  int64_t v;
  return dim_is_const(d, &v) && v >= 0;
}

/* Whether a tile function can do the epilogue: over batch axes, then queries, then keys. */
static bool fits_tiles(const Program *p, const Epilogue *e, const PTensor *scores, uint32_t n_batch) {
  if (scores->rank != n_batch + 2) return false;
  for (uint32_t i = 0; i < e->expr.n; i++)
    if (e->expr.nodes[i].kind == EXPR_INDEX || e->expr.nodes[i].kind == EXPR_DIM) return false;
  for (uint32_t k = 0; k < e->n_loads; k++) {
    const Access *a = &e->loads[k];
    if (a->n_indirect || !dim_is(a->offset, 0) || dtype_rows[p->tensors.data[a->tensor].dtype].bits < 8) return false;
    for (uint32_t j = 0; j < scores->rank; j++)
      if (!known(a->stride[j])) return false;
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
static bool fits(Lower *l, const Step *first, const SoftmaxStep *soft, const ContractStep *sum) {
  const ContractStep *scores = first->attr;
  DimCtx *c = l->p->dims;
  const Dim *of_a_head = dim_mul(c, scores->m, scores->n), *all = dim_mul(c, dim_product(c, scores->batch, scores->n_batch), of_a_head);
  const bool few = all->hi < FEW_SCORES || of_a_head->hi < FEW_OF_A_HEAD;
  if (few || soft->log || !dim_is(soft->inner, 1) || soft->n != scores->n || !same_batches(scores, sum)) return false;
  if (scores->thin || sum->thin) return false; /* what is fused packs keys and values */
  if (scores->b_packed || sum->b_packed || scores->c_m != scores->n || sum->m != scores->m || sum->k != scores->n) return false;
  if ((sum->a_m != scores->n && !dim_is(sum->m, 1)) || !dim_is(sum->a_k, 1) || sum->epilogue.expr.n) return false;
  return fits_tiles(l->p, &scores->epilogue, &l->p->tensors.data[first->out[0]], scores->n_batch);
}

/* Floats of cn_attention_f32_scratch, as bytes. */
static const Dim *scratch_bytes(Lower *l, const ContractStep *scores, const ContractStep *sum) {
  DimCtx *c = l->p->dims;
  const Dim *nr = dim_const(c, target_tile(l->opt->target, "gemm_f32")->nr);
  const Dim *k = dim_mul(c, dim_mul(c, dim_ceildiv(c, scores->n, nr), nr), scores->k);
  const Dim *v = dim_mul(c, scores->n, dim_mul(c, dim_ceildiv(c, sum->n, nr), nr));
  return dim_mulc(c, dim_addc(c, dim_add(c, k, v), CN_ATTENTION_QUERIES * (CN_ATTENTION_KEYS + 2)), 4);
}

static Step attention_step(Lower *l, const Step *first, const Step *last) {
  AttentionStep *a = NEW(l->a, AttentionStep);
  *a = (AttentionStep){*(const ContractStep *)first->attr, *(const ContractStep *)last->attr, first->out[0]};
  uint32_t n = 3, *in = NEW_ARRAY(l->a, uint32_t, 3 + first->n_in);
  in[0] = first->in[0];
  in[1] = first->in[1];
  in[2] = last->in[1];
  for (uint32_t k = 4; k < first->n_in; k++) in[n++] = first->in[k];
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
    if (!first || !all_f32(l->p, first) || !all_f32(l->p, s) || !fits(l, first, soft->attr, s->attr)) continue;
    gone[soft_at] = gone[first_at] = true;
    *s = attention_step(l, first, s);
  }
  lower_drop_steps(l, gone);
}
