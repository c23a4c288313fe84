/* A depthwise convolution over blocks that alone reads a copy of an image, or whose result a copy alone reads, does without the copy where the other side of
 * it has all channels of a pixel side by side, as transformers have (tokens): its kernel goes from pixel to pixel of both (kernels/tokens_f32.h). */
#include "lower/lower_private.h"
#include "lower/window.h"

enum { AXES = 5, BLOCK = 1, HEIGHT, WIDTH, LANE }; /* [image][block][height][width][lane] */

/* Where the elements of a tensor of AXES axes, or those of one side of a copy, lie in a buffer; all in elements. */
typedef struct Layout {
  uint32_t buffer;
  int64_t offset, stride[AXES];
} Layout;

static bool known(const Dim *d, int64_t *ret) { return dim_is_const(d, ret) && *ret >= 0 && *ret <= INT32_MAX; }

static bool known_all(const Dim *const *d, uint32_t n, int64_t *ret) {
  for (uint32_t i = 0; i < n; i++)
    if (!known(d[i], &ret[i])) return false;
  return true;
}

static bool layout_of(const PTensor *t, Layout *ret) {
  ret->buffer = t->buffer;
  return t->rank == AXES && known(t->offset, &ret->offset) && known_all(t->strides, AXES, ret->stride);
}

/* ---- copies ---- */
typedef struct Copy {
  uint32_t n; /* axes */
  int64_t extent[AXES];
  Layout from, to;
} Copy;

static bool side_of(const Program *p, const Access *a, uint32_t n, Layout *ret) {
  const PTensor *t = &p->tensors.data[a->tensor];
  int64_t within, access;
  if (a->n_indirect || t->dtype != DT_f32 || !known(t->offset, &within) || !known(a->offset, &access) || !known_all(a->stride, n, ret->stride)) return false;
  ret->buffer = t->buffer;
  ret->offset = within + access;
  return true;
}

/* Whether a step is a nest that copies f32 elements. */
static bool copy_of(const Program *p, const Step *s, Copy *ret) {
  const Nest *n = s->attr;
  if (s->kind != STEP_NEST || n->mode != NEST_MAP || n->n_loads != 1 || n->map.n != 1 || n->n_axes > AXES) return false;
  if (n->map.nodes[0].kind != EXPR_INPUT || !known_all(n->extent, n->n_axes, ret->extent)) return false;
  ret->n = n->n_axes;
  return side_of(p, &n->loads[0], ret->n, &ret->from) && side_of(p, &n->store, ret->n, &ret->to);
}

/* The copy's axis that a stride of `near` goes along, with the largest step; n: none. */
static uint32_t axis_along(const Copy *c, const Layout *near, int64_t stride) {
  uint32_t best = c->n;
  for (uint32_t j = 0; j < c->n; j++) {
    if (c->extent[j] < 2 || near->stride[j] < 1 || stride % near->stride[j] != 0) continue;
    if (best == c->n || near->stride[j] > near->stride[best]) best = j;
  }
  return best;
}

/* Adds the places of the copy that an offset from near's first element comes from; false if it comes from none. at: by axis, how many more places are seen
 * from there on. */
static bool offset_through(const Copy *c, const Layout *near, const Layout *far, int64_t offset, const int64_t *at, int64_t *ret) {
  bool done[AXES] = {false};
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t j = c->n;
    for (uint32_t k = 0; k < c->n; k++)
      if (!done[k] && (j == c->n || near->stride[k] > near->stride[j])) j = k;
    done[j] = true;
    if (near->stride[j] < 1 || offset < 0) continue;
    const int64_t room = c->extent[j] - 1 - at[j], places = offset / near->stride[j], n = places < room ? places : room;
    offset -= n * near->stride[j];
    *ret += n * far->stride[j];
  }
  return offset == 0;
}

/* A tensor's layout on the near side of a copy as one on the far side. dims: the tensor's. */
static bool through(const Copy *c, const Layout *near, const Layout *far, const int64_t *dims, Layout *layout) {
  int64_t at[AXES] = {0};
  Layout r = {.buffer = far->buffer, .offset = far->offset};
  for (int d = 0; d < AXES; d++) {
    if (dims[d] < 2) continue;
    const uint32_t j = axis_along(c, near, layout->stride[d]);
    if (j == c->n) return false;
    const int64_t steps = layout->stride[d] / near->stride[j];
    r.stride[d] = steps * far->stride[j];
    at[j] += steps * (dims[d] - 1);
    if (at[j] >= c->extent[j]) return false;
  }
  if (!offset_through(c, near, far, layout->offset - near->offset, at, &r.offset)) return false;
  *layout = r;
  return true;
}

static int64_t elements(const int64_t *dims, uint32_t n) {
  int64_t r = 1;
  for (uint32_t i = 0; i < n; i++) r = dims[i] && r > INT64_MAX / dims[i] ? INT64_MAX : r * dims[i];
  return r;
}

/* ---- what the kernel takes ---- */
/* Pixels whose rows follow one another, each with its lanes side by side. */
static bool has_pixels(const Layout *l, const int64_t *dims) {
  const int64_t pixel = dims[WIDTH] > 1 ? l->stride[WIDTH] : l->stride[HEIGHT];
  return l->stride[LANE] == 1 && pixel >= dims[LANE] && (dims[WIDTH] < 2 || dims[HEIGHT] < 2 || l->stride[HEIGHT] == dims[WIDTH] * pixel);
}

/* The same where all channels of a pixel lie side by side, too: what follows the convolution is done to them at once. */
static bool has_tokens(const Layout *l, const int64_t *dims) { return has_pixels(l, dims) && (dims[BLOCK] < 2 || l->stride[BLOCK] == dims[LANE]); }

/* Whether the target has the step's kernel for pixels that lie apart. */
static bool has_kernel(Lower *l, const Step *s) {
  static const char *const general = "cn_tokens_depthwise_f32";
  const Program *p = l->p;
  const ConvStep *v = s->attr;
  if (s->kind != STEP_CONV || !v->attr.block || !v->depthwise || v->attr.slices.out || p->tensors.data[s->in[0]].rank != AXES) return false;
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
  int64_t in_dims[AXES], out_dims[AXES];
  Layout in, out;       /* as they would be */
  int32_t made[AXES];   /* copies that made the input, n_made of them */
  uint32_t n_made;
  int32_t taken;        /* the copy that reads the result, or -1 */
} Tokens;

/* Whether one of the steps that are left reads or writes the buffer. */
static bool touches(const Program *p, size_t from, size_t to, uint32_t buffer, const bool *gone) {
  for (size_t i = from; i < to; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; !gone[i] && k < s->n_in + s->n_out; k++) {
      const uint32_t t = k < s->n_in ? s->in[k] : s->out[k - s->n_in];
      if (t != NO_TENSOR && p->tensors.data[t].buffer == buffer) return true;
    }
  }
  return false;
}

static bool writes(const Program *p, size_t from, size_t to, uint32_t buffer) {
  for (size_t i = from; i < to; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_out; k++)
      if (s->out[k] != NO_TENSOR && p->tensors.data[s->out[k]].buffer == buffer) return true;
  }
  return false;
}

/* How often the step itself reads the buffer. */
static uint32_t own_reads(const Program *p, const Step *s, uint32_t buffer) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n_in; k++) n += s->in[k] != NO_TENSOR && p->tensors.data[s->in[k]].buffer == buffer;
  return n;
}

/* The input as it lies ahead of copies that nobody else reads. */
static void find_input(Tokens *t) {
  const Program *p = t->l->p;
  const Step *s = &p->main.steps.data[t->at];
  uint32_t reads = own_reads(p, s, t->in.buffer);
  while (t->n_made < AXES) {
    const int32_t w = t->readers->writer[t->in.buffer];
    Copy c;
    Layout before = t->in;
    if (w < 0 || t->gone[w] || p->buffers.data[t->in.buffer].kind != BUF_ARENA || t->readers->reads[t->in.buffer] != reads) return;
    if (!copy_of(p, &p->main.steps.data[w], &c) || !through(&c, &c.to, &c.from, t->in_dims, &before) || !has_pixels(&before, t->in_dims)) return;
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
    Layout behind = t->out;
    if (!own_reads(p, s, t->out.buffer)) continue;
    if (!copy_of(p, s, &c) || elements(c.extent, c.n) != elements(t->out_dims, AXES)) return;
    if (!through(&c, &c.from, &c.to, t->out_dims, &behind) || !has_tokens(&behind, t->out_dims)) return;
    if (behind.buffer == t->in.buffer || touches(p, t->at + 1, i, behind.buffer, t->gone)) return;
    t->taken = (int32_t)i;
    t->out = behind;
    return;
  }
}

/* Whether load k of the epilogue lies as the result does. in: the input's layout, for loads of that. */
static bool load_lies_so(const Tokens *t, const Access *a, const Layout *in, const Layout *out) {
  const Program *p = t->l->p;
  const Step *s = &p->main.steps.data[t->at];
  int64_t stride[AXES];
  if (a->n_indirect || !dim_is(a->offset, 0) || !known_all(a->stride, AXES, stride)) return false;
  const bool own = in && a->tensor == s->in[0];
  for (int d = 0; d < AXES; d++)
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

static const Dim *const *dims_of(Lower *l, const int64_t *n) {
  const Dim **r = NEW_ARRAY(l->a, const Dim *, AXES);
  for (int d = 0; d < AXES; d++) r[d] = dim_const(l->p->dims, n[d]);
  return r;
}

static uint32_t moved_tensor(Lower *l, uint32_t tensor, const Layout *layout) {
  PTensor t = l->p->tensors.data[tensor];
  t.buffer = layout->buffer;
  t.offset = dim_const(l->p->dims, layout->offset);
  t.strides = dims_of(l, layout->stride);
  return program_add_tensor(l->p, t);
}

/* The input's copies go. */
static void move_input(Tokens *t) {
  Lower *l = t->l;
  Step *s = &l->p->main.steps.data[t->at];
  ConvStep *v = arena_dup(l->a, s->attr, sizeof *v);
  const uint32_t old = s->in[0], new = moved_tensor(l, old, &t->in);
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
  out[0] = moved_tensor(t->l, out[0], &t->out);
  s->out = out;
  t->gone[t->taken] = true;
}

static void free_of_copies(Lower *l, const Readers *r, size_t at, bool *gone) {
  const Step *s = &l->p->main.steps.data[at];
  if (!has_kernel(l, s)) return;
  const PTensor *x = &l->p->tensors.data[s->in[0]], *y = &l->p->tensors.data[s->out[0]];
  Tokens t = {.l = l, .readers = r, .at = at, .gone = gone, .taken = -1};
  if (!layout_of(x, &t.in) || !layout_of(y, &t.out) || !known_all(x->dims, AXES, t.in_dims) || !known_all(y->dims, AXES, t.out_dims)) return;
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
