/* A grouped convolution over plain channels whose result is read by nothing but a copy that takes the groups' channels in turns (a channel shuffle: X. Zhang et al., ShuffleNet,
 * 2017, section 3.1) writes them so itself. */
#include "lower/copies.h"

enum { IMAGE, GROUP, CHANNEL, PIXEL };

/* [images][groups][channels of a group][pixels] of the result. */
static bool result_dims(const Program *p, const Step *s, int64_t *ret) {
  const PTensor *y = &p->tensors.data[s->out[0]];
  const int64_t groups = ((const ConvStep *)s->attr)->attr.group;
  int64_t n[2 + 3];
  if (y->rank > 2 + 3 || !copy_known(y->dims, y->rank, n) || groups < 2 || n[1] % groups != 0) return false;
  const int64_t dims[COPY_AXES] = {n[0], groups, n[1] / groups, copy_elements(n + 2, y->rank - 2), 1};
  memcpy(ret, dims, sizeof dims);
  return copy_elements(dims, COPY_AXES) > 0 && copy_elements(dims, COPY_AXES) <= INT32_MAX;
}

/* Whether what comes with the convolution asks where in its result it is. */
static bool needs_place(const Epilogue *e) {
  bool any = e->n_loads > 0;
  for (uint32_t i = 0; i < e->expr.n; i++) any = any || e->expr.nodes[i].kind == EXPR_INDEX;
  return any;
}

/* Whether the convolution is of the kernel that can. */
static bool can_interleave(const Program *p, const Step *s) {
  const ConvStep *v = s->attr;
  return s->kind == STEP_CONV && v->attr.acc == DT_f32 && !v->attr.block && !v->depthwise && !v->direct && !needs_place(&v->epilogue) && p->tensors.data[s->out[0]].dtype == DT_f32;
}

static bool is_interleaved(const CopyLayout *l, const int64_t *dims) {
  const int64_t plane = dims[PIXEL], all = dims[GROUP] * dims[CHANNEL] * plane;
  const int64_t want[COPY_AXES] = {all, plane, dims[GROUP] * plane, 1, 0};
  for (int d = 0; d < COPY_AXES; d++)
    if (dims[d] > 1 && l->stride[d] != want[d]) return false;
  return true;
}

static void interleave(Lower *l, size_t at, size_t reader, const CopyLayout *layout) {
  Program *p = l->p;
  Step *s = &p->main.steps.data[at];
  ConvStep *v = arena_dup(l->a, s->attr, sizeof *v);
  PTensor y = p->tensors.data[s->out[0]];
  y.buffer = layout->buffer;
  y.offset = dim_const(p->dims, layout->offset);
  y.name = p->tensors.data[p->main.steps.data[reader].out[0]].name;
  uint32_t *out = arena_dup(l->a, s->out, s->n_out * sizeof *out);
  out[0] = program_add_tensor(p, y);
  v->interleaved = true;
  s->attr = v;
  s->out = out;
}

static void shuffle(Lower *l, const Readers *r, size_t at, bool *gone) {
  Program *p = l->p;
  const Step *s = &p->main.steps.data[at];
  int64_t dims[COPY_AXES], offset;
  if (!can_interleave(p, s) || !result_dims(p, s, dims)) return;
  const PTensor *y = &p->tensors.data[s->out[0]];
  if (r->writer[y->buffer] != (int32_t)at || p->buffers.data[y->buffer].kind != BUF_ARENA || r->reads[y->buffer] != 1) return;
  if (!ptensor_is_contiguous(p->dims, y) || !dim_is_const(y->offset, &offset)) return;
  for (size_t i = at + 1; i < p->main.steps.n; i++) {
    if (!copy_own_reads(p, &p->main.steps.data[i], y->buffer)) continue;
    Copy c;
    CopyLayout behind = {y->buffer, offset, {dims[GROUP] * dims[CHANNEL] * dims[PIXEL], dims[CHANNEL] * dims[PIXEL], dims[PIXEL], 1, 0}};
    if (!copy_of(p, &p->main.steps.data[i], &c) || copy_elements(c.extent, c.n) != copy_elements(dims, COPY_AXES)) return;
    if (!copy_through(&c, &c.from, &c.to, dims, &behind) || !is_interleaved(&behind, dims)) return;
    if (dim_has_data(p->buffers.data[behind.buffer].n)) return; /* there is no such buffer before its size is decided */
    if (copy_own_reads(p, s, behind.buffer) || copy_touches(p, at + 1, i, behind.buffer, gone)) return;
    interleave(l, at, i, &behind);
    gone[i] = true;
    return;
  }
}

void lower_shuffle_groups(Lower *l) {
  const Readers r = lower_readers(l);
  const size_t n = l->p->main.steps.n;
  if (strcmp(l->opt->target->language, "c") != 0) return;
  bool *gone = NEW_ARRAY(l->a, bool, n);
  for (size_t i = 0; i < n; i++) shuffle(l, &r, i, gone);
  lower_drop_steps(l, gone);
}
