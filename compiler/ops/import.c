/* The importer: nodes by their rows, functions by inlining, custom operators as calls. What fails is reported and its
 * dependants are passed over in silence, so that one run tells all that is wrong. */
#include "ops/import_private.h"

DiagPlace import_file_place(const Importer *im) { return (DiagPlace){.file = str_c(im->opt->path)}; }

DiagPlace import_node_place(const Importer *im, const OnnxNode *n, size_t index) {
  DiagPlace p = {.file = str_c(im->opt->path), .has_node = true, .node = index, .node_name = n->name, .op_type = n->op_type, .domain = n->domain};
  if (!im->frame || !im->frame->path.len) return p;
  enum { NAME_MAX_BYTES = 80 };
  Str name = n->name.len && n->name.len <= NAME_MAX_BYTES ? n->name : n->op_type;
  StrBuf b = sb_new(im->a);
  sb_str(&b, im->frame->path);
  sb_put(&b, name.ptr, name.len < NAME_MAX_BYTES ? name.len : NAME_MAX_BYTES);
  p.node_name = sb_view(&b);
  return p;
}

static void poison_outputs(Importer *im, const OnnxNode *n) {
  for (size_t i = 0; i < n->n_outputs; i++)
    if (n->outputs[i].len) scope_bind(im, n->outputs[i], NULL);
}

/* The node's operands, NULL where left out; false when one is missing or its producer failed. */
static bool find_inputs(Importer *im, const OnnxNode *n, DiagPlace place, Value **in) {
  bool ok = true;
  for (size_t k = 0; k < n->n_inputs; k++) {
    if (!n->inputs[k].len) continue;
    const Binding *b = scope_find(im->scope, n->inputs[k]);
    if (!b) {
      (void)diag_add(im->diags, DIAG_E0201, place, "input %zu, %s, is defined nowhere", k, diag_quote(im->diags, n->inputs[k]));
      scope_bind(im, n->inputs[k], NULL); /* said once */
    }
    in[k] = b ? b->value : NULL;
    ok = ok && b && (b->value || b->absent);
  }
  return ok;
}

static bool bind_outputs(Importer *im, const OnnxNode *n, Value *const *out, DiagPlace place) {
  for (size_t i = 0; i < n->n_outputs; i++) {
    if (!n->outputs[i].len) continue;
    if (!out[i]) {
      (void)diag_add(im->diags, DIAG_E0306, place, "output %zu is not compiled by this version", i);
      return false;
    }
    if (!out[i]->name.len && !out[i]->data) out[i]->name = n->outputs[i];
    scope_bind(im, n->outputs[i], out[i]);
  }
  return true;
}

static bool import_by_row(Importer *im, const OnnxNode *n, DiagPlace place, Value **in, const OnnxOpRow *row, const struct ImportOp *custom) {
  OpContext c = {.b = {im->ir, im->graph, place}, .row = row, .node = n, .version = import_opset_version(im, n->domain), .in = in,
                 .n_in = n->n_inputs, .n_out = n->n_outputs, .importer = im};
  c.out = NEW_ARRAY(im->a, Value *, n->n_outputs + 4);
  c.attrs = import_attrs(im, n, place, &c.n_attrs);
  if (!c.attrs) return false;
  while (c.n_in && !in[c.n_in - 1]) c.n_in--; /* trailing left-out inputs count for nothing */
  while (c.n_out && !n->outputs[c.n_out - 1].len) c.n_out--;
  size_t before = im->diags->list.n + im->diags->n_dropped;
  bool ok = custom ? import_custom(&c, custom) : import_check(&c) && row->import(&c) && import_check_outputs(&c);
  if (im->split.node) return false;
  bool said = before != im->diags->list.n + im->diags->n_dropped;
  if (!ok && !im->diags->list.n && !im->missing.entries.n) (void)diag_add(im->diags, DIAG_E0901, place, "the import function failed without a reason");
  return ok && !said && bind_outputs(im, n, c.out, place);
}

static bool outputs_are_new(Importer *im, const OnnxNode *n, DiagPlace place) {
  bool ok = true;
  for (size_t i = 0; i < n->n_outputs; i++)
    if (n->outputs[i].len && map_has(&im->scope->names, n->outputs[i])) {
      (void)diag_add(im->diags, DIAG_E0202, place, "%s is defined twice", diag_quote(im->diags, n->outputs[i]));
      ok = false;
    }
  return ok;
}

static bool import_node(Importer *im, const OnnxNode *n, size_t index) {
  DiagPlace place = import_node_place(im, n, index);
  Value **in = NEW_ARRAY(im->a, Value *, n->n_inputs + 16); /* functions look at inputs up to the signature's length */
  bool have = find_inputs(im, n, place, in), ok = false;
  const struct ImportOp *custom = import_find_custom(im, n);
  const OnnxFunction *f = custom ? NULL : import_find_function(im, n);
  int version = import_opset_version(im, n->domain);
  const OnnxOpRow *row = f || custom ? NULL : import_find_row(im, n->domain, n->op_type, version);
  if (!outputs_are_new(im, n, place)) return false;
  if (!f && !row && !custom) import_report_missing(im, n, place, version);
  else if (have && f) ok = import_call(im, f, n, place);
  else if (have) ok = import_by_row(im, n, place, in, row, custom);
  if (!ok && !im->split.node) poison_outputs(im, n);
  return ok;
}

/* Work is counted before it is done, so that calls of large bodies that fail early cost no more than they may. */
static bool spend(Importer *im, const NodeList *l, const NodeOrder *order, size_t from) {
  size_t n = 1;
  for (size_t i = from; i < order->n && n <= im->budget; i++) {
    const OnnxNode *node = &l->nodes[order->nodes[i]];
    n += 1 + node->n_inputs + node->n_outputs + node->n_attrs;
  }
  im->work += im->n_splits ? 2 * n : n; /* what is given up there stays in memory */
  if (im->work <= im->budget) return true;
  if (!im->gave_up) (void)diag_add(im->diags, DIAG_E0502, import_file_place(im), "functions, and ranks that only data tell, multiply the file's nodes by more than %d", WORK_INLINED);
  im->gave_up = true;
  return false;
}

bool import_nodes_from(Importer *im, const NodeList *l, size_t from) {
  const NodeOrder *order = import_order(im, l->nodes, l->n);
  bool ok = order->ok && spend(im, l, order, from);
  for (size_t i = from; order->ok && i < order->n && !im->gave_up; i++) {
    const size_t at = order->nodes[i];
    ok = import_node(im, &l->nodes[at], at) && ok;
    if (im->split.node) return import_behind_branches(im, l, i + 1, import_node_place(im, &l->nodes[at], at));
  }
  return ok && !im->gave_up;
}

bool import_nodes(Importer *im, const NodeList *l) { return import_nodes_from(im, l, 0); }

static bool check_opsets(Importer *im, const OnnxOpset *opsets, size_t n) {
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    if (opsets[i].version >= 1) continue;
    (void)diag_add(im->diags, DIAG_E0302, import_file_place(im), "domain %s is imported at version %lld; the first is 1", diag_quote(im->diags, opsets[i].domain), (long long)opsets[i].version);
    ok = false;
  }
  return ok;
}

/* Before IR version 3 a model named no versions: all is as in the first (IR.md, "Operator Sets"). */
static Frame first_frame(const OnnxModel *m) {
  enum { IR_VERSION_OPSETS = 3 };
  static const OnnxOpset first = {.version = 1};
  const bool old = m->ir_version < IR_VERSION_OPSETS && !m->n_opsets;
  return old ? (Frame){.opsets = &first, .n_opsets = 1} : (Frame){.opsets = m->opsets, .n_opsets = m->n_opsets};
}

Ir *import_once(Importer *im, Arena *a, Diags *d, const OnnxModel *m, const ImportOptions *opt) {
  *im = (Importer){.a = a, .ir = ir_new(a, d), .diags = d, .model = m, .opt = opt, .missing = map_new(a), .orders = map_new(a), .locals = map_new(a), .carried = map_new(a)};
  Scope scope = {.names = map_new(a), .types = map_new(a), .variables = map_new(a)};
  Frame frame = first_frame(m);
  im->graph = im->ir->main;
  im->scope = &scope;
  im->frame = &frame;
  size_t twice;
  im->budget = size_mul(import_count_work(m), 2, &twice) && size_add(twice, WORK_INLINED, &im->budget) ? im->budget : SIZE_MAX;
  import_index_rows(im);
  bool ok = check_opsets(im, m->opsets, m->n_opsets);
  ok = import_index_functions(im) && ok;
  ok = import_main_graph(im, m->graph) && ok;
  import_flush_missing(im);
  if (ok) im->ir->file_order_peak = import_file_order_peak(im, m->graph);
  return ok && !diags_any(d) ? im->ir : NULL;
}
