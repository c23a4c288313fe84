/* A depthwise convolution over blocks that alone reads a copy of an image, or whose result a copy alone reads, does without the copy where the other side of
 * it has all channels of a pixel side by side, as transformers have (tokens): its kernel goes from pixel to pixel of both (kernels/tokens_f32.h). */
#include "lower/copies.h"
#include "lower/window.h"

enum { BLOCK = 1, HEIGHT, WIDTH, LANE }; /* [image][block][height][width][lane] */

/* ---- what the kernel takes ---- */
/* Pixels whose rows follow one another, each with its lanes side by side. */
static bool has_pixels(const CopyLayout *l, const int64_t *dims) {
  const int64_t pixel = dims[WIDTH] > 1 ? l->stride[WIDTH] : l->stride[HEIGHT];
  return l->stride[LANE] == 1 && pixel >= dims[LANE] && (dims[WIDTH] < 2 || dims[HEIGHT] < 2 || l->stride[HEIGHT] == dims[WIDTH] * pixel);
}

/* The same where all channels of a pixel lie side by side, too: what follows the convolution is done to them at once. */
static bool has_tokens(const CopyLayout *l, const int64_t *dims) { return has_pixels(l, dims) && (dims[BLOCK] < 2 || l->stride[BLOCK] == dims[LANE]); }

/* Whether the target has the step's kernel for pixels that lie apart. */
static bool has_kernel(Lower *l, const Step *s) {
  static const char *const general = "cn_tokens_depthwise_f32";
  const Program *p = l->p;
  const ConvStep *v = s->attr;
  if (s->kind != STEP_CONV || !v->attr.block || !v->depthwise || v->attr.slices.out || p->tensors.data[s->in[0]].rank != COPY_AXES) return false;
  const PTensor *x = &p->tensors.data[s->in[0]], *y = &p->tensors.data[s->out[0]];
  const WindowDims w = window_blocked_dims(p->dims, x, y, v);
  int64_t taps;
  if (strcmp(window_driver(l->opt->target, general, &w), general) == 0 || !dim_is_const(w.kernel[2], &taps)) return false;
  const BlockedWindow window = window_blocked(p->dims, &w, x->dims[0], 1, p->dims->one, p->dims->one);
  return !window.open && cn_blocked_tiled_window(&window.most, (size_t)taps, window.most.stride[2]);
}

/* ---- the step ---- */
typedef struct Tokens {
  Lower *l;
  const Readers *readers;
  size_t at;            /* the step */
  bool *gone;
  int64_t in_dims[COPY_AXES], out_dims[COPY_AXES];
  CopyLayout in, out;   /* as they would be */
  int32_t made[COPY_AXES]; /* copies that made the input, n_made of them */
  uint32_t n_made;
  int32_t taken;        /* the copy that reads the result, or -1 */
} Tokens;

static bool writes(const Program *p, size_t from, size_t to, uint32_t buffer) {
  for (size_t i = from; i < to; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_out; k++)
      if (s->out[k] != NO_TENSOR && p->tensors.data[s->out[k]].buffer == buffer) return true;
  }
  return false;
}

/* The input as it lies ahead of copies that nobody else reads. */
static void find_input(Tokens *t) {
  const Program *p = t->l->p;
  const Step *s = &p->main.steps.data[t->at];
  uint32_t reads = copy_own_reads(p, s, t->in.buffer);
  while (t->n_made < COPY_AXES) {
    const int32_t w = t->readers->writer[t->in.buffer];
    Copy c;
    CopyLayout before = t->in;
    if (w < 0 || t->gone[w] || p->buffers.data[t->in.buffer].kind != BUF_ARENA || t->readers->reads[t->in.buffer] != reads) return;
    if (!copy_of(p, &p->main.steps.data[w], &c) || !copy_through(&c, &c.to, &c.from, t->in_dims, &before) || !has_pixels(&before, t->in_dims)) return;
    if (writes(p, (size_t)w, t->at, before.buffer)) return;
    t->made[t->n_made++] = w;
    t->in = before;
    reads = 1;
  }
}

/* The result as it lies behind a copy that alone reads it. */
static void find_output(Tokens *t) {
  const Program *p = t->l->p;
  if (t->readers->writer[t->out.buffer] != (int32_t)t->at || p->buffers.data[t->out.buffer].kind != BUF_ARENA || t->readers->reads[t->out.buffer] != 1) return;
  for (size_t i = t->at + 1; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    Copy c;
    CopyLayout behind = t->out;
    if (!copy_own_reads(p, s, t->out.buffer)) continue;
    if (!copy_of(p, s, &c) || copy_elements(c.extent, c.n) != copy_elements(t->out_dims, COPY_AXES)) return;
    if (!copy_through(&c, &c.from, &c.to, t->out_dims, &behind) || !has_tokens(&behind, t->out_dims)) return;
    if (dim_has_data(p->buffers.data[behind.buffer].n)) return; /* there is no such buffer before its size is decided */
    if (behind.buffer == t->in.buffer || copy_touches(p, t->at + 1, i, behind.buffer, t->gone)) return;
    t->taken = (int32_t)i;
    t->out = behind;
    return;
  }
}

/* Whether load k of the epilogue lies as the result does. in: the input's layout, for loads of that. */
static bool load_lies_so(const Tokens *t, const Access *a, const CopyLayout *in, const CopyLayout *out) {
  const Program *p = t->l->p;
  const Step *s = &p->main.steps.data[t->at];
  int64_t stride[COPY_AXES];
  if (a->n_indirect || !dim_is(a->offset, 0) || !copy_known(a->stride, COPY_AXES, stride)) return false;
  const bool own = in && a->tensor == s->in[0];
  for (int d = 0; d < COPY_AXES; d++)
    if (t->out_dims[d] > 1 && (own ? in->stride[d] : stride[d]) != out->stride[d]) return false;
  return true;
}

/* Whether a load of the epilogue is of the step's input, element by element, which the two may share. */
static bool loads_input(const Tokens *t) {
  const Step *s = &t->l->p->main.steps.data[t->at];
  const Epilogue *e = &((const ConvStep *)s->attr)->epilogue;
  for (uint32_t k = 0; k < e->n_loads; k++)
    if (t->l->p->tensors.data[e->loads[k].tensor].buffer == t->l->p->tensors.data[s->in[0]].buffer) return true;
  return false;
}

static bool loads_lie_so(const Tokens *t, bool moved) {
  const Step *s = &t->l->p->main.steps.data[t->at];
  const Epilogue *e = &((const ConvStep *)s->attr)->epilogue;
  for (uint32_t k = 0; k < e->n_loads; k++)
    if (!load_lies_so(t, &e->loads[k], moved ? &t->in : NULL, &t->out)) return false;
  return true;
}

/* The input's copies go. */
static void move_input(Tokens *t) {
  Lower *l = t->l;
  Step *s = &l->p->main.steps.data[t->at];
  ConvStep *v = arena_dup(l->a, s->attr, sizeof *v);
  const uint32_t old = s->in[0], new = copy_moved(l, old, &t->in);
  uint32_t *in = arena_dup(l->a, s->in, s->n_in * sizeof *in);
  Access *loads = arena_dup(l->a, v->epilogue.loads, v->epilogue.n_loads * sizeof *loads);
  for (uint32_t k = 0; k < s->n_in; k++)
    if (in[k] == old) in[k] = new;
  for (uint32_t k = 0; k < v->epilogue.n_loads; k++)
    if (loads[k].tensor == old) loads[k].tensor = new, loads[k].stride = l->p->tensors.data[new].strides;
  for (uint32_t k = 0; k < t->n_made; k++) t->gone[t->made[k]] = true;
  v->epilogue.loads = loads;
  s->attr = v;
  s->in = in;
}

static void move_output(Tokens *t) {
  Step *s = &t->l->p->main.steps.data[t->at];
  uint32_t *out = arena_dup(t->l->a, s->out, s->n_out * sizeof *out);
  out[0] = copy_moved(t->l, out[0], &t->out);
  s->out = out;
  t->gone[t->taken] = true;
}

static void free_of_copies(Lower *l, const Readers *r, size_t at, bool *gone) {
  const Step *s = &l->p->main.steps.data[at];
  if (!has_kernel(l, s)) return;
  const PTensor *x = &l->p->tensors.data[s->in[0]], *y = &l->p->tensors.data[s->out[0]];
  Tokens t = {.l = l, .readers = r, .at = at, .gone = gone, .taken = -1};
  if (!copy_layout(x, &t.in) || !copy_layout(y, &t.out) || !copy_known(x->dims, COPY_AXES, t.in_dims) || !copy_known(y->dims, COPY_AXES, t.out_dims)) return;
  find_input(&t);
  find_output(&t);
  bool in = t.n_made > 0, out = t.taken >= 0 && loads_lie_so(&t, in);
  if (in && !out && loads_input(&t)) in = false, out = t.taken >= 0 && loads_lie_so(&t, false);
  if (in) move_input(&t);
  if (out) move_output(&t);
}

void lower_move_depthwise(Lower *l) {
  const Readers r = lower_readers(l);
  const size_t n = l->p->main.steps.n;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) free_of_copies(l, &r, i, gone);
  lower_drop_steps(l, gone);
}
