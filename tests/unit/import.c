/* The importer on small models written as text: "Add a b -> c" is a node, "_" a left-out operand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/import.h"

enum { MAX_LINES = 16, MAX_WORDS = 8 };

typedef struct Test {
  Arena *a;
  Diags diags;
  OnnxModel model;
  OnnxGraph graph;
  ImportOptions opt;
  OnnxOpset opset;
} Test;

static size_t words(Arena *a, Str text, Str *ret) {
  size_t n = 0;
  for (size_t i = 0; i < text.len;) {
    size_t start = i;
    while (i < text.len && text.ptr[i] != ' ') i++;
    Str w = {text.ptr + start, i - start};
    if (w.len) ret[n++] = str_is(w, "_") ? (Str){"", 0} : arena_str(a, w);
    while (i < text.len && text.ptr[i] == ' ') i++;
  }
  return n;
}

/* "domain::Op in in -> out out" */
static OnnxNode node(Arena *a, const char *text) {
  Str left[MAX_WORDS], *outputs = NEW_ARRAY(a, Str, MAX_WORDS);
  const char *arrow = strstr(text, "->"), *colons;
  size_t n = words(a, (Str){text, (size_t)(arrow - text)}, left);
  OnnxNode r = {.n_inputs = n - 1, .inputs = arena_dup(a, left + 1, (n - 1) * sizeof *left), .outputs = outputs};
  r.n_outputs = words(a, str_c(arrow + 2), outputs);
  colons = strstr(arena_cstr(a, left[0]), "::");
  if (colons) {
    r.op_type = str_c(colons + 2);
    r.domain = (Str){left[0].ptr, left[0].len - r.op_type.len - 2};
  } else {
    r.op_type = left[0];
  }
  return r;
}

static OnnxNode *nodes(Arena *a, size_t *ret_n, const char *const *lines) {
  OnnxNode *r = NEW_ARRAY(a, OnnxNode, MAX_LINES);
  for (*ret_n = 0; lines[*ret_n]; ++*ret_n) r[*ret_n] = node(a, lines[*ret_n]);
  return r;
}

static OnnxValueInfo tensor_info(Arena *a, const char *name, int32_t elem_type, int64_t size) {
  OnnxDim *dim = NEW(a, OnnxDim);
  *dim = size < 0 ? (OnnxDim){.kind = ONNX_DIM_PARAM, .param = str_c("n")} : (OnnxDim){.kind = ONNX_DIM_VALUE, .value = size};
  OnnxType *t = NEW(a, OnnxType);
  *t = (OnnxType){.kind = ONNX_TYPE_TENSOR, .elem_type = elem_type, .has_shape = true, .n_dims = 1, .dims = dim};
  return (OnnxValueInfo){str_c(name), t};
}

/* A model of inputs x, y f32[n], output z, opset 13. */
static Test *start(const char *const *lines) {
  Arena *a = arena_new(NULL, 0);
  Test *t = NEW(a, Test);
  OnnxValueInfo *in = NEW_ARRAY(a, OnnxValueInfo, 2), *out = NEW(a, OnnxValueInfo);
  t->a = a;
  t->diags.arena = a;
  in[0] = tensor_info(a, "x", 1, -1);
  in[1] = tensor_info(a, "y", 1, -1);
  out->name = str_c("z");
  t->opset = (OnnxOpset){{"", 0}, 13};
  t->graph = (OnnxGraph){.inputs = in, .n_inputs = 2, .outputs = out, .n_outputs = 1};
  t->graph.nodes = nodes(a, &t->graph.n_nodes, lines);
  t->model = (OnnxModel){.graph = &t->graph, .opsets = &t->opset, .n_opsets = 1};
  t->opt.path = "m";
  return t;
}

/* Imports, and compares the nodes of the graph, or the codes of the diagnostics, with `want`, joined by blanks. */
static void finish(Test *t, const char *want) {
  Ir *ir = import_model(t->a, &t->diags, &t->model, &t->opt);
  StrBuf b = sb_new(t->a);
  for (size_t i = 0; ir && i < ir->main->nodes.n; i++) sb_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(ir->main->nodes.data[i]->src.op_type));
  for (size_t i = 0; !ir && i < t->diags.list.n; i++) sb_printf(&b, "%s%s", i ? " " : "", diag_rows[t->diags.list.data[i].code].name);
  sb_putc(&b, 0);
  assert_string_equal(b.data, want);
  arena_free(t->a);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
static void check(const char *const *lines, const char *want) { finish(start(lines), want); }

static void orders_nodes(void **state) {
  (void)state;
  check(LINES("Exp x -> a", "Add a y -> z"), "Exp Add");
  check(LINES("Add a y -> z", "Exp x -> a"), "Exp Add");
  check(LINES("Mul b c -> z", "Sub a y -> c", "Abs a -> b", "Exp x -> a"), "Exp Abs Sub Mul");
  check(LINES("Add x b -> a", "Exp a -> b", "Exp x -> z"), "E0203");
  check(LINES("Exp z -> z"), "E0203");
}

static void names(void **state) {
  (void)state;
  check(LINES("Exp q -> a", "Abs q -> b", "Add a b -> z"), "E0201");
  check(LINES("Exp x -> z", "Abs x -> z"), "E0202");
  check(LINES("Exp x -> y", "Abs x -> z"), "E0202");
  check(LINES("Exp x -> a"), "E0201");
  Test *t = start(LINES("Identity x -> z"));
  Ir *ir = import_model(t->a, &t->diags, &t->model, &t->opt);
  assert_non_null(ir);
  assert_true(str_is(ir->main->output_names.data[0], "z"));
  arena_free(t->a);
}

/* Everything that is missing is said, what depends on it is not. */
static void missing(void **state) {
  (void)state;
  check(LINES("Gizmo x -> a", "Exp a -> b", "my::Op b -> c", "Add c y -> z"), "E0301 E0301");
  check(LINES("Gizmo x -> a", "Gizmo y -> b", "Add a b -> z"), "E0301");
  check(LINES("ImageDecoder x -> z"), "E0302");
  check(LINES("HardSwish x -> z"), "E0302");
  check(LINES("ai.onnx::Exp x -> z"), "Exp");
}

static void operands(void **state) {
  (void)state;
  check(LINES("Exp x y -> z"), "E0305");
  check(LINES("Exp -> z"), "E0305");
  check(LINES("Add x _ -> z"), "E0305");
  check(LINES("Exp x -> z a"), "E0305");
  check(LINES("Clip x _ _ -> z"), "");
  check(LINES("Not x -> z"), "E0401");
  check(LINES("Cast x -> z"), "E0304");
  OnnxAttr attr = {.name = STR("alpha"), .type = ONNX_ATTR_INT, .has_type = true, .has_i = true, .i = 1};
  Test *t = start(LINES("Elu x -> z"));
  ((OnnxNode *)(uintptr_t)t->graph.nodes)->attrs = &attr;
  ((OnnxNode *)(uintptr_t)t->graph.nodes)->n_attrs = 1;
  finish(t, "E0304");
}

/* ---- functions ---- */
static const Str function_inputs[] = {{"p", 1}, {"q", 1}}, function_outputs[] = {{"r", 1}};

static OnnxFunction function(Arena *a, const char *name, const OnnxOpset *opset, const char *const *lines) {
  OnnxFunction f = {.name = str_c(name), .domain = STR("my"), .inputs = function_inputs, .n_inputs = 2, .outputs = function_outputs,
                    .n_outputs = 1, .opsets = opset, .n_opsets = 1};
  f.nodes = nodes(a, &f.n_nodes, lines);
  return f;
}

static void functions(void **state) {
  (void)state;
  Test *t = start(LINES("my::F x y -> z"));
  OnnxFunction f[2];
  f[0] = function(t->a, "F", &t->opset, LINES("my::G p q -> a", "Exp a -> r"));
  f[1] = function(t->a, "G", &t->opset, LINES("Clip p q -> b", "Abs b -> r"));
  t->model.functions = f;
  t->model.n_functions = 2;
  ((OnnxNode *)(uintptr_t)t->graph.nodes)->n_inputs = 1; /* q is left out, and so is Clip's bound */
  finish(t, "Abs Exp");

  t = start(LINES("my::F x y -> z"));
  f[0] = function(t->a, "F", &t->opset, LINES("my::G p q -> r"));
  f[1] = function(t->a, "G", &t->opset, LINES("my::F p q -> r"));
  t->model.functions = f;
  t->model.n_functions = 2;
  finish(t, "E0205");
}

/* Thirty functions, each calling the next one twice: a thousand million nodes if nothing stopped it. */
static void exponential_functions(void **state) {
  (void)state;
  enum { N = 30 };
  Test *t = start(LINES("my::F0 x y -> z"));
  OnnxFunction f[N];
  for (size_t i = 0; i + 1 < N; i++) {
    Str a = arena_printf(t->a, "my::F%zu p q -> a", i + 1), b = arena_printf(t->a, "my::F%zu a q -> r", i + 1);
    f[i] = function(t->a, arena_printf(t->a, "F%zu", i).ptr, &t->opset, LINES(a.ptr, b.ptr));
  }
  f[N - 1] = function(t->a, arena_printf(t->a, "F%d", N - 1).ptr, &t->opset, LINES("Add p q -> r"));
  t->model.functions = f;
  t->model.n_functions = N;
  finish(t, "E0502");
}

static void custom_operators(void **state) {
  (void)state;
  const struct ImportOp op = {STR("my"), STR("Op"), STR("my_op")};
  Test *t = start(LINES("my::Op x y -> z"));
  OnnxValueInfo z = tensor_info(t->a, "z", 1, -1);
  t->graph.outputs = &z;
  t->opt.ops = &op;
  t->opt.n_ops = 1;
  finish(t, "Op");
  t = start(LINES("my::Op x y -> z"));
  t->opt.ops = &op;
  t->opt.n_ops = 1;
  finish(t, "E0306"); /* no shape is declared */
}

static void types(void **state) {
  (void)state;
  Test *t = start(LINES("Add x y -> z"));
  OnnxValueInfo in[2] = {tensor_info(t->a, "x", 1, 3), tensor_info(t->a, "y", 1, 4)};
  t->graph.inputs = in;
  finish(t, "E0402");
  t = start(LINES("Add x y -> z"));
  in[0] = tensor_info(t->a, "x", 1, 3), in[1] = tensor_info(t->a, "y", 99, 3);
  t->graph.inputs = in;
  finish(t, "E0204");
  t = start(LINES("Add x y -> z"));
  OnnxValueInfo z = tensor_info(t->a, "z", 7, -1);
  t->graph.outputs = &z;
  finish(t, "E0204");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders_nodes), cmocka_unit_test(names), cmocka_unit_test(missing), cmocka_unit_test(operands),
      cmocka_unit_test(functions), cmocka_unit_test(exponential_functions), cmocka_unit_test(custom_operators), cmocka_unit_test(types)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
