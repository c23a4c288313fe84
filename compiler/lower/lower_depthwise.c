/* A depthwise convolution and the pointwise one that alone reads its result become one step, which computes the pixels of the former that it is
 * about to read: they stay in a cache, and in the thread that needs them. Not where the workspace would grow by more than a tenth. */
#include "lower/lower_blocked.h"
#include "lower/share.h"

static bool is_zero(const Dim *const *d, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!dim_is(d[i], 0)) return false;
  return true;
}

/* At usual sizes where they are open, as lower_blocked_computed has them. */
static size_t image_pixels(const PTensor *t) {
  size_t pixels = 1;
  int64_t n;
  for (uint32_t i = 2; i < 4; i++) pixels *= dim_eval(t->dims[i], NULL, &n) && n > 0 && n <= INT32_MAX ? (size_t)n : 0;
  return pixels;
}

/* Over blocks that are stored, by one driver: a second one would compute the pixels again. */
static bool is_pointwise(const Program *p, const Target *t, const Step *s) {
  const ConvStep *v = s->attr;
  const ConvAttr *a = &v->attr;
  if (!a->block || a->group != 1 || v->depthwise || v->winograd.side || a->slices.out || conv_depth(a) != 1) return false;
  for (uint32_t i = 0; i < a->n_spatial; i++)
    if (!dim_is(v->kernel[i], 1) || a->stride[i] != 1 || a->dilate_x[i] != 1) return false;
  if (p->tensors.data[s->in[0]].rank != 5 || !is_zero(a->pad_lo, a->n_spatial) || !is_zero(a->pad_hi, a->n_spatial)) return false;
  return lower_blocked_even(t, v, image_pixels(&p->tensors.data[s->out[0]])) != 0;
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
static int64_t buffer_bytes(const Lower *l, uint32_t tensor) {
  const PTensor *t = tensor == NO_TENSOR ? NULL : &l->p->tensors.data[tensor];
  return t && l->p->buffers.data[t->buffer].kind == BUF_ARENA ? lower_usual_bytes(t->dtype, t->rank, t->dims) : 0;
}

/* By step: bytes of the workspace that are in use while it runs, its scratch apart. */
static int64_t *live_bytes(const Lower *l, const Readers *r) {
  const Program *p = l->p;
  int64_t *bytes = NEW_ARRAY(l->a, int64_t, p->main.steps.n + 1);
  for (size_t b = 0; b < p->buffers.n; b++) {
    const Buffer *buffer = &p->buffers.data[b];
    if (buffer->kind != BUF_ARENA || r->first[b] < 0) continue;
    const int64_t own = buffer_bytes(l, r->tensor[b]);
    bytes[r->first[b]] += own;
    bytes[r->last[b] + 1] -= own;
  }
  for (size_t i = 1; i < p->main.steps.n; i++) bytes[i] += bytes[i - 1];
  return bytes;
}

/* What the workspace has at least: nests apart, which may write over what they read. */
static int64_t most_bytes(const Lower *l, const int64_t *live) {
  int64_t most = 0;
  for (size_t i = 0; i < l->p->main.steps.n; i++) {
    const Step *s = &l->p->main.steps.data[i];
    const int64_t bytes = live[i] + buffer_bytes(l, s->scratch);
    if (s->kind != STEP_NEST && bytes > most) most = bytes;
  }
  return most;
}

/* What is in use while the joined step runs: not the image any more, but what that is made of, and some pixels. live: at the step that reads the image. */
static int64_t joined_bytes(const Lower *l, const Readers *r, const Step *joined, int32_t first, int64_t live) {
  const ConvStep *v = joined->attr;
  const int64_t scratch = l->opt->shared ? 2 * share_computed_bytes(v, 2) : buffer_bytes(l, joined->scratch);
  const bool longer = r->last[l->p->tensors.data[joined->in[0]].buffer] == first;
  return live - buffer_bytes(l, v->before.image) + (longer ? buffer_bytes(l, joined->in[0]) : 0) + scratch;
}

static Step joined_step(Lower *l, const Step *first, const Step *last) {
  ConvStep *v = arena_dup(l->a, last->attr, sizeof *v);
  uint32_t *in = NEW_ARRAY(l->a, uint32_t, last->n_in + 2);
  Step s = *last;
  v->before = (ConvBefore){first->attr, first->out[0], last->n_in, last->n_in + 1};
  memcpy(in, last->in, last->n_in * sizeof *in);
  in[0] = first->in[0];
  in[v->before.weights] = first->in[1];
  in[v->before.bias] = first->in[2];
  s.in = in;
  s.n_in += 2;
  s.attr = v;
  const Dim **dims = NEW(l->a, const Dim *);
  in[1] = lower_blocked_computed(l, v, last->in[1], last->out[0]);
  dims[0] = dim_const(l->p->dims, (int64_t)(sizeof(float) * (v->before.fixed + v->before.most * v->before.pixel)));
  s.scratch = lower_temp(l, DT_u8, 1, dims, (Str){0});
  return s;
}

void lower_join_depthwise(Lower *l) {
  const Readers r = lower_readers(l);
  const size_t n = l->p->main.steps.n;
  const int64_t *live = live_bytes(l, &r), least = most_bytes(l, live), room = least + least / 10;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) {
    Step *s = &l->p->main.steps.data[i];
    int32_t at;
    if (s->kind != STEP_CONV || !is_pointwise(l->p, l->opt->target, s)) continue;
    const Step *first = lower_only_maker(l, &r, s->in[0], STEP_CONV, &at);
    if (!first || first->out[0] != s->in[0] || !is_movable(first)) continue; /* it may be read by rows of another length */
    const Step joined = joined_step(l, first, s);
    if (joined_bytes(l, &r, &joined, at, live[i]) > room) continue;
    gone[at] = true;
    *s = joined;
  }
  lower_drop_steps(l, gone);
}
