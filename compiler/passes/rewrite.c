#include "passes/passes.h"

typedef struct Rewriter {
  Ir *ir;
  RewriteFn f;
  void *user;
  Arena *scratch; /* of this pass: together they would be much */
  Value **now; /* by value id, what replaced it */
  uint32_t n_values;
  bool changed;
} Rewriter;

static Value *current(const Rewriter *r, Value *v) {
  while (v && v->id < r->n_values && r->now[v->id]) v = r->now[v->id];
  return v;
}

static void rewrite_graph(Rewriter *r, Graph *g) {
  size_t n = g->nodes.n;
  Node **old = arena_dup(r->scratch, g->nodes.data, n * sizeof *old);
  g->nodes.n = 0;
  for (size_t i = 0; i < n; i++) {
    Node *node = old[i];
    if (node->dead) continue;
    r->ir->checking = g;
    for (uint32_t k = 0; k < node->n_in; k++) node->in[k] = current(r, node->in[k]);
    Builder b = {r->ir, g, node->src};
    Value **ret = NEW_ARRAY(r->scratch, Value *, node->n_out + 1);
    if (!r->f(&b, node, ret, r->user)) {
      vec_push(r->ir->arena, g->nodes, node);
      if (node->op == OP_IF) {
        rewrite_graph(r, ((const IfAttr *)node->attr)->then_graph);
        rewrite_graph(r, ((const IfAttr *)node->attr)->else_graph);
      }
      if (node->op == OP_LOOP) rewrite_graph(r, ((const LoopAttr *)node->attr)->body);
      continue;
    }
    node->dead = true;
    r->changed = true;
    for (uint32_t k = 0; k < node->n_out; k++) {
      if (!ret[k]) continue;
      if (!ret[k]->name.len && !ret[k]->data) ret[k]->name = node->out[k]->name;
      r->now[node->out[k]->id] = ret[k];
    }
  }
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.data[i] = current(r, g->outputs.data[i]);
  r->ir->checking = r->ir->main;
}

bool pass_rewrite(Ir *ir, RewriteFn f, void *user) {
  Rewriter r = {.ir = ir, .f = f, .user = user, .scratch = arena_new(arena_door(ir->arena), 0), .n_values = ir->n_values};
  r.now = NEW_ARRAY(r.scratch, Value *, ir->n_values);
  rewrite_graph(&r, ir->main);
  arena_free(r.scratch);
  return r.changed;
}

void pass_count_uses(const Graph *g, uint32_t *uses) {
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    for (uint32_t k = 0; k < n->n_in; k++)
      if (n->in[k]) uses[n->in[k]->id]++;
    if (n->op == OP_IF) pass_count_uses(((const IfAttr *)n->attr)->then_graph, uses), pass_count_uses(((const IfAttr *)n->attr)->else_graph, uses);
    if (n->op == OP_LOOP) pass_count_uses(((const LoopAttr *)n->attr)->body, uses);
  }
  for (size_t i = 0; i < g->outputs.n; i++) uses[g->outputs.data[i]->id]++;
}

int64_t pass_own_size(const Node *n, uint32_t k) {
  const ContractAttr *attr = n->attr;
  const Type *own = &n->in[k]->type, *other = &n->in[1 - k]->type, *out = &n->out[0]->type;
  const uint8_t *labels = k ? attr->b : attr->a, *others = k ? attr->a : attr->b;
  int64_t size = 1, d;
  for (uint32_t a = 0; a < own->rank; a++) {
    if ((other->rank && memchr(others, labels[a], other->rank)) || !out->rank || !memchr(attr->out, labels[a], out->rank)) continue;
    if (!dim_is_const(own->dims[a], &d) || !i64_mul(size, d, &size)) return 0;
  }
  return size;
}

bool pass_is_product_of_calls(const Node *n) {
  if (n->op != OP_CONTRACT || ((const ContractAttr *)n->attr)->acc != DT_f32) return false;
  return n->in[0]->type.dtype == DT_f32 && n->in[1]->type.dtype == DT_f32 && !n->in[0]->data && !n->in[1]->data;
}

bool pass_is_number(Builder *b, const Value *v, double want) {
  if (!v || !v->data || v->data->n != 1 || v->type.dtype != DT_f32) return false;
  return (double)*(const float *)tensor_host_elements(b->ir->arena, v->data) == want;
}

bool pass_is_zeros(const Value *v) {
  while (!v->data && v->def && pass_is_view(v->def)) v = v->def->in[0];
  if (!v->data || !v->data->bytes) return false;
  for (size_t k = 0; k < v->data->n; k++)
    if (tensor_real(v->data, k) != 0) return false;
  return true;
}

bool pass_is_view(const Node *n) { return n->op == OP_VIEW || n->op == OP_RESHAPE; }

bool pass_is_fn2(const Node *n, ScalarFn *fn) {
  if (n->op != OP_POINTWISE || n->n_in != 2 || n->n_out != 1) return false;
  const Expr *e = &((const PointwiseAttr *)n->attr)->expr;
  if (e->n != 3 || e->nodes[2].kind != EXPR_FN || e->nodes[0].kind != EXPR_INPUT || e->nodes[1].kind != EXPR_INPUT) return false;
  *fn = e->nodes[2].fn;
  return true;
}

bool pass_keeps_order(const Node *n) {
  const Affine *index = ((const ViewAttr *)n->attr)->index;
  const Type *from = &n->in[0]->type, *to = &n->out[0]->type;
  uint32_t next = 0;
  for (uint32_t a = 0; a < from->rank; a++) {
    if (dim_is(from->dims[a], 1)) continue;
    while (next < to->rank && dim_is(to->dims[next], 1)) next++;
    if (next == to->rank || from->dims[a] != to->dims[next] || !dim_is(index[a].offset, 0)) return false;
    for (uint32_t j = 0; j < to->rank; j++) {
      const Dim *coef = affine_coef(&index[a], j);
      if (j == next ? !coef || !dim_is(coef, 1) : coef && !dim_is(to->dims[j], 1)) return false;
    }
    next++;
  }
  while (next < to->rank && dim_is(to->dims[next], 1)) next++;
  return next == to->rank;
}

Value *pass_in_order(Value *v) {
  while (!v->data && v->def && (v->def->op == OP_RESHAPE || (v->def->op == OP_VIEW && pass_keeps_order(v->def)))) v = v->def->in[0];
  return v;
}

typedef struct PassRow {
  const char *name;
  bool (*run)(Ir *ir);
  bool wanted;
} PassRow;

static bool legalise_for_nests(Ir *ir) { return pass_legalise(ir, false, false, false); }
static bool legalise_for_few(Ir *ir) { return pass_legalise(ir, true, false, false); }
static bool legalise_for_all(Ir *ir) { return pass_legalise(ir, true, true, false); }
static bool legalise_for_blocks(Ir *ir) { return pass_legalise(ir, true, true, true); }

/* A violation is a bug of the pass before. */
static bool verify_after(Ir *ir, const char *name) {
#ifndef NDEBUG
  StrBuf what = sb_new(ir->arena);
  if (ir_verify(ir, &what)) return true;
  (void)diag_add(ir->diags, DIAG_E0901, (DiagPlace){0}, "the graph is unsound after %s: %s", name, what.data);
  return false;
#else
  (void)ir, (void)name;
  return true;
#endif
}

bool passes_run(Ir *ir, PassOptions opt) {
  const bool quantise = opt.optimise && opt.kernels && !opt.float_qdq;
  const bool subnormal = opt.optimise && !opt.keep_subnormals;
  const PassRow table[] = {{"gradient", pass_gradient, true},
                           {"simplify", pass_simplify, true},
                           {"recurrent", pass_recurrent, true},
                           {"quantise", pass_quantise, quantise}, /* before weights fold into floats */
                           {"fold", pass_fold, opt.optimise},
                           {"raise", pass_raise, opt.optimise},
                           {"rows", pass_rows, opt.optimise},
                           {"product", pass_product, opt.optimise},
                           {"heads", pass_heads, opt.optimise},
                           {"widen", pass_widen, opt.optimise && opt.widen},
                           {"fold", pass_fold, opt.optimise && opt.widen}, /* legalise asks which operands are constants */
                           {"legalise", !opt.optimise ? legalise_for_nests : !opt.kernels ? legalise_for_few : opt.blocks ? legalise_for_blocks : legalise_for_all, true},
                           {"power", pass_power, opt.optimise}, /* behind raise, which knows some */
                           {"sink", pass_sink, opt.optimise},
                           {"fold", pass_fold, opt.optimise},
                           {"gather", pass_gather, opt.optimise},
                           {"subnormal", pass_subnormal, subnormal}, /* before weights are judged, and of what they become */
                           {"fuse", pass_fuse, opt.optimise},
                           {"fold", pass_fold, opt.optimise},
                           {"subnormal", pass_subnormal, subnormal},
                           {"phases", pass_phases, opt.optimise},
                           {"resized", pass_resized, opt.optimise},
                           {"whole", pass_whole, opt.optimise},
                           {"simplify", pass_simplify, true}};
  if (!verify_after(ir, "import")) return false;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].wanted && (!table[i].run(ir) || !verify_after(ir, table[i].name))) return false;
  return !diags_any(ir->diags);
}

bool passes_layout(Ir *ir, LayoutTile tile) {
  return pass_layout(ir, tile) && verify_after(ir, "layout") && pass_narrow(ir) && verify_after(ir, "narrow") && !diags_any(ir->diags);
}
