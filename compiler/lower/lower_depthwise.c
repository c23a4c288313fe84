/* A depthwise convolution and the pointwise one that alone reads its result become one step, which computes the pixels of the former that it is
 * about to read: they stay in a cache, and in the thread that needs them. Not where the workspace would grow by more than a tenth. */
#include "kernels/blocked.h"
#include "lower/lower_blocked.h"
#include "lower/share.h"

static bool is_zero(const Dim *const *d, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!dim_is(d[i], 0)) return false;
  return true;
}

/* At usual sizes where they are open. */
static size_t image_pixels(const PTensor *t) {
  size_t pixels = 1;
  int64_t n;
  for (uint32_t i = 2; i < 4; i++) pixels *= dim_eval(t->dims[i], NULL, &n) && n > 0 && n <= INT32_MAX ? (size_t)n : 0;
  return pixels;
}

/* Blocks at a time of a pointwise convolution over blocks that are stored, by one driver, since a second one would compute the pixels again; 0: it is none. */
static uint32_t pointwise_width(const Program *p, const Target *t, const Step *s) {
  const ConvStep *v = s->attr;
  const ConvAttr *a = &v->attr;
  if (s->kind != STEP_CONV || !a->block || a->group != 1 || v->depthwise || v->winograd.side || a->slices.out || conv_depth(a) != 1) return 0;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!dim_is(v->kernel[i], 1) || a->stride[i] != 1 || a->dilate_x[i] != 1) return 0;
  if (p->tensors.data[s->in[0]].rank != 5 || !is_zero(a->pad_lo, a->n_spatial) || !is_zero(a->pad_hi, a->n_spatial)) return 0;
  return lower_blocked_even(t, v, image_pixels(&p->tensors.data[s->out[0]]));
}

/* Whether threads part its outputs, not its pixels: they would all compute all pixels. */
static bool is_by_outputs(const Lower *l, const Step *s) {
  const ConvStep *v = s->attr;
  int64_t channels;
  const bool known = dim_is_const(v->channels, &channels);
  const cn_window w = {.c = known ? (size_t)channels : 0, .in = {1, 1, image_pixels(&l->p->tensors.data[s->out[0]])}, .kernel = {1, 1, 1}};
  return l->opt->shared && cn_blocked_by_outputs(&w, CN_BLOCKED_BLOCKS, v->most.blocks + v->rest.blocks, (size_t)v->attr.block);
}

/* What follows it can be done wherever its pixels lie. */
static bool is_movable(const Step *s) {
  const ConvStep *v = s->attr;
  const Epilogue *e = &v->epilogue;
  if (!v->depthwise || !v->attr.block || v->attr.slices.out || e->n_loads) return false;
  for (uint32_t i = 0; i < e->expr.n; i++)
    if (e->expr.nodes[i].kind == EXPR_INDEX || e->expr.nodes[i].kind == EXPR_DIM) return false;
  return true;
}

/* ---- memory ---- */
static int64_t usual_bytes(const Program *p, uint32_t tensor) {
  const PTensor *t = &p->tensors.data[tensor];
  return lower_usual_bytes(t->dtype, t->rank, t->dims);
}

/* What the workspace has at least: nests apart, which may write over what they read. */
static int64_t most_bytes(const Program *p, const int64_t *live) {
  int64_t most = 0;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    const int64_t bytes = live[i] + (s->scratch == NO_TENSOR ? 0 : usual_bytes(p, s->scratch));
    if (s->kind != STEP_NEST && bytes > most) most = bytes;
  }
  return most;
}

/* Whether it is in use at step i or later. */
static bool is_used_from(const Program *p, uint32_t tensor, size_t i) {
  const uint32_t buffer = p->tensors.data[tensor].buffer;
  for (; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++)
      if (s->in[k] != NO_TENSOR && p->tensors.data[s->in[k]].buffer == buffer) return true;
  }
  return false;
}

/* What is in use while step i computes the image as it goes: not that any more, but what it is made of, and some pixels. live: as it is now. */
static int64_t joined_bytes(const Lower *l, const Step *joined, size_t i, int64_t live) {
  const Program *p = l->p;
  const ConvStep *v = joined->attr;
  const int64_t scratch = l->opt->shared ? 2 * share_computed_bytes(v, 2) : share_computed_bytes(v, 1);
  const bool longer = p->buffers.data[p->tensors.data[joined->in[0]].buffer].kind == BUF_ARENA && !is_used_from(p, joined->in[0], i);
  return live - usual_bytes(p, v->before.image) + (longer ? usual_bytes(p, joined->in[0]) : 0) + scratch;
}

/* ---- the step ---- */
/* Without its scratch. */
static Step joined_step(Lower *l, const Step *first, const Step *last, uint32_t wide) {
  ConvStep *v = arena_dup(l->a, last->attr, sizeof *v);
  uint32_t *in = NEW_ARRAY(l->a, uint32_t, last->n_in + 2);
  Step s = *last;
  v->before = (ConvBefore){first->attr, first->out[0], last->n_in, last->n_in + 1};
  memcpy(in, last->in, last->n_in * sizeof *in);
  in[0] = first->in[0];
  in[1] = lower_blocked_computed(l, v, wide, last->in[1], last->out[0]);
  in[v->before.weights] = first->in[1];
  in[v->before.bias] = first->in[2];
  s.in = in;
  s.n_in += 2;
  s.attr = v;
  return s;
}

static uint32_t scratch_of(Lower *l, const ConvStep *v) {
  const Dim **dims = NEW(l->a, const Dim *);
  dims[0] = dim_const(l->p->dims, share_computed_bytes(v, 1));
  return lower_temp(l, DT_u8, 1, dims, (Str){0});
}

void lower_join_depthwise(Lower *l) {
  const Readers r = lower_readers(l);
  const size_t n = l->p->main.steps.n;
  const int64_t *live = share_live_bytes(l->a, l->p, usual_bytes), least = most_bytes(l->p, live), room = least + least / 10;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) {
    Step *s = &l->p->main.steps.data[i];
    int32_t at;
    const uint32_t wide = pointwise_width(l->p, l->opt->target, s);
    const Step *first = wide ? lower_only_maker(l, &r, s->in[0], STEP_CONV, &at) : NULL;
    if (!first || is_by_outputs(l, s) || first->out[0] != s->in[0] || !is_movable(first)) continue; /* it may be read by rows of another length */
    const Step joined = joined_step(l, first, s, wide);
    if (joined_bytes(l, &joined, i, live[i]) > room) continue;
    gone[at] = true;
    *s = joined;
    s->scratch = scratch_of(l, joined.attr);
  }
  lower_drop_steps(l, gone);
}
