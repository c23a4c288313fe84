/* Reads the text form that ir/text.c prints. Derived knowledge (content of values) is not part of it. */
#include "ir/parse_priv.h"

/* ---- values ---- */
static Str number_key(Parse *p, uint64_t id) { return arena_str(p->a, (Str){(const char *)&id, sizeof id}); }

static bool parse_ref(Parse *p, Value **ret) {
  uint64_t id;
  if (!parse_want(p, "%") || !parse_uint(p, UINT32_MAX - 1, &id)) return false;
  *ret = map_get(&p->values, (Str){(const char *)&id, sizeof id});
  return *ret || parse_fail(p, "a value that was not defined before");
}

static bool parse_type(Parse *p, Type *ret) {
  const bool sequence = parse_is(p, "seq("), optional = !sequence && parse_is(p, "opt(");
  *ret = (Type){.kind = sequence ? TYPE_SEQUENCE : TYPE_OPTIONAL};
  if (sequence || optional) {
    Type *elem = NEW(p->a, Type);
    ret->elem = elem;
    if (p->depth >= PARSE_DEPTH) return parse_fail(p, "nested too deeply");
    p->depth++;
    const bool ok = parse_type(p, elem) && parse_want(p, ")");
    p->depth--;
    return ok;
  }
  if (parse_is(p, "map(")) {
    *ret = (Type){.kind = TYPE_MAP, .key = dtype_from_name(parse_word(p))};
    if (!parse_want(p, ",")) return false;
    ret->dtype = dtype_from_name(parse_word(p));
    return ret->key && ret->dtype ? parse_want(p, ")") : parse_fail(p, "expected an element type");
  }
  const Dim *dims[MAX_RANK];
  uint32_t rank = 0;
  const DType t = dtype_from_name(parse_word(p));
  if (t == DT_NONE) return parse_fail(p, "expected an element type");
  if (!parse_want(p, "[")) return false;
  while (!parse_is(p, "]")) {
    if (rank == MAX_RANK) return parse_fail(p, "too many dimensions");
    if ((rank && !parse_want(p, ",")) || !parse_dim(p, &dims[rank++])) return false;
  }
  *ret = type_tensor(p->ir, t, rank, dims);
  return true;
}

typedef struct Declared {
  uint64_t id;
  Type type;
  Str name;
} Declared;

/* `%5:f32[2,n] "name"` */
static bool parse_declared(Parse *p, Declared *ret) {
  *ret = (Declared){0};
  if (!parse_want(p, "%") || !parse_uint(p, UINT32_MAX - 1, &ret->id) || !parse_want(p, ":") || !parse_type(p, &ret->type)) return false;
  if (map_has(&p->values, (Str){(const char *)&ret->id, sizeof ret->id})) return parse_fail(p, "a value is defined twice");
  return !parse_next(p, '"') || parse_string(p, &ret->name);
}

static void number_value(Parse *p, Value *v, uint64_t id) {
  v->id = (uint32_t)id;
  if (id >= p->ir->n_values) p->ir->n_values = (uint32_t)id + 1;
  map_put(&p->values, number_key(p, id), v);
}

/* ---- heads ---- */
static bool parse_symbol(Parse *p, DimOrigin origin) {
  Str name;
  int64_t lo, hi;
  const Dim *bound = NULL;
  if (parse_next(p, '"') ? !parse_string(p, &name) : (name = parse_word(p), !name.len)) return parse_fail(p, "expected a symbol");
  if (dim_symbol_find(p->ir->dims, name)) return parse_fail(p, "a symbol is defined twice");
  if (!parse_int(p, &lo) || !parse_want(p, "..") || !parse_int(p, &hi)) return false;
  if (lo > hi) return parse_fail(p, "an empty range");
  const Dim *d = dim_symbol(p->ir->dims, arena_str(p->a, name), lo, hi, origin);
  if (parse_is(p, "<=")) {
    if (!parse_dim(p, &bound)) return false;
    dim_symbol_set_bound(d, bound);
  }
  return true;
}

static bool parse_element(Parse *p, DType t, char *at) {
  uint64_t half[2] = {0};
  int64_t i;
  if (dtype_rows[t].kind == KIND_X) return parse_string(p, (Str *)(void *)at);
  if (t == DT_f32) return parse_f32(p, (float *)(void *)at);
  if (dtype_rows[t].kind == KIND_S) return parse_int(p, &i) && (dtype_write_bits(t, (uint64_t)i, at), true);
  if (!parse_uint(p, UINT64_MAX, &half[0])) return false;
  if (dtype_host_size(t) < 16) return dtype_write_bits(t, half[0], at), true;
  if (!parse_want(p, ":") || !parse_uint(p, UINT64_MAX, &half[1])) return false;
  memcpy(at, half, sizeof half);
  return true;
}

enum { PARSE_CONST_MAX = 1 << 26 };

static bool parse_content(Parse *p, const Type *type, const Tensor **ret) {
  int64_t n;
  if (type->kind != TYPE_TENSOR || !dim_is_const(type_count(p->ir, type), &n) || n < 0 || n > PARSE_CONST_MAX) return parse_fail(p, "a constant's type has to be a small tensor");
  const size_t size = dtype_host_size(type->dtype);
  char *elements = arena_array(p->a, (size_t)n, size);
  if (!parse_is(p, "...")) {
    if (!parse_want(p, "{")) return false;
    for (int64_t i = 0; i < n; i++)
      if ((i && !parse_want(p, ",")) || !parse_element(p, type->dtype, elements + (size_t)i * size)) return false;
    if (!parse_want(p, "}")) return false;
  }
  *ret = tensor_from_host(p->a, type->dtype, (size_t)n, elements);
  return true;
}

static bool parse_const(Parse *p) {
  Declared d;
  const Tensor *content = NULL;
  if (!parse_declared(p, &d) || !parse_want(p, "=") || !parse_content(p, &d.type, &content)) return false;
  number_value(p, ir_add_const(p->ir, d.type, content, d.name), d.id);
  return true;
}

static bool parse_check(Parse *p, const Graph *g) {
  Ir *ir = p->ir;
  const Dim *a, *b;
  if (!parse_dim(p, &a) || !parse_want(p, "==") || !parse_dim(p, &b)) return false;
  if (ir->n_checks == ir->cap_checks) ir->checks = vec_grow(p->a, ir->checks, &ir->cap_checks, sizeof *ir->checks);
  ir->checks[ir->n_checks++] = (struct IrDimCheck){a, b, g};
  return true;
}

/* ---- nodes ---- */
static bool parse_graph(Parse *p, Graph *g);

static bool parse_body(Parse *p, Graph *outer, Graph **ret) {
  if (p->depth >= PARSE_DEPTH) return parse_fail(p, "nested too deeply");
  p->depth++;
  *ret = graph_new(p->ir, outer);
  const bool ok = parse_want(p, "\n") && parse_graph(p, *ret) && parse_want(p, "}");
  p->depth--;
  return ok;
}

static bool parse_bodies(Parse *p, Node *n) {
  if (n->op == OP_LOOP) return parse_body(p, n->graph, &((LoopAttr *)(uintptr_t)n->attr)->body);
  IfAttr *branches = (IfAttr *)(uintptr_t)n->attr;
  return parse_body(p, n->graph, &branches->then_graph) && parse_want(p, "else {") && parse_body(p, n->graph, &branches->else_graph);
}

static bool parse_source(Parse *p, Node *n) {
  if (!parse_is(p, "#")) return true;
  n->src.has_node = true;
  return parse_string(p, &n->src.op_type) && (!parse_next(p, '"') || parse_string(p, &n->src.node_name));
}

static bool parse_op(Parse *p, Op *ret) {
  const Str w = parse_word(p);
  int op = 0;
  while (op < OP_COUNT && !str_is(w, op_names[op])) op++;
  *ret = (Op)op;
  return op < OP_COUNT || parse_fail(p, "an unknown operator");
}

/* `%3:f32[2] = POINTWISE(%0, -) expr=add(x0, x0)  # "Add" "layer/add"` */
static bool parse_node(Parse *p, Graph *g) {
  VEC(Declared) outs = {0};
  VEC(Value *) in = {0};
  Op op;
  while (!parse_is(p, "=")) {
    Declared d;
    if ((outs.n && !parse_want(p, ",")) || !parse_declared(p, &d)) return false;
    vec_push(p->a, outs, d);
  }
  if (!parse_op(p, &op) || !parse_want(p, "(")) return false;
  while (!parse_is(p, ")")) {
    Value *v = NULL;
    if ((in.n && !parse_want(p, ",")) || (!parse_is(p, "-") && !parse_ref(p, &v))) return false;
    vec_push(p->a, in, v);
  }
  Type *types = NEW_ARRAY(p->a, Type, outs.n);
  for (size_t k = 0; k < outs.n; k++) types[k] = outs.data[k].type;
  Node *n = graph_add_node(g, op, in.data, in.n, types, outs.n, arena_alloc(p->a, attr_size(op)), (DiagPlace){0});
  if (!parse_attrs(p, n)) return false;
  const bool bodies = op == OP_IF || op == OP_LOOP;
  if ((bodies && !parse_want(p, "{")) || !parse_source(p, n) || (bodies && !parse_bodies(p, n))) return false;
  for (size_t k = 0; k < outs.n; k++) {
    if (map_has(&p->values, (Str){(const char *)&outs.data[k].id, sizeof outs.data[k].id})) return parse_fail(p, "a value is defined twice");
    n->out[k]->name = outs.data[k].name;
    number_value(p, n->out[k], outs.data[k].id);
  }
  if (op == OP_DIMS && outs.n) n->out[0]->content = ((const DimsAttr *)n->attr)->content;
  return true;
}

static bool parse_input(Parse *p, Graph *g) {
  Declared d;
  if (!parse_declared(p, &d)) return false;
  Value *v = graph_add_value(g, d.type, d.name);
  vec_push(p->a, g->inputs, v);
  number_value(p, v, d.id);
  return true;
}

static bool parse_output(Parse *p, Graph *g) {
  Value *v;
  Str name = {0};
  if (!parse_ref(p, &v) || (parse_next(p, '"') && !parse_string(p, &name))) return false;
  vec_push(p->a, g->outputs, v);
  vec_push(p->a, g->output_names, name);
  return true;
}

static bool parse_line(Parse *p, Graph *g) {
  const bool main = g->parent == NULL;
  if (main && parse_is(p, "dim ")) return parse_symbol(p, DIM_FROM_INPUT);
  if (main && parse_is(p, "data ")) return parse_symbol(p, DIM_FROM_DATA);
  if (main && parse_is(p, "const ")) return parse_const(p);
  if (parse_is(p, "check ")) return parse_check(p, g);
  if (parse_is(p, "input ")) return parse_input(p, g);
  if (parse_is(p, "output ")) return parse_output(p, g);
  return parse_node(p, g);
}

static bool parse_graph(Parse *p, Graph *g) {
  for (;;) {
    parse_blank(p);
    if (!p->s.len || *p->s.ptr == '}') return true;
    if (*p->s.ptr != '\n' && !parse_line(p, g)) return false;
    if (!parse_want(p, "\n")) return false;
  }
}

Ir *ir_parse(Arena *a, Diags *d, Str text) {
  Parse p = {.a = a, .diags = d, .ir = ir_new(a, d), .start = text.ptr, .s = text, .values = map_new(a)};
  if (!parse_graph(&p, p.ir->main)) return NULL;
  if (p.s.len) return (void)parse_fail(&p, "a brace that nothing opened"), NULL;
  return p.ir;
}
