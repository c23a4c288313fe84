/* castnet check --bisect: every result of a node becomes an output, of the compiled program and of the reference evaluation. */
#include "cli/check.h"

#include <stdio.h>

/* A result that both sides give out, in the order of the graph. */
typedef struct Probe {
  Str name;
  DiagPlace src;
} Probe;

typedef struct Probes {
  Arena *arena;
  VEC(Probe) list;
} Probes;

/* A tensor with a name in the model. */
static bool can_be_output(const Value *v) { return v->type.kind == TYPE_TENSOR && !v->type.seq && v->name.len && !v->data; }

static bool is_output(const Graph *g, const Value *v) {
  for (size_t i = 0; i < g->outputs.n; i++)
    if (g->outputs.data[i] == v) return true;
  return false;
}

static bool add_outputs(Ir *ir, void *user) {
  Probes *probes = user;
  Graph *g = ir->main;
  probes->list.n = 0;
  for (size_t i = 0; i < g->outputs.n; i++) {
    const Value *v = g->outputs.data[i];
    vec_push(probes->arena, probes->list, ((Probe){arena_str(probes->arena, v->name), v->def ? v->def->src : (DiagPlace){0}}));
  }
  for (size_t i = 0; i < g->nodes.n; i++) {
    const Node *n = g->nodes.data[i];
    for (uint32_t k = 0; k < n->n_out && !n->dead; k++) {
      Value *v = n->out[k];
      if (!v || !can_be_output(v) || is_output(g, v)) continue;
      vec_push(ir->arena, g->outputs, v);
      vec_push(ir->arena, g->output_names, v->name);
      vec_push(probes->arena, probes->list, ((Probe){arena_str(probes->arena, v->name), n->src}));
    }
  }
  return true;
}

/* The node's place outlives the compile that it came from. */
static DiagPlace own_place(Arena *a, DiagPlace p) {
  return (DiagPlace){.file = arena_str(a, p.file), .has_node = p.has_node, .node = p.node, .node_name = arena_str(a, p.node_name),
                     .op_type = arena_str(a, p.op_type), .domain = arena_str(a, p.domain)};
}

static void own_places(Probes *p) {
  for (size_t i = 0; i < p->list.n; i++) p->list.data[i].src = own_place(p->arena, p->list.data[i].src);
}

static void print_probe(const Cli *c, const Probe *p, Str why) {
  StrBuf b = sb_new(c->arena);
  sb_puts(&b, "bisect: the first result that differs from the reference evaluation is \"");
  sb_escaped(&b, p->name, 120);
  sb_puts(&b, "\"");
  if (p->src.has_node) {
    sb_printf(&b, " of node #%zu \"", p->src.node);
    sb_escaped(&b, p->src.node_name, 120);
    sb_puts(&b, "\" (");
    sb_escaped(&b, p->src.op_type, 80);
    sb_putc(&b, ')');
  }
  sb_printf(&b, ": %.*s\n", STR_ARG(why));
  (void)fwrite(b.data, 1, b.len, stderr);
}

/* The largest number, of sequences in all their tensors. */
static double magnitude_of(const OnnxValue *v) {
  const OnnxTensor *t = v->tensor;
  double most = 0;
  for (size_t i = 0; i < v->n_items; i++) {
    const double x = magnitude_of(&v->items[i]);
    if (x > most) most = x;
  }
  for (size_t i = 0; t && t->data_type == 1 && i < t->n_elements; i++) {
    float x;
    memcpy(&x, (const char *)t->data + i * sizeof x, sizeof x);
    if (x > most || -x > most) most = x < 0 ? -(double)x : (double)x;
  }
  return most;
}

static void say(const char *what) { (void)fprintf(stderr, "bisect: %s\n", what); }

/* The outputs that the model has itself come first on both sides. */
static bool reference_agrees(Cli *c, Check *k, const DataSet *set, const OnnxValue *const *want) {
  for (size_t i = 0; i < k->iface->n_outputs; i++) {
    Comparison r;
    Tolerance t = tolerance_of(&k->tolerances, k->iface->outputs[i].name);
    if (!set->outputs[i] || !want[i]) continue;
    compare_values(c->arena, &k->diags, want[i], set->outputs[i], &t, &r);
    if (!r.ok) return false;
  }
  return true;
}

/* The first by the order of nodes. */
static bool report_first(Cli *c, Check *k, const Probes *p, const OnnxValue *got, const OnnxValue *const *want) {
  const Probe *first = NULL;
  Str why = {0};
  for (size_t i = 0; i < p->list.n; i++) {
    Comparison r;
    const Probe *probe = &p->list.data[i];
    if (!want[i]) continue; /* behind a custom operator */
    Tolerance t = {.atol = 1e-4 * magnitude_of(want[i]), .rtol = 1e-3};
    compare_values(c->arena, &k->diags, &got[i], want[i], &t, &r);
    if (r.ok || (first && first->src.node <= probe->src.node)) continue;
    first = probe;
    why = r.why;
  }
  if (first) print_probe(c, first, why);
  return first != NULL;
}

static void report(Cli *c, Check *k, const DataSet *set, const Probes *p, const OnnxValue *got, const OnnxValue *const *want) {
  bool agrees = reference_agrees(c, k, set, want);
  if (!agrees) say("the reference evaluation differs from the recorded data, too: the meaning of an operator, or its import");
  if (!report_first(c, k, p, got, want) && agrees) say("with every result as an output the code is right: only the fused program differs");
}

static void free_model(void *m) { castnet_free(m); }

/* The model again, with every result as an output; NULL after its diagnostics were printed. */
static castnet *compile_all(Cli *c, const Check *k) {
  castnet *m = castnet_new();
  if (!m) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  arena_on_free(c->arena, free_model, m);
  Probes *probes = NEW(c->arena, Probes);
  probes->arena = c->arena;
  castnet_on_graph(m, add_outputs, probes);
  if (castnet_compile(m, k->path, &k->options) == CASTNET_STATUS_OK) return m;
  print_model_diags(c, m);
  return NULL;
}

/* False after diagnostics in d, or when a signal asked castnet to end. */
static bool build_and_run(Cli *c, Diags *d, const BuildOptions *o, castnet *m, const DataSet *set, AdapterResult *ret) {
  const castnet_interface *f = castnet_get_interface(m);
  Workdir *w = workdir_open(c->arena, d, NULL);
  if (!w) return false;
  bool ok = castnet_write(m, workdir_path(w)) == CASTNET_STATUS_OK && adapter_write(c->arena, d, w, &f, 1) &&
            builder_build(c, d, o, w, &f, 1) &&
            builder_run(c, d, o, w, workdir_file(c->arena, w, "castnet_check"), 0, f, set->inputs, ret) == RUN_DONE;
  c->interrupted = workdir_signal(w);
  workdir_close(w);
  return ok;
}

void check_bisect(Cli *c, const BuildOptions *o, Check *k, const DataSet *set) {
  Probes probes = {.arena = c->arena};
  Diags diags = {.arena = c->arena};
  Check all = *k;
  AdapterResult got;
  const OnnxValue **want;
  size_t n_want;
  all.diags = diags;
  all.options.name = "bisect";
  if (!check_evaluate(c, &all, set->inputs, add_outputs, &probes, &want, &n_want)) {
    print_diags(c, &all.diags);
    return;
  }
  own_places(&probes);
  all.model = compile_all(c, &all);
  if (!all.model) return;
  size_t n_outputs = castnet_get_interface(all.model)->n_outputs;
  if (n_outputs != n_want || n_want != probes.list.n) say("the two programs have different outputs");
  else if (!build_and_run(c, &diags, o, all.model, set, &got)) print_diags(c, &diags);
  else report(c, k, set, &probes, got.outputs, want);
}
