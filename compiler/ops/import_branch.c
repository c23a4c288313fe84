/* If: branches become graphs inside of the node. Where their results differ in rank, what follows is imported behind each of them; so it is behind a
 * Loop that may not run and changes the rank of a state. */
#include "ops/import_loop.h"
#include "ops/shared.h"

/* ---- If -------------------------------------------------------------------------------------------------------------------- */
Value *control_scalar(Builder *b, Value *v) { return build_reshape(b, v, 0, NULL); }

int control_truth(Builder *b, Value *v) {
  const int64_t *known;
  size_t n;
  return build_const_ints(b, v, &known, &n) && n == 1 ? known[0] != 0 : -1;
}

static bool take_branch(OpContext *c, const OnnxGraph *g) {
  size_t n;
  c->importer->inlining = c->node;
  Value **found = op_inline(c, g, NULL, 0, &n);
  if (!found) return false;
  if (n < c->n_out) return op_fail(c, DIAG_E0305, "the branch has %zu outputs, the node %zu", n, c->n_out);
  for (size_t k = 0; k < c->n_out; k++) c->out[k] = found[k];
  return true;
}

typedef VEC(JoinedDim) JoinedDims;

/* A size that is t behind one branch, e behind the other. Bounded where both are; else its range stays that of any size, which says that
 * nothing bounds it: the range of a sequence's lines is narrower than that of what is in it. */
static const Dim *joined_dim(OpContext *c, const Dim *t, const Dim *e) {
  DimCtx *d = op_dims(c);
  const Dim *bound = dim_max(d, dim_upper(d, t), dim_upper(d, e));
  const bool open = dim_has_data(bound) || dim_is_bad(bound);
  const int64_t hi = t->hi > e->hi ? t->hi : e->hi;
  return bd_data_symbol(&c->b, "joined", t->lo < e->lo ? t->lo : e->lo, open && hi < INT32_MAX ? INT32_MAX : hi, open ? NULL : bound);
}

/* The type that stands for both branches' results. */
static bool join_types(OpContext *c, size_t k, const Value *x, const Value *y, JoinedDims *joined, Type *ret) {
  const Dim *dims[MAX_RANK];
  if (x->type.kind != TYPE_TENSOR || y->type.kind != TYPE_TENSOR) return op_unsupported(c, "output %zu is no tensor", k);
  if (x->type.dtype != y->type.dtype) return op_fail(c, DIAG_E0401, "output %zu has element type %s in one branch, %s in the other", k, dtype_name(x->type.dtype), dtype_name(y->type.dtype));
  if (x->type.rank != y->type.rank) return op_unsupported(c, "output %zu has rank %u in one branch, %u in the other", k, x->type.rank, y->type.rank);
  for (uint32_t a = 0; a < x->type.rank; a++) {
    const Dim *t = x->type.dims[a], *e = y->type.dims[a];
    dims[a] = t;
    if (t == e) continue;
    dims[a] = joined_dim(c, t, e);
    vec_push(c->b.ir->arena, *joined, ((JoinedDim){dims[a], t, e}));
  }
  *ret = type_tensor(c->b.ir, x->type.dtype, x->type.rank, dims);
  return build_seq_merge(&c->b, &x->type, &y->type, &ret->seq) || op_fail(c, DIAG_E0401, "output %zu is of another kind in one branch than in the other", k);
}

/* Joins the branches' results: the node, or NULL after a diagnostic. */
static const Node *make_if(OpContext *c, Value *cond, Graph *on_then, Graph *on_else) {
  IfAttr *attr = NEW(c->b.ir->arena, IfAttr);
  const size_t n = on_then->outputs.n;
  JoinedDims joined = {0};
  Type *types = NEW_ARRAY(c->b.ir->arena, Type, n);
  for (size_t k = 0; k < n; k++)
    if (!join_types(c, k, on_then->outputs.data[k], on_else->outputs.data[k], &joined, &types[k])) return NULL;
  *attr = (IfAttr){.then_graph = on_then, .else_graph = on_else, .joined = joined.data, .n_joined = (uint32_t)joined.n};
  return graph_add_node(c->b.graph, OP_IF, &cond, 1, types, n, attr, c->b.place);
}

static bool ranks_agree(const Graph *x, const Graph *y) {
  for (size_t k = 0; k < x->outputs.n; k++)
    if (x->outputs.data[k]->type.rank != y->outputs.data[k]->type.rank) return false;
  return true;
}

/* A branch as a graph. NULL, with the importer's split set, where its results have no one rank. */
static Graph *branch_body(OpContext *c, const OnnxGraph *g) {
  c->importer->inlining = c->node;
  Graph *body = op_body(c, g, 0, NULL, NULL);
  c->importer->inlining = NULL;
  return body;
}

bool import_only_misfits(const Diags *d, size_t from) {
  static const DiagCode misfits[] = {DIAG_E0304, DIAG_E0401, DIAG_E0402, DIAG_E0403};
  bool all = d->n_dropped == 0 && d->list.n > from;
  for (size_t i = from; i < d->list.n && all; i++) {
    bool one = false;
    for (size_t k = 0; k < sizeof misfits / sizeof *misfits; k++) one = one || d->list.data[i].code == misfits[k];
    all = one;
  }
  return all;
}

/* The condition has to choose this branch, or the call ends with CASTNET_ERR_DIM. */
static bool demand_branch(OpContext *c, Value *cond, int64_t want) {
  size_t n = 0;
  return build_read_dims(&c->b, build_cast(&c->b, cond, DT_s64, true), "condition", want, want, NULL, &n) != NULL;
}

/* A branch as a graph; or NULL, and whether that is for shapes or types that do not fit. */
static Graph *try_branch(OpContext *c, const OnnxGraph *g, bool *ret_misfit) {
  const size_t before = c->importer->diags->list.n;
  Graph *body = branch_body(c, g);
  *ret_misfit = !body && !c->importer->split.node && import_only_misfits(c->importer->diags, before);
  return body;
}

bool import_if(OpContext *c) {
  const OnnxGraph *on_then = op_graph(c, "then_branch"), *on_else = op_graph(c, "else_branch");
  Importer *im = c->importer;
  Ir *ir = c->b.ir;
  const int known = control_truth(&c->b, op_in(c, 0));
  if (known >= 0) return take_branch(c, known ? on_then : on_else);
  const size_t n_checks = ir->n_checks, n_said = im->diags->list.n;
  Value *cond = control_scalar(&c->b, op_in(c, 0));
  bool misfits[2] = {false, false};
  Graph *x = cond ? try_branch(c, on_then, &misfits[0]) : NULL, *y = x || misfits[0] ? try_branch(c, on_else, &misfits[1]) : NULL;
  if (misfits[0] != misfits[1] && (x || y || im->split.node)) { /* with these inputs the other branch is meant */
    im->split = (Split){0};
    im->diags->list.n = n_said;
    ir->n_checks = n_checks;
    return demand_branch(c, cond, misfits[1]) && take_branch(c, misfits[1] ? on_then : on_else);
  }
  if (!y && !im->split.node) return false;
  if (y && (x->outputs.n != y->outputs.n || x->outputs.n < c->n_out))
    return op_fail(c, DIAG_E0305, "the branches have %zu and %zu outputs, the node %zu", x->outputs.n, y->outputs.n, c->n_out);
  if (!y || !ranks_agree(x, y)) {
    ir->n_checks = n_checks; /* the branches are imported again */
    im->split = (Split){.node = c->node, .cond = cond, .branches = {on_then, on_else}};
    return false;
  }
  const Node *made = make_if(c, cond, x, y);
  for (size_t k = 0; made && k < c->n_out; k++) c->out[k] = made->out[k];
  return made != NULL;
}

/* ---- results of different ranks ---- */
static bool behind_branches(Importer *im, const Split *split, DiagPlace place);

/* A scope for the rest of a list: its names hide what a given up import bound, its declarations are the list's. */
static void enter_rest(Importer *im, const Rest *r) {
  im->frame = r->frame;
  im->scope = r->scope;
  im->scope = scope_new(im);
  im->scope->types = r->scope->types;
  im->scope->variables = r->scope->variables;
}

/* A split met on the way: what is left of this one, from rest `from` on, follows it. */
static bool split_within(OpContext *c, const Split *split, size_t from) {
  Importer *im = c->importer;
  Split inner = im->split;
  if (from == split->rests.n) return false; /* of the list that both end in: for the lists around to do */
  im->split = (Split){0};
  for (size_t i = from; i < split->rests.n; i++) vec_push(im->a, inner.rests, split->rests.data[i]);
  enter_rest(im, &split->rests.data[split->rests.n - 1]);
  return behind_branches(im, &inner, c->b.place);
}

/* The nodes that a branch stands for and the rests of all lists behind it; the last scope of them is left to be looked at. */
static bool import_chain(OpContext *c, const Split *split, int which) {
  Importer *im = c->importer;
  size_t n = 0;
  enter_rest(im, &split->rests.data[0]);
  im->inlining = split->loop || split->again ? NULL : split->rests.data[0].node;
  Value **results = split->again  ? choose_branch(split, im, which, &n)
                    : split->loop ? loop_branch(c, split->loop, which, &n)
                                  : op_inline(c, split->branches[which], NULL, 0, &n);
  im->inlining = NULL;
  if (im->split.node) return split_within(c, split, 0);
  for (size_t i = 0; results && i < split->rests.n; i++) {
    const Rest *r = &split->rests.data[i];
    for (size_t k = 0; k < r->node->n_outputs && k < n; k++) scope_bind(im, r->node->outputs[k], results[k]);
    const bool ok = import_nodes_from(im, r->list, r->from);
    if (im->split.node) return split_within(c, split, i + 1);
    if (!ok) return false;
    if (i + 1 == split->rests.n) return true;
    n = r->list->n_seen; /* what the next If or call gets of this list */
    results = NEW_ARRAY(im->a, Value *, n);
    for (size_t k = 0; k < n; k++) {
      const Binding *b = scope_find(im->scope, r->list->seen[k]);
      results[k] = b ? b->value : NULL;
    }
    enter_rest(im, &split->rests.data[i + 1]);
  }
  return false;
}

/* A branch and all that follows it, with what is seen of that as its outputs. */
static Graph *branch_and_rest(OpContext *c, const Split *split, int which, const Str *wanted, size_t n_wanted) {
  Importer *im = c->importer;
  Scope *outer = im->scope;
  Frame *frame = im->frame;
  Graph *g = graph_new(im->ir, im->graph), *around = op_enter(c, g);
  im->depth++;
  bool ok = import_chain(c, split, which);
  for (size_t k = 0; ok && k < n_wanted; k++) {
    const Binding *b = scope_find(im->scope, wanted[k]);
    if (!b) (void)op_fail(c, DIAG_E0201, "%s, a result of what follows, is defined nowhere", diag_quote(im->diags, wanted[k]));
    ok = b && b->value;
    if (!ok) break;
    vec_push(im->a, g->outputs, b->value);
    vec_push(im->a, g->output_names, wanted[k]);
  }
  im->depth--;
  im->scope = outer;
  im->frame = frame;
  (void)op_enter(c, around);
  return ok ? g : NULL;
}

/* One branch is the only one that what follows fits. */
static bool take_only_branch(OpContext *c, const Split *split, int which, const Str *wanted, size_t n_wanted) {
  Importer *im = c->importer;
  Scope *outer = im->scope;
  Frame *frame = im->frame;
  if (!split->again && !demand_branch(c, split->cond, which == 0)) return false; /* a number is checked where it is used */
  const bool ok = import_chain(c, split, which);
  Scope *inner = im->scope;
  im->scope = outer;
  im->frame = frame;
  for (size_t k = 0; k < n_wanted; k++) {
    const Binding *b = scope_find(inner, wanted[k]);
    scope_bind(im, wanted[k], ok && b ? b->value : NULL);
  }
  return ok;
}

static size_t not_yet_bound(const Importer *im, const NodeList *l, Str *ret) {
  size_t n = 0;
  for (size_t k = 0; k < l->n_seen; k++)
    if (l->seen[k].len && !scope_find(im->scope, l->seen[k])) ret[n++] = l->seen[k];
  return n;
}

/* Whether results of a list have the ranks that the model declares for them. */
static bool as_declared(const Rest *last, const Graph *g, const Str *names, size_t n) {
  for (size_t k = 0; k < n && !last->list->inlined; k++) {
    const OnnxType *t = map_get(&last->scope->types, names[k]);
    if (t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && t->n_dims != g->outputs.data[k]->type.rank) return false;
  }
  return true;
}

/* Of imports that are given up. */
static void forget_checks(Importer *im, size_t n_said, size_t n_checks) {
  im->diags->list.n = n_said;
  im->ir->n_checks = n_checks;
}

typedef struct Tried { /* a branch and what follows it */
  Graph *graph;
  bool misfit; /* there is none, for shapes or types that do not fit */
} Tried;

static Tried try_rest(OpContext *c, const Split *split, int which, const Str *wanted, size_t n) {
  const size_t before = c->importer->diags->list.n;
  c->importer->n_splits++;
  c->importer->work += WORK_SPLIT;
  Graph *g = branch_and_rest(c, split, which, wanted, n);
  c->importer->n_splits--;
  return (Tried){g, !g && import_only_misfits(c->importer->diags, before)};
}

static void hold_to_declared(OpContext *c, const Rest *last, const Str *wanted, size_t n, Tried *t) {
  if (!t->graph || as_declared(last, t->graph, wanted, n)) return;
  (void)op_fail(c, DIAG_E0402, "what follows has results of other ranks than declared");
  *t = (Tried){.misfit = true};
}

/* What follows a split, behind each branch of it; binds what is seen of the last list. */
static bool behind_branches(Importer *im, const Split *split, DiagPlace place) {
  const Rest *last = &split->rests.data[split->rests.n - 1];
  const NodeList *l = last->list;
  Str *wanted = NEW_ARRAY(im->a, Str, l->n_seen);
  const size_t n_said = im->diags->list.n, n_checks = im->ir->n_checks, n = not_yet_bound(im, l, wanted);
  OpContext c = {.b = {im->ir, im->graph, place}, .node = split->node, .in = NEW_ARRAY(im->a, Value *, 1), .importer = im};
  Tried t[2];
  bool open = false;
  for (int which = 0; which < 2; which++) {
    t[which] = try_rest(&c, split, which, wanted, n);
    open = open || im->split.node;
    im->split = (Split){0};
    if (split->again) hold_to_declared(&c, last, wanted, n, &t[which]);
    if (split->again && t[0].misfit) { /* it is one of the other numbers */
      forget_checks(im, n_said, n_checks);
      return take_only_branch(&c, split, 1, wanted, n);
    }
  }
  const bool differ = t[0].graph && t[1].graph && !ranks_agree(t[0].graph, t[1].graph);
  for (int which = 0; differ && which < 2; which++) hold_to_declared(&c, last, wanted, n, &t[which]);
  const bool one = !open && (t[0].graph ? t[1].misfit : t[0].misfit && t[1].graph);
  if (one || open || (differ && l->inlined)) {
    forget_checks(im, n_said, n_checks);
    if (one) return take_only_branch(&c, split, t[0].misfit, wanted, n);
    im->split = *split; /* with what follows the If or call that this list belongs to */
    im->split.node = l->inlined;
    return false;
  }
  const Node *made = t[0].graph && t[1].graph ? make_if(&c, split->cond, t[0].graph, t[1].graph) : NULL;
  for (size_t k = 0; k < n; k++) scope_bind(im, wanted[k], made ? made->out[k] : NULL);
  return made != NULL;
}

bool import_behind_branches(Importer *im, const NodeList *l, size_t from, DiagPlace place) {
  Split split = im->split;
  vec_push(im->a, split.rests, ((Rest){split.node, l, from, im->scope, im->frame}));
  im->split = (Split){0};
  return behind_branches(im, &split, place);
}
