#include "lower/copies.h"

static bool known(const Dim *d, int64_t *ret) { return dim_is_const(d, ret) && *ret >= 0 && *ret <= INT32_MAX; }

bool copy_known(const Dim *const *d, uint32_t n, int64_t *ret) {
  for (uint32_t i = 0; i < n; i++)
    if (!known(d[i], &ret[i])) return false;
  return true;
}

bool copy_layout(const PTensor *t, CopyLayout *ret) {
  ret->buffer = t->buffer;
  return t->rank == COPY_AXES && known(t->offset, &ret->offset) && copy_known(t->strides, COPY_AXES, ret->stride);
}

static bool side_of(const Program *p, const Access *a, uint32_t n, CopyLayout *ret) {
  const PTensor *t = &p->tensors.data[a->tensor];
  int64_t within, access;
  if (a->n_indirect || t->dtype != DT_f32 || !known(t->offset, &within) || !known(a->offset, &access) || !copy_known(a->stride, n, ret->stride)) return false;
  ret->buffer = t->buffer;
  ret->offset = within + access;
  return true;
}

bool copy_of(const Program *p, const Step *s, Copy *ret) {
  const Nest *n = s->attr;
  if (s->kind != STEP_NEST || n->mode != NEST_MAP || n->n_loads != 1 || n->map.n != 1 || n->n_axes > COPY_AXES) return false;
  if (n->map.nodes[0].kind != EXPR_INPUT || !copy_known(n->extent, n->n_axes, ret->extent)) return false;
  ret->n = n->n_axes;
  return side_of(p, &n->loads[0], ret->n, &ret->from) && side_of(p, &n->store, ret->n, &ret->to);
}

/* The copy's axis that a stride of `near` goes along, with the largest step; n: none. */
static uint32_t axis_along(const Copy *c, const CopyLayout *near, int64_t stride) {
  uint32_t best = c->n;
  for (uint32_t j = 0; j < c->n; j++) {
    if (c->extent[j] < 2 || near->stride[j] < 1 || stride % near->stride[j] != 0) continue;
    if (best == c->n || near->stride[j] > near->stride[best]) best = j;
  }
  return best;
}

/* Adds the places of the copy that an offset from near's first element comes from; false if it comes from none. at: by axis, how many more places are seen
 * from there on. */
static bool offset_through(const Copy *c, const CopyLayout *near, const CopyLayout *far, int64_t offset, const int64_t *at, int64_t *ret) {
  bool done[COPY_AXES] = {false};
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

bool copy_through(const Copy *c, const CopyLayout *near, const CopyLayout *far, const int64_t *dims, CopyLayout *layout) {
  int64_t at[COPY_AXES] = {0};
  CopyLayout r = {.buffer = far->buffer, .offset = far->offset};
  for (int d = 0; d < COPY_AXES; d++) {
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

int64_t copy_elements(const int64_t *dims, uint32_t n) {
  int64_t r = 1;
  for (uint32_t i = 0; i < n; i++) r = dims[i] && r > INT64_MAX / dims[i] ? INT64_MAX : r * dims[i];
  return r;
}

bool copy_touches(const Program *p, size_t from, size_t to, uint32_t buffer, const bool *gone) {
  for (size_t i = from; i < to; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; !gone[i] && k < s->n_in + s->n_out; k++) {
      const uint32_t t = k < s->n_in ? s->in[k] : s->out[k - s->n_in];
      if (t != NO_TENSOR && p->tensors.data[t].buffer == buffer) return true;
    }
  }
  return false;
}

uint32_t copy_own_reads(const Program *p, const Step *s, uint32_t buffer) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n_in; k++) n += s->in[k] != NO_TENSOR && p->tensors.data[s->in[k]].buffer == buffer;
  return n;
}

static const Dim *const *dims_of(Lower *l, const int64_t *n) {
  const Dim **r = NEW_ARRAY(l->a, const Dim *, COPY_AXES);
  for (int d = 0; d < COPY_AXES; d++) r[d] = dim_const(l->p->dims, n[d]);
  return r;
}

uint32_t copy_moved(Lower *l, uint32_t tensor, const CopyLayout *layout) {
  PTensor t = l->p->tensors.data[tensor];
  t.buffer = layout->buffer;
  t.offset = dim_const(l->p->dims, layout->offset);
  t.strides = dims_of(l, layout->stride);
  return program_add_tensor(l->p, t);
}
