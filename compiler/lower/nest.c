/* Canonical nests: nothing computed or loaded in vain, no axes of extent 1, neighbouring axes that every access walks as one
 * merged. */
#include "lower/program.h"

static bool uses_index(const Nest *n, uint32_t axis) {
  for (uint32_t i = 0; i < n->map.n; i++)
    if (n->map.nodes[i].kind == EXPR_INDEX && n->map.nodes[i].axis == axis) return true;
  return false;
}

typedef struct AccessList {
  Access *data[3]; /* loads, post_loads, store */
  uint32_t n[3];
} AccessList;

/* The nest's accesses as fresh, writable copies with fresh strides. Outer accesses of a reduction know fewer axes. */
static AccessList own_accesses(Arena *a, DimCtx *c, Nest *n) {
  uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->n_axes;
  AccessList l = {{NULL, NULL, &n->store}, {n->n_loads, n->n_post_loads, 1}};
  l.data[0] = arena_dup(a, n->loads, n->n_loads * sizeof(Access));
  l.data[1] = arena_dup(a, n->post_loads, n->n_post_loads * sizeof(Access));
  for (int g = 0; g < 3; g++) {
    uint32_t axes = g == 0 ? n->n_axes : outer;
    for (uint32_t k = 0; k < l.n[g]; k++) {
      const Dim **s = NEW_ARRAY(a, const Dim *, n->n_axes);
      for (uint32_t j = 0; j < n->n_axes; j++) s[j] = j < axes ? l.data[g][k].stride[j] : c->zero;
      l.data[g][k].stride = s;
    }
  }
  n->loads = l.data[0];
  n->post_loads = l.data[1];
  return l;
}

static void set_stride(Access *a, uint32_t j, const Dim *d) { ((const Dim **)(uintptr_t)a->stride)[j] = d; }

static void remove_axis(Nest *n, AccessList *l, uint32_t axis) {
  const Dim **extent = (const Dim **)(uintptr_t)n->extent;
  for (uint32_t j = axis; j + 1 < n->n_axes; j++) extent[j] = extent[j + 1];
  for (int g = 0; g < 3; g++)
    for (uint32_t k = 0; k < l->n[g]; k++)
      for (uint32_t j = axis; j + 1 < n->n_axes; j++) set_stride(&l->data[g][k], j, l->data[g][k].stride[j + 1]);
  for (uint32_t i = 0; i < n->map.n; i++)
    if (n->map.nodes[i].kind == EXPR_INDEX && n->map.nodes[i].axis > axis) n->map.nodes[i].axis--;
  if (n->mode == NEST_REDUCE && axis >= n->n_axes - n->n_reduce) n->n_reduce--;
  n->n_axes--;
}

static bool mergeable(DimCtx *c, const Nest *n, const AccessList *l, uint32_t axis) {
  if (uses_index(n, axis) || uses_index(n, axis + 1)) return false;
  uint32_t outer = n->n_axes - n->n_reduce;
  if (n->mode == NEST_REDUCE && axis < outer && axis + 1 >= outer) return false;
  if (n->mode == NEST_SCAN && axis + 2 >= n->n_axes) return false;
  for (int g = 0; g < 3; g++)
    for (uint32_t k = 0; k < l->n[g]; k++) {
      const Access *a = &l->data[g][k];
      if (a->stride[axis] != dim_mul(c, a->stride[axis + 1], n->extent[axis + 1])) return false;
    }
  return true;
}

/* ---- dead nodes and loads ---- */
typedef struct Reach {
  const Nest *n;
  uint8_t *node, *load;
} Reach;

static void reach_access(Reach *r, const Access *a) {
  for (uint32_t k = 0; k < a->n_indirect; k++) r->node[a->indirect[k].node] = 1;
}

/* Marks, from the last node down, what the result needs; nodes come before their users. */
static void reach(Reach *r) {
  for (uint32_t i = r->n->map.n; i-- > 0;) {
    const ExprNode *x = &r->n->map.nodes[i];
    if (!r->node[i]) continue;
    for (unsigned k = 0; k < expr_node_arity(x); k++) r->node[x->args[k]] = 1;
    if (x->kind != EXPR_INPUT) continue;
    r->load[x->operand] = 1;
    reach_access(r, &r->n->loads[x->operand]);
  }
}

static const IndirectTerm *renumber_terms(Arena *a, const Access *access, const uint32_t *now) {
  IndirectTerm *t = arena_dup(a, access->indirect, access->n_indirect * sizeof *t);
  for (uint32_t k = 0; k < access->n_indirect; k++) t[k].node = now[t[k].node];
  return t;
}

static void prune(Arena *a, Nest *n) {
  Reach r = {n, NEW_ARRAY(a, uint8_t, n->map.n), NEW_ARRAY(a, uint8_t, n->n_loads)};
  r.node[n->map.n - 1] = 1;
  reach_access(&r, &n->store);
  reach(&r);
  uint32_t *node_now = NEW_ARRAY(a, uint32_t, n->map.n), *load_now = NEW_ARRAY(a, uint32_t, n->n_loads), kept = 0, loads = 0;
  Access *access = NEW_ARRAY(a, Access, n->n_loads);
  for (uint32_t i = 0; i < n->map.n; i++) node_now[i] = r.node[i] ? kept++ : 0;
  for (uint32_t k = 0; k < n->n_loads; k++) {
    if (!r.load[k]) continue;
    load_now[k] = loads;
    access[loads] = n->loads[k];
    access[loads++].indirect = renumber_terms(a, &n->loads[k], node_now);
  }
  for (uint32_t i = 0; i < n->map.n; i++) {
    if (!r.node[i]) continue;
    ExprNode x = n->map.nodes[i];
    for (unsigned k = 0; k < expr_node_arity(&x); k++) x.args[k] = node_now[x.args[k]];
    if (x.kind == EXPR_INPUT) x.operand = load_now[x.operand];
    n->map.nodes[node_now[i]] = x;
  }
  n->map.n = n->map.cap = kept;
  n->store.indirect = renumber_terms(a, &n->store, node_now);
  n->loads = access;
  n->n_loads = loads;
}

void nest_simplify(Arena *a, DimCtx *c, Nest *n) {
  /* ARGMAX, ARGMIN count along their one reduced axis: it stays as it is */
  bool arg = n->mode == NEST_REDUCE && (n->reduce == REDUCE_ARGMAX || n->reduce == REDUCE_ARGMIN);
  AccessList l = own_accesses(a, c, n);
  n->extent = arena_dup(a, n->extent, n->n_axes * sizeof *n->extent);
  n->map.nodes = arena_dup(a, n->map.nodes, n->map.n * sizeof *n->map.nodes);
  n->map.cap = n->map.n;
  prune(a, n);
  l.data[0] = (Access *)(uintptr_t)n->loads;
  l.n[0] = n->n_loads;
  for (uint32_t j = n->n_axes; j-- > 0;) {
    bool keep = (arg && j + 1 == n->n_axes) || (n->mode == NEST_SCAN && j + 1 == n->n_axes);
    if (!keep && dim_is(n->extent[j], 1) && !uses_index(n, j)) remove_axis(n, &l, j);
  }
  for (uint32_t j = n->n_axes; j-- > 1;) {
    if (!mergeable(c, n, &l, j - 1)) continue;
    const Dim **extent = (const Dim **)(uintptr_t)n->extent;
    const Dim *merged = dim_mul(c, extent[j - 1], extent[j]);
    if (dim_is_bad(merged)) continue;
    extent[j] = merged;
    remove_axis(n, &l, j - 1);
  }
}
