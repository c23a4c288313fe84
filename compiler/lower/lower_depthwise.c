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
  return p->tensors.data[s->in[0]].rank == 5 && lower_blocked_even(t, v, image_pixels(&p->tensors.data[s->out[0]])) && is_zero(a->pad_lo, a->n_spatial) && is_zero(a->pad_hi, a->n_spatial);
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
/* Of the workspace, at usual sizes where they are open. */
static int64_t stored_bytes(const Program *p, uint32_t tensor) {
  const PTensor *t = tensor == NO_TENSOR ? NULL : &p->tensors.data[tensor];
  int64_t bytes, n;
  if (!t || p->buffers.data[t->buffer].kind != BUF_ARENA) return 0;
  bytes = dtype_rows[t->dtype].bits / 8;
  for (uint32_t i = 0; i < t->rank && bytes < INT64_C(1) << 40; i++)
    if (dim_eval(t->dims[i], NULL, &n) && n < INT32_MAX) bytes *= n;
  return bytes;
}

static int64_t step_bytes(const Program *p, const Step *s) {
  int64_t bytes = stored_bytes(p, s->scratch);
  for (uint32_t k = 0; k < s->n_in; k++) bytes += stored_bytes(p, s->in[k]);
  for (uint32_t k = 0; k < s->n_out; k++) bytes += stored_bytes(p, s->out[k]);
  return bytes;
}

/* What the workspace has at least. */
static int64_t most_step_bytes(const Program *p) {
  int64_t most = 0;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const int64_t bytes = step_bytes(p, &p->main.steps.data[i]);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* The image itself is not stored any more, but its input, the result and some pixels are at once. */
static int64_t joined_bytes(const Lower *l, const Step *joined) {
  const int64_t scratch = stored_bytes(l->p, joined->scratch), whole = step_bytes(l->p, joined);
  return l->opt->shared ? whole - scratch + 2 * share_computed_bytes(joined->attr, 2) : whole;
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
  const int64_t least = most_step_bytes(l->p), room = least + least / 10;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) {
    Step *s = &l->p->main.steps.data[i];
    int32_t at;
    if (s->kind != STEP_CONV || !is_pointwise(l->p, l->opt->target, s)) continue;
    const Step *first = lower_only_maker(l, &r, s->in[0], STEP_CONV, &at);
    if (!first || !is_movable(first)) continue;
    const Step joined = joined_step(l, first, s);
    if (joined_bytes(l, &joined) > room) continue;
    gone[at] = true;
    *s = joined;
  }
  lower_drop_steps(l, gone);
}
