/* Sizes that a model leaves open although it is right for one value alone: found by importing it, which is then done again. */
#include "ops/import_private.h"

void op_takes_not_one(OpContext *c, const Dim *d) { vec_push(c->importer->a, c->importer->not_one, d); }

/* The input's symbol that a == b leaves one value, such as n in 2n + 1 == 9; NULL if there is none. */
static const Dim *only_value(const Dim *a, const Dim *b, int64_t *ret) {
  int64_t rest, coef = 1, offset = 0;
  if (dim_is_const(a, &rest)) return only_value(b, a, ret);
  if (!dim_is_const(b, &rest)) return NULL;
  if (a->kind == DIM_POLY) {
    const DimTerm *first = a->poly.terms, *last = first + a->poly.n_terms - 1;
    if (first->n_factors != 1 || a->poly.n_terms > 2 || (last != first && last->n_factors)) return NULL;
    coef = first->coef;
    offset = last != first ? last->coef : 0;
    a = first->factors[0];
  }
  if (a->kind != DIM_SYMBOL || a->symbol.origin != DIM_FROM_INPUT || !i64_sub(rest, offset, &rest)) return NULL;
  if (rest == INT64_MIN || rest % coef) return NULL;
  *ret = rest / coef;
  return *ret >= a->lo && *ret <= a->hi ? a : NULL;
}

/* Sizes of inputs that the model leaves open and then holds to one value at once, as an initial state of batch 1 does. */
static bool fix_sizes(Arena *a, const Ir *ir, ImportOptions *opt) {
  struct ImportDim *dims = NEW_ARRAY(a, struct ImportDim, opt->n_dims + ir->n_checks);
  size_t n = opt->n_dims;
  for (size_t i = 0; i < n; i++) dims[i] = opt->dims[i];
  for (size_t i = 0; i < ir->n_checks; i++) {
    int64_t value;
    const Dim *s = ir->checks[i].graph == ir->main ? only_value(ir->checks[i].a, ir->checks[i].b, &value) : NULL;
    if (s) dims[n++] = (struct ImportDim){s->symbol.name, value, value, true}; /* behind the user's: the last counts */
  }
  if (n == opt->n_dims) return false;
  opt->dims = dims;
  opt->n_dims = n;
  return true;
}

static bool ranks_as_declared(const Ir *ir, const OnnxGraph *g) {
  for (size_t i = 0; i < g->n_outputs; i++) {
    const OnnxType *t = g->outputs[i].type;
    const Value *v = ir->main->outputs.data[i];
    if (t && t->kind == ONNX_TYPE_TENSOR && t->has_shape && t->n_dims != v->type.rank) return false;
  }
  return true;
}

static bool is_declared(const OnnxGraph *g, Str symbol) {
  for (size_t i = 0; i < g->n_outputs; i++) {
    const OnnxType *t = g->outputs[i].type;
    for (size_t k = 0; t && t->kind == ONNX_TYPE_TENSOR && k < t->n_dims; k++)
      if (t->dims[k].kind == ONNX_DIM_PARAM && str_eq(t->dims[k].param, symbol)) return true;
  }
  return false;
}

enum { ONES_MAX = 4 };

/* Up to ONES_MAX symbols that a Squeeze took not to be 1, in the order in which they are to be tried as 1: those that the
 * declared outputs still have come last. */
static size_t candidates(const Importer *im, Str *ret) {
  size_t n = 0;
  for (int declared = 0; declared < 2; declared++)
    for (size_t i = 0; i < im->not_one.n && n < ONES_MAX; i++) {
      const Dim *s = im->not_one.data[i];
      if (s->lo > 1 || s->kind != DIM_SYMBOL || s->symbol.origin != DIM_FROM_INPUT) continue;
      if (is_declared(im->model->graph, s->symbol.name) != declared) continue;
      bool have = false;
      for (size_t k = 0; k < n; k++) have = have || str_eq(ret[k], s->symbol.name);
      if (!have) ret[n++] = s->symbol.name;
    }
  return n;
}

static ImportOptions with_ones(Arena *a, const ImportOptions *opt, const Str *names, size_t n) {
  ImportOptions r = *opt;
  struct ImportDim *dims = NEW_ARRAY(a, struct ImportDim, opt->n_dims + n);
  for (size_t i = 0; i < opt->n_dims; i++) dims[i] = opt->dims[i];
  for (size_t i = 0; i < n; i++) dims[opt->n_dims + i] = (struct ImportDim){names[i], 1, 1, true};
  r.dims = dims;
  r.n_dims += n;
  return r;
}

static Ir *import_settled(Importer *im, Arena *a, Diags *d, const OnnxModel *m, ImportOptions *now) {
  enum { TURNS_MAX = 4 };
  Ir *ir = import_once(im, a, d, m, now);
  for (int turn = 1; ir && turn < TURNS_MAX && fix_sizes(a, ir, now); turn++) ir = import_once(im, a, d, m, now);
  return ir;
}

/* A Squeeze without axes has no rank that holds for all sizes. It takes open ones not to be 1; where what follows or the
 * declared outputs do not fit that, one of them, or all, were 1 when the model was exported. */
static Ir *import_with_ones(Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt, const Str *names, size_t n) {
  for (size_t turn = 0; turn < n + (n > 1); turn++) {
    ImportOptions now = turn < n ? with_ones(a, opt, &names[turn], 1) : with_ones(a, opt, names, n);
    *d = (Diags){.arena = d->arena};
    Ir *ir = import_settled(NEW(a, Importer), a, d, m, &now);
    if (ir && ranks_as_declared(ir, m->graph)) return ir;
  }
  return NULL;
}

static Ir *import_believing(Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt, bool *ret_believed) {
  Importer *im = NEW(a, Importer);
  ImportOptions now = *opt;
  Str names[ONES_MAX];
  Ir *ir = import_settled(im, a, d, m, &now);
  *ret_believed = im->has_declared;
  if (ir ? ranks_as_declared(ir, m->graph) : !import_only_misfits(d, 0)) return ir;
  const size_t n = candidates(im, names);
  const Diags said = *d;
  Ir *again = import_with_ones(a, d, m, &now, names, n);
  if (again) return again;
  *d = said;
  return ir;
}

/* Sizes that only data decide are taken from the declared outputs. Where the model contradicts them, they are wrong. */
Ir *import_model(Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt) {
  bool believed;
  if (!import_dims_exist(a, d, m->graph, opt)) return NULL;
  Ir *ir = import_believing(a, d, m, opt, &believed);
  if (ir || !believed) return ir;
  const Diags said = *d;
  ImportOptions now = *opt;
  now.ignore_output_shapes = true;
  *d = (Diags){.arena = d->arena};
  ir = import_believing(a, d, m, &now, &believed);
  if (!ir) *d = said;
  return ir;
}
