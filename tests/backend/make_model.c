/* Writes the files of a small program made by hand, for tests of what surrounds the steps.
 *
 * usage: make_model CASE DIR [weights=auto|c|asm|bin] [outputs=caller|workspace] [target=T] [name=N] [value=V] [words=K]
 * Every case computes outputs = x + w (a constant vector of V, V+1 ...; words pads the weights) by way of the workspace. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/backend.h"

typedef struct Options {
  const char *model, *dir;
  BackendOptions backend;
  long value, words;
} Options;

typedef struct Maker {
  Arena *a;
  Diags *d;
  Program *p;
  Ir *ir;
} Maker;

static uint32_t add_tensor(Maker *m, Str name, DType t, uint32_t rank, const Dim *const *dims, Buffer b) {
  DimCtx *c = m->ir->dims;
  b.dtype = t;
  b.n = dim_product(c, dims, rank);
  b.name = name;
  b.alias_of = NO_BUFFER;
  b.align = 64;
  PTensor pt = {.dtype = t, .rank = rank, .dims = dims, .buffer = program_add_buffer(m->p, b), .offset = c->zero, .name = name};
  const Dim **strides = NEW_ARRAY(m->a, const Dim *, rank + 1);
  const Dim *at = c->one;
  for (uint32_t i = rank; i-- > 0; at = dim_mul(c, at, dims[i])) strides[i] = at;
  pt.strides = strides;
  return program_add_tensor(m->p, pt);
}

static uint32_t add_input(Maker *m, Str name, DType t, uint32_t rank, const Dim *const *dims) {
  Value *v = graph_add_value(m->ir->main, type_tensor(m->ir, t, rank, dims), name);
  vec_push(m->a, m->ir->main->inputs, v);
  Buffer b = {.kind = BUF_INPUT, .index = (uint32_t)m->p->inputs.n};
  uint32_t tensor = add_tensor(m, name, t, rank, dims, b);
  vec_push(m->a, m->p->inputs, tensor);
  return tensor;
}

static uint32_t add_output(Maker *m, Str name, DType t, uint32_t rank, const Dim *const *dims) {
  Buffer b = {.kind = BUF_OUTPUT, .index = (uint32_t)m->p->outputs.n};
  uint32_t tensor = add_tensor(m, name, t, rank, dims, b);
  ProgramOutput o = {.tensor = tensor, .type = type_tensor(m->ir, t, rank, dims), .name = name};
  vec_push(m->a, m->p->outputs, o);
  return tensor;
}

static uint32_t add_weights(Maker *m, Str name, const Dim *const *dims, size_t n, long value) {
  float *v = NEW_ARRAY(m->a, float, n);
  for (size_t i = 0; i < n; i++) v[i] = (float)(value + (long)i);
  Tensor *t = NEW(m->a, Tensor);
  *t = (Tensor){.dtype = DT_f32, .n = n, .bytes = v, .n_bytes = n * sizeof *v};
  return add_tensor(m, name, DT_f32, 1, dims, (Buffer){.kind = BUF_CONST, .data = t});
}

/* Behind what is there already. */
static uint32_t add_temporary(Maker *m, Str name, DType t, uint32_t rank, const Dim *const *dims) {
  DimCtx *c = m->ir->dims;
  const Dim *offset = dim_mulc(c, dim_ceildiv(c, m->p->arena_bytes, dim_const(c, 64)), 64);
  uint32_t tensor = add_tensor(m, name, t, rank, dims, (Buffer){.kind = BUF_ARENA, .offset = offset});
  m->p->arena_bytes = dim_add(c, offset, dim_mulc(c, dim_product(c, dims, rank), dtype_rows[t].bits / 8));
  return tensor;
}

/* An access to `tensor` for each point of an output of `rank` axes; its own axes are the last ones. */
static Access access_of(Maker *m, uint32_t tensor, uint32_t rank) {
  const PTensor *t = &m->p->tensors.data[tensor];
  const Dim **stride = NEW_ARRAY(m->a, const Dim *, rank + 1);
  for (uint32_t i = 0; i < rank; i++) stride[i] = i + t->rank >= rank ? t->strides[i + t->rank - rank] : m->ir->dims->zero;
  return (Access){.tensor = tensor, .offset = m->ir->dims->zero, .stride = stride};
}

/* out = a, or a + b where b is not NO_TENSOR. */
static void add_step(Maker *m, Str name, uint32_t a, uint32_t b, uint32_t out) {
  const PTensor *o = &m->p->tensors.data[out];
  Nest *n = NEW(m->a, Nest);
  Access *loads = NEW_ARRAY(m->a, Access, 2);
  *n = (Nest){.mode = NEST_MAP, .n_axes = o->rank, .extent = o->dims, .loads = loads, .n_loads = b == NO_TENSOR ? 1 : 2};
  loads[0] = access_of(m, a, o->rank);
  uint32_t x = expr_input(m->a, &n->map, 0, o->dtype);
  if (b != NO_TENSOR) {
    loads[1] = access_of(m, b, o->rank);
    (void)expr_fn2(m->a, &n->map, SC_add, x, expr_input(m->a, &n->map, 1, o->dtype));
  }
  n->store = access_of(m, out, o->rank);
  uint32_t *operands = NEW_ARRAY(m->a, uint32_t, 3);
  operands[0] = a;
  operands[1] = b;
  operands[2] = out;
  Step s = {.kind = STEP_NEST, .n_in = b == NO_TENSOR ? 1 : 2, .in = operands, .n_out = 1, .out = operands + 2,
            .scratch = NO_TENSOR, .attr = n, .src = {.has_node = true, .node_name = name, .op_type = STR("Add")}};
  vec_push(m->a, m->p->main.steps, s);
}

static void two_steps(Maker *m, const Options *o, Str x_name, Str y_name, uint32_t rank, const Dim *const *dims) {
  uint32_t x = add_input(m, x_name, DT_f32, rank, dims), y = add_output(m, y_name, DT_f32, rank, dims);
  uint32_t t = add_temporary(m, STR("middle"), DT_f32, rank, dims);
  size_t n = (size_t)dims[rank - 1]->value;
  const Dim **weights = NEW_ARRAY(m->a, const Dim *, 1);
  weights[0] = dim_const(m->ir->dims, (int64_t)n + o->words);
  uint32_t w = add_weights(m, STR("w"), weights, n + (size_t)o->words, o->value);
  add_step(m, STR("layer/add"), x, w, t);
  add_step(m, x_name, t, NO_TENSOR, y);
}

static void make_static(Maker *m, const Options *o) {
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 2);
  dims[0] = dim_const(m->ir->dims, 2);
  dims[1] = dim_const(m->ir->dims, 3);
  two_steps(m, o, STR("x"), STR("y"), 2, dims);
}

static void make_dynamic(Maker *m, const Options *o) {
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 3);
  dims[0] = dim_symbol(m->ir->dims, STR("batch"), 1, INT64_MAX, DIM_FROM_INPUT);
  dims[1] = dim_symbol(m->ir->dims, STR("n"), 1, 8, DIM_FROM_INPUT); /* a name that printers want for themselves */
  dims[2] = dim_const(m->ir->dims, 3);
  two_steps(m, o, STR("x"), STR("y"), 3, dims);
}

static void make_bounded(Maker *m, const Options *o) {
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 2);
  dims[0] = dim_symbol(m->ir->dims, STR("batch"), 0, 8, DIM_FROM_INPUT);
  dims[1] = dim_const(m->ir->dims, 3);
  two_steps(m, o, STR("x"), STR("y"), 2, dims);
}

static void make_hostile(Maker *m, const Options *o) {
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 2);
  dims[0] = dim_symbol(m->ir->dims, STR("*/ #error \"?" "?/\\\n"), 1, INT64_MAX, DIM_FROM_INPUT);
  dims[1] = dim_const(m->ir->dims, 3);
  char *big = arena_alloc(m->a, 1 << 20);
  memset(big, '*', 1 << 20);
  static const char evil[] = "*/ } @set_id@ @nothing@ \xe2\x80\xae\0 /* \\";
  memcpy(big, evil, sizeof evil);
  two_steps(m, o, (Str){big, 1 << 20}, STR("int"), 2, dims);
  uint32_t second = add_output(m, STR("ws_needed"), DT_f32, 2, dims);
  add_step(m, STR("__FILE__"), m->p->outputs.data[0].tensor, NO_TENSOR, second);
}

/* No input; strings with every trap, one longer than a literal may be. */
static void make_strings(Maker *m, const Options *o) {
  (void)o;
  static const char traps[] = "\"\\?" "?/\n\0" "7\xff*/", *const texts[] = {"plain", traps, ""};
  const size_t lengths[] = {5, sizeof traps - 1, 0};
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 1);
  dims[0] = dim_const(m->ir->dims, 4);
  Str *v = NEW_ARRAY(m->a, Str, 4);
  for (size_t i = 0; i < 3; i++) v[i] = (Str){texts[i], lengths[i]};
  char *big = arena_alloc(m->a, 5000);
  memset(big, 0xe9, 5000);
  v[3] = (Str){big, 5000};
  Tensor *t = NEW(m->a, Tensor);
  *t = (Tensor){.dtype = DT_str, .n = 4, .strings = v};
  uint32_t w = add_tensor(m, STR("words"), DT_str, 1, dims, (Buffer){.kind = BUF_CONST, .data = t});
  add_step(m, STR("copy"), w, NO_TENSOR, add_output(m, STR("y"), DT_str, 1, dims));
}

/* Scalars, and a workspace and an input that nothing needs. */
static void make_scalar(Maker *m, const Options *o) {
  (void)o;
  const Dim *const *none = NEW_ARRAY(m->a, const Dim *, 1);
  uint32_t x = add_input(m, STR("in"), DT_f64, 0, none);
  (void)add_input(m, STR("m"), DT_u4, 0, none);
  (void)add_temporary(m, STR("unused"), DT_f32, 0, none);
  add_step(m, STR("m w in"), x, NO_TENSOR, add_output(m, STR("out"), DT_f64, 0, none));
}

/* A custom operator that decides a size (positive elements of x, the count of which is also an element of a tensor), with
 * an attribute of each kind, an absent input, and a step over what it left. */
static void make_extern(Maker *m, const Options *o) {
  (void)o;
  static const int64_t ints[] = {INT64_MIN, -1, 3};
  static const float floats[] = {0.5f, -1e30f};
  static const Str strings[] = {{"a\"b", 3}, {"", 0}};
  static const ExternAttrValue attrs[] = {{.name = {"int", 3}, .kind = EXTERN_INT, .i = -7},
                                          {.name = {"float", 5}, .kind = EXTERN_FLOAT, .f = 0.25f},
                                          {.name = {"string", 6}, .kind = EXTERN_STRING, .s = {"text", 4}},
                                          {.name = {"ints", 4}, .kind = EXTERN_INTS, .n = 3, .ints = ints},
                                          {.name = {"floats", 6}, .kind = EXTERN_FLOATS, .n = 2, .floats = floats},
                                          {.name = {"strings", 7}, .kind = EXTERN_STRINGS, .n = 2, .strings = strings},
                                          {.name = {"none", 4}, .kind = EXTERN_INTS, .n = 0}};
  DimCtx *c = m->ir->dims;
  const Dim **dims = NEW_ARRAY(m->a, const Dim *, 1), **some = NEW_ARRAY(m->a, const Dim *, 1);
  dims[0] = dim_symbol(c, STR("n"), 1, 100, DIM_FROM_INPUT);
  some[0] = dim_symbol(c, STR("found"), 0, INT64_MAX, DIM_FROM_DATA);
  dim_symbol_set_bound(some[0], dims[0]);
  uint32_t x = add_input(m, STR("x"), DT_f32, 1, dims), kept = add_output(m, STR("kept"), DT_f32, 1, some);
  uint32_t copy = add_output(m, STR("copy"), DT_f32, 1, some), scratch = add_temporary(m, STR("s"), DT_u8, 1, dims);
  uint32_t *operands = NEW_ARRAY(m->a, uint32_t, 3);
  operands[0] = x;
  operands[1] = NO_TENSOR;
  operands[2] = kept;
  SymbolDef *def = NEW(m->a, SymbolDef);
  *def = (SymbolDef){some[0], 0, 0};
  ExternStep *e = NEW(m->a, ExternStep);
  *e = (ExternStep){.attr = {.symbol = STR("keep_positive"), .custom = true, .attrs = attrs,
                             .n_attrs = sizeof attrs / sizeof *attrs}, .defs = def, .n_defs = 1};
  Step s = {.kind = STEP_EXTERN, .n_in = 2, .in = operands, .n_out = 1, .out = operands + 2, .scratch = scratch, .attr = e,
            .src = {.has_node = true, .node_name = STR("keep"), .op_type = STR("KeepPositive")}};
  vec_push(m->a, m->p->main.steps, s);
  add_step(m, STR("copy"), kept, NO_TENSOR, copy);
}

static bool option(Options *o, const char *arg) {
  static const struct {
    const char *text;
    int value;
  } weights[] = {{"auto", WEIGHTS_AUTO}, {"c", WEIGHTS_C}, {"asm", WEIGHTS_ASM}, {"bin", WEIGHTS_BIN}};
  const char *v = strchr(arg, '=');
  if (!v) return false;
  size_t n = (size_t)(v++ - arg);
  Str key = {arg, n};
  for (size_t i = 0; str_is(key, "weights") && i < sizeof weights / sizeof *weights; i++)
    if (strcmp(v, weights[i].text) == 0) o->backend.weights = (WeightsMode)weights[i].value;
  if (str_is(key, "outputs")) o->backend.outputs = strcmp(v, "workspace") == 0 ? OUTPUTS_WORKSPACE : OUTPUTS_CALLER;
  if (str_is(key, "target")) o->backend.target = target_find(str_c(v));
  if (str_is(key, "name")) o->backend.name = str_c(v);
  if (str_is(key, "value")) o->value = atol(v);
  if (str_is(key, "words")) o->words = atol(v);
  return true;
}

static int make(Arena *a, const Options *o) {
  static const struct {
    const char *name;
    void (*make)(Maker *m, const Options *o);
  } cases[] = {{"static", make_static}, {"dynamic", make_dynamic}, {"bounded", make_bounded}, {"hostile", make_hostile},
               {"strings", make_strings}, {"scalar", make_scalar},
               {"extern", make_extern}};
  Diags d = {.arena = a};
  Maker m = {.a = a, .d = &d, .ir = ir_new(a, &d), .p = NEW(a, Program)};
  *m.p = (Program){.arena = a, .ir = m.ir, .dims = m.ir->dims, .arena_bytes = m.ir->dims->zero};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (strcmp(cases[i].name, o->model) == 0) cases[i].make(&m, o);
  const Program *programs[TARGET_MAX_LEVELS];
  for (size_t i = 0; i < TARGET_MAX_LEVELS; i++) programs[i] = m.p; /* the same at every level */
  FileSet files;
  BackendResult result = {0};
  if (backend_print(a, &d, programs, &o->backend, &files, &result)) (void)fileset_write(&files, &d, o->dir);
  StrBuf text = sb_new(a);
  for (size_t i = 0; i < d.list.n; i++) diag_print(&text, &d.list.data[i], false);
  (void)fputs(sb_view(&text).ptr, stderr);
  return diags_exit_code(&d);
}

int main(int argc, char **argv) {
  Arena *a = arena_new(NULL, 0);
  Options o = {.backend = {.name = STR("m"), .target = target_find(STR("c99"))}, .value = 10};
  for (int i = 3; i < argc; i++)
    if (!option(&o, argv[i])) return 2;
  if (argc < 3 || !o.backend.target) return 2;
  o.model = argv[1];
  o.dir = argv[2];
  int r = make(a, &o);
  arena_free(a);
  return r;
}
