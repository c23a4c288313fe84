#include "lower/virt.h"

enum { MAX_EXPR_NODES = 96 };

static const Affine *identity(Program *p, uint32_t rank) {
  Affine *f = NEW_ARRAY(p->arena, Affine, rank);
  for (uint32_t a = 0; a < rank; a++) {
    const Dim **coef = NEW_ARRAY(p->arena, const Dim *, rank);
    for (uint32_t j = 0; j < rank; j++) coef[j] = j == a ? p->dims->one : p->dims->zero;
    f[a] = (Affine){p->dims->zero, coef};
  }
  return f;
}

Virt virt_of_tensor(Program *p, uint32_t tensor) {
  const PTensor *t = &p->tensors.data[tensor];
  Virt v = {.n_loads = 1, .rank = t->rank};
  (void)expr_input(p->arena, &v.expr, 0, t->dtype);
  v.loads[0] = (VLoad){.tensor = tensor, .index = identity(p, t->rank)};
  return v;
}

uint32_t virt_window_tensor(const Virt *v) {
  if (v->n_loads != 1 || v->expr.n != 1 || v->expr.nodes[0].kind != EXPR_INPUT || v->loads[0].indirect) return NO_TENSOR;
  return v->loads[0].tensor;
}

uint32_t virt_plain_tensor(const Program *p, const Virt *v, const Type *type) {
  uint32_t t = virt_window_tensor(v);
  if (t == NO_TENSOR) return NO_TENSOR;
  uint32_t rank = p->tensors.data[t].rank;
  if (type->rank != rank || (rank && memcmp(type->dims, p->tensors.data[t].dims, rank * sizeof *type->dims) != 0)) return NO_TENSOR;
  for (uint32_t a = 0; a < rank; a++) {
    const Affine *f = &v->loads[0].index[a];
    if (!dim_is(f->offset, 0)) return NO_TENSOR;
    for (uint32_t j = 0; j < rank; j++) {
      const Dim *coef = affine_coef(f, j);
      if (j == a ? !coef || !dim_is(coef, 1) : coef != NULL) return NO_TENSOR;
    }
  }
  return t;
}

/* f over v's axes, with v's coordinate a replaced by inner[a] over `rank` axes. */
static Affine affine_compose(Program *p, const Affine *f, uint32_t v_rank, const Affine *inner, uint32_t rank) {
  DimCtx *c = p->dims;
  const Dim *offset = f->offset;
  const Dim **coef = NEW_ARRAY(p->arena, const Dim *, rank);
  for (uint32_t j = 0; j < rank; j++) coef[j] = c->zero;
  for (uint32_t a = 0; a < v_rank; a++) {
    const Dim *outer = affine_coef(f, a);
    if (!outer) continue;
    offset = dim_add(c, offset, dim_mul(c, outer, inner[a].offset));
    for (uint32_t j = 0; j < rank; j++)
      if (affine_coef(&inner[a], j)) coef[j] = dim_add(c, coef[j], dim_mul(c, outer, inner[a].coef[j]));
  }
  return (Affine){offset, coef};
}

static uint32_t affine_expr(Program *p, Expr *e, const Affine *f, uint32_t rank) { /* as an s64 node */
  Arena *a = p->arena;
  uint32_t sum = UINT32_MAX;
  for (uint32_t j = 0; j < rank; j++) {
    if (!affine_coef(f, j)) continue;
    uint32_t t = expr_index(a, e, j);
    if (!dim_is(f->coef[j], 1)) t = expr_fn2(a, e, SC_mul, t, expr_dim(a, e, f->coef[j]));
    sum = sum == UINT32_MAX ? t : expr_fn2(a, e, SC_add, sum, t);
  }
  if (sum == UINT32_MAX) return expr_dim(a, e, f->offset);
  return dim_is(f->offset, 0) ? sum : expr_fn2(a, e, SC_add, sum, expr_dim(a, e, f->offset));
}

/* Copies src's nodes behind dst's: loads through load_map, coordinates through index (NULL: unchanged). map: [src->n]. */
static uint32_t copy_nodes(Program *p, Expr *dst, const Expr *src, const uint32_t *load_map, const Affine *index, uint32_t rank,
                           uint32_t *map) {
  for (uint32_t i = 0; i < src->n; i++) {
    ExprNode n = src->nodes[i];
    if (n.kind == EXPR_INDEX && index) {
      map[i] = affine_expr(p, dst, &index[n.axis], rank);
      continue;
    }
    if (n.kind == EXPR_INPUT) n.operand = load_map[n.operand];
    for (unsigned k = 0; k < expr_node_arity(&n); k++) n.args[k] = map[n.args[k]];
    map[i] = expr_push(p->arena, dst, n);
  }
  return map[src->n - 1];
}

static const int32_t *map_indirect(Program *p, const VLoad *l, const uint32_t *map) {
  if (!l->indirect) return NULL;
  uint32_t rank = p->tensors.data[l->tensor].rank;
  int32_t *r = NEW_ARRAY(p->arena, int32_t, rank);
  for (uint32_t a = 0; a < rank; a++) r[a] = l->indirect[a] < 0 ? -1 : (int32_t)map[l->indirect[a]];
  return r;
}

Virt virt_view(Program *p, const Virt *v, uint32_t v_rank, const Affine *index, uint32_t rank) {
  Virt r = {.n_loads = v->n_loads, .rank = rank};
  uint32_t *map = NEW_ARRAY(p->arena, uint32_t, v->expr.n), same[VIRT_MAX_LOADS];
  for (uint32_t k = 0; k < v->n_loads; k++) same[k] = k;
  uint32_t result = copy_nodes(p, &r.expr, &v->expr, same, index, rank, map);
  expr_set_result(p->arena, &r.expr, result);
  for (uint32_t k = 0; k < v->n_loads; k++) {
    const VLoad *l = &v->loads[k];
    uint32_t t_rank = p->tensors.data[l->tensor].rank;
    Affine *f = NEW_ARRAY(p->arena, Affine, t_rank);
    for (uint32_t a = 0; a < t_rank; a++) f[a] = affine_compose(p, &l->index[a], v_rank, index, rank);
    r.loads[k] = (VLoad){l->tensor, f, map_indirect(p, l, map), l->inside};
  }
  return r;
}

static bool load_same(const Program *p, const VLoad *a, const VLoad *b) {
  if (a->tensor != b->tensor || a->indirect || b->indirect) return false;
  return a->index == b->index || memcmp(a->index, b->index, p->tensors.data[a->tensor].rank * sizeof(Affine)) == 0;
}

/* Adds src's loads and nodes behind dst's, whose own keep their places. */
uint32_t virt_append(Program *p, Virt *dst, const Virt *src) {
  uint32_t load_map[VIRT_MAX_LOADS], first = dst->n_loads;
  for (uint32_t i = 0; i < src->n_loads; i++) {
    uint32_t at = 0;
    while (at < first && !load_same(p, &dst->loads[at], &src->loads[i])) at++;
    if (at == first) {
      at = dst->n_loads;
      if (at == VIRT_MAX_LOADS) return UINT32_MAX;
      dst->loads[dst->n_loads++] = src->loads[i];
    }
    load_map[i] = at;
  }
  uint32_t *map = NEW_ARRAY(p->arena, uint32_t, src->expr.n);
  uint32_t root = copy_nodes(p, &dst->expr, &src->expr, load_map, NULL, 0, map);
  for (uint32_t i = 0; i < src->n_loads; i++)
    if (src->loads[i].indirect) dst->loads[load_map[i]].indirect = map_indirect(p, &src->loads[i], map);
  return root;
}

bool virt_combine(Program *p, const Expr *expr, const Virt *const *operands, uint32_t n, Virt *ret) {
  Virt r = {0};
  uint32_t *roots = NEW_ARRAY(p->arena, uint32_t, n);
  if (n) { /* grown, not copied: a chain costs what its nodes do */
    r = *operands[0];
    roots[0] = r.expr.n - 1;
    if (r.expr.n > MAX_EXPR_NODES) return false;
  }
  for (uint32_t k = 1; k < n; k++) {
    roots[k] = virt_append(p, &r, operands[k]);
    if (roots[k] == UINT32_MAX || r.n_loads > VIRT_FUSED_LOADS || r.expr.n > MAX_EXPR_NODES) return false;
  }
  expr_set_result(p->arena, &r.expr, expr_inline(p->arena, &r.expr, expr, roots));
  if (n > 1 && r.expr.n > MAX_EXPR_NODES) return false;
  *ret = r;
  return true;
}

static unsigned fn_cost(ScalarFn fn) {
  switch (fn) {
    case SC_div: case SC_mod: case SC_sqrt: case SC_rsqrt: case SC_reciprocal: return 4;
    case SC_exp: case SC_expm1: case SC_log: case SC_log1p: case SC_sin: case SC_cos: case SC_tan: case SC_asin: case SC_acos:
    case SC_atan: case SC_sinh: case SC_cosh: case SC_tanh: case SC_asinh: case SC_acosh: case SC_atanh: case SC_erf: case SC_erfc:
    case SC_gelu: case SC_gelu_tanh: case SC_sigmoid: case SC_silu: case SC_softplus: case SC_softsign: case SC_mish: case SC_pow: case SC_fmod:
    case SC_atan2: return 16;
    default: return 1;
  }
}

unsigned virt_expr_cost(const Expr *e) {
  unsigned cost = 0;
  for (uint32_t i = 0; i < e->n; i++) {
    const ExprNode *n = &e->nodes[i];
    if (n->kind == EXPR_CAST || n->kind == EXPR_BITS) cost += 1;
    if (n->kind == EXPR_FN) cost += fn_cost(n->fn);
  }
  return cost;
}

unsigned virt_cost(const Virt *v) {
  unsigned cost = virt_expr_cost(&v->expr);
  for (uint32_t k = 0; k < v->n_loads; k++)
    if (v->loads[k].indirect) cost += 4;
  return cost;
}

Access virt_access(Program *p, const VLoad *l, uint32_t n_axes) {
  DimCtx *c = p->dims;
  const PTensor *t = &p->tensors.data[l->tensor];
  Access r = {.tensor = l->tensor, .offset = c->zero};
  const Dim **stride = NEW_ARRAY(p->arena, const Dim *, n_axes);
  for (uint32_t j = 0; j < n_axes; j++) stride[j] = c->zero;
  IndirectTerm *terms = NEW_ARRAY(p->arena, IndirectTerm, t->rank);
  for (uint32_t a = 0; a < t->rank; a++) {
    if (l->indirect && l->indirect[a] >= 0) {
      terms[r.n_indirect++] = (IndirectTerm){(uint32_t)l->indirect[a], t->strides[a], t->dims[a], l->inside >> a & 1};
      continue;
    }
    const Affine *f = &l->index[a];
    r.offset = dim_add(c, r.offset, dim_mul(c, f->offset, t->strides[a]));
    for (uint32_t j = 0; j < n_axes; j++)
      if (affine_coef(f, j)) stride[j] = dim_add(c, stride[j], dim_mul(c, f->coef[j], t->strides[a]));
  }
  r.stride = stride;
  r.indirect = terms;
  return r;
}
