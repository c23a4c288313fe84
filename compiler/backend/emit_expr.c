#include "backend/emit_expr.h"

#include <stdlib.h>

enum { LINE = 96 }; /* longer text becomes a local */

const char *expr_register_ctype(DType t) { return dtype_rows[dtype_compute(t)].ctype; }

static bool is_narrow_float(DType t) { return dtype_is_float(t) && dtype_rows[t].bits < 32; }
static bool is_sub_byte(DType t) { return dtype_rows[t].bits < 8; }

/* ---- constants ------------------------------------------------------------------------------------------------------------ */
static Str float_text(EmitCtx *c, double v, const char *suffix, int digits) {
  if (v != v || v - v != 0.0) return (Str){0}; /* not finite: by its bits */
  Str s = arena_printf(c->arena, "%.*g", digits, v);
  bool plain = true;
  for (size_t i = 0; i < s.len; i++) plain = plain && s.ptr[i] != '.' && s.ptr[i] != 'e';
  return arena_printf(c->arena, v < 0 || (v == 0 && s.ptr[0] == '-') ? "(%s%s%s)" : "%s%s%s", s.ptr, plain ? ".0" : "", suffix);
}

/* The shortest text of at most 9 (17) digits that reads back the same. */
static Str f32_text(EmitCtx *c, uint32_t bits) {
  float f, back;
  memcpy(&f, &bits, sizeof f);
  for (int digits = 6; digits <= 9; digits++) {
    Str s = float_text(c, (double)f, "f", digits);
    if (!s.len) break;
    back = strtof(arena_printf(c->arena, "%.*g", digits, (double)f).ptr, NULL);
    if (back == f) return s;
  }
  const char *word = f != f ? "NaN" : f > 0 ? "infinity" : "-infinity";
  return arena_printf(c->arena, "cn_from_bits_f32(0x%08xu /* %s */)", bits, word);
}

static Str f64_text(EmitCtx *c, uint64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  Str s = float_text(c, f, "", 17);
  return s.len ? s : arena_printf(c->arena, "cn_from_bits_f64(UINT64_C(0x%016llx))", (unsigned long long)bits);
}

Str expr_const_text(EmitCtx *c, DType type, uint64_t bits) {
  DType t = dtype_compute(type);
  if (t == DT_f32) return f32_text(c, (uint32_t)bits);
  if (t == DT_f64) return f64_text(c, bits);
  unsigned width = dtype_rows[t].bits;
  if (dtype_rows[t].kind == KIND_S) {
    int64_t v = (int64_t)(bits << (64 - width)) >> (64 - width);
    if (width == 64 && v == INT64_MIN) return STR("INT64_MIN");
    if (width == 32 && v == INT32_MIN) return STR("INT32_MIN");
    return arena_printf(c->arena, width == 64 ? (v < 0 ? "(-INT64_C(%lld))" : "INT64_C(%lld)") : v < 0 ? "(-%lld)" : "%lld",
                        (long long)(v < 0 ? -v : v));
  }
  return arena_printf(c->arena, width == 64 ? "UINT64_C(%llu)" : width == 32 ? "%lluu" : "%llu", (unsigned long long)bits);
}

Str expr_bare(Str x) {
  int open = 0;
  if (x.len < 2 || x.ptr[0] != '(' || x.ptr[x.len - 1] != ')') return x;
  for (size_t i = 0; i + 1 < x.len; i++) {
    open += x.ptr[i] == '(' ? 1 : x.ptr[i] == ')' ? -1 : 0;
    if (open == 0) return x;
  }
  return (Str){x.ptr + 1, x.len - 2};
}

/* ---- functions, conversions -------------------------------------------------------------------------------------------------- */
Str expr_fn_text(EmitCtx *c, ScalarFn fn, DType type, const Str *args) {
  const ScalarRow *row = &scalar_rows[fn];
  DType t = dtype_compute(type);
  StrBuf b = sb_new(c->arena);
  if (row->c_format && dtype_is_float(t)) {
    const char *f = row->c_format;
    for (int k = 0; *f; f++) {
      if (f[0] == '%' && f[1] == 's') sb_str(&b, args[k++]), f++;
      else sb_putc(&b, *f);
    }
    return sb_view(&b);
  }
  sb_printf(&b, "cn_%s_%s(", row->name, dtype_name(t));
  for (unsigned k = 0; k < row->arity; k++) {
    if (k) sb_puts(&b, ", ");
    sb_str(&b, expr_bare(args[k]));
  }
  sb_putc(&b, ')');
  return sb_view(&b);
}

static Str call1(EmitCtx *c, const char *f, Str x) {
  x = expr_bare(x);
  StrBuf b = sb_new(c->arena);
  sb_puts(&b, f);
  sb_putc(&b, '(');
  sb_str(&b, x);
  sb_putc(&b, ')');
  return sb_view(&b);
}

/* A conversion between types as stored. */
static Str convert(EmitCtx *c, DType from, DType to, bool saturate, Str x) {
  const CastStep *path[CAST_STEPS];
  size_t n = cast_path(from, to, saturate, path);
  for (size_t i = 0; i < n; i++) x = call1(c, path[i]->name, x);
  return x;
}

/* Register value of type `from` to the register value of type `to`, rounded as `to` is. */
static Str cast_text(EmitCtx *c, DType from, DType to, bool saturate, Str x) {
  x = convert(c, dtype_compute(from), to, saturate, x);
  return is_narrow_float(to) ? convert(c, to, DT_f32, true, x) : x;
}

/* The register value of type `to` that has the bits of one of type `from`. */
static Str bits_text(EmitCtx *c, DType from, DType to, Str x) {
  const CastStep *path[CAST_STEPS];
  const size_t n = bits_path(from, to, path);
  for (size_t i = 0; i < n; i++) x = call1(c, path[i]->name, x);
  return x;
}

/* A register value after an operation at type t: rounded (narrow floats), wrapped (sub-byte integers). */
static Str settle_text(EmitCtx *c, DType t, Str x) {
  return is_narrow_float(t) || is_sub_byte(t) ? cast_text(c, dtype_compute(t), t, true, x) : x;
}

Str expr_load_text(EmitCtx *c, DType storage, Str pointer, Str index) {
  if (is_sub_byte(storage)) {
    Str got = arena_printf(c->arena, "cn_get_%s(%.*s, (size_t)(%.*s))", dtype_name(storage), STR_WHOLE(pointer), STR_WHOLE(index));
    return is_narrow_float(storage) ? convert(c, storage, DT_f32, true, got) : got;
  }
  Str at = arena_printf(c->arena, "%.*s[%.*s]", STR_WHOLE(pointer), STR_WHOLE(index));
  return is_narrow_float(storage) ? convert(c, storage, DT_f32, true, at) : at;
}

/* What a register's value was widened from, as it is stored; len 0 where that is not its last step. */
static Str before_widening(DType storage, Str value) {
  const CastStep *path[CAST_STEPS];
  if (cast_path(storage, DT_f32, true, path) != 1) return (Str){0};
  const size_t n = strlen(path[0]->name);
  value = expr_bare(value);
  if (value.len < n + 2 || memcmp(value.ptr, path[0]->name, n) != 0) return (Str){0};
  const Str call = {value.ptr + n, value.len - n}, inner = expr_bare(call);
  return inner.len < call.len ? inner : (Str){0};
}

Str expr_store_text(EmitCtx *c, DType storage, Str pointer, Str index, Str value) {
  Str stored = value;
  if (is_narrow_float(storage)) stored = before_widening(storage, value);
  if (!stored.len) stored = convert(c, DT_f32, storage, false, value); /* rounded before: nothing saturates */
  if (is_sub_byte(storage))
    return arena_printf(c->arena, "cn_put_%s(%.*s, (size_t)(%.*s), %.*s);", dtype_name(storage), STR_WHOLE(pointer), STR_WHOLE(index), STR_WHOLE(stored));
  StrBuf b = sb_new(c->arena);
  sb_str(&b, pointer);
  sb_putc(&b, '[');
  sb_str(&b, index);
  sb_puts(&b, "] = ");
  sb_str(&b, expr_bare(stored));
  sb_putc(&b, ';');
  return sb_view(&b);
}

/* ---- depths -------------------------------------------------------------------------------------------------------------------- */
static unsigned access_depth(const ExprPrinter *p, const Access *a) {
  unsigned depth = 0;
  for (uint32_t j = 0; j < p->n_axes; j++)
    if (!dim_is(a->stride[j], 0)) depth = j + 1;
  for (uint32_t k = 0; k < a->n_indirect; k++)
    if (p->depth[a->indirect[k].node] > depth) depth = p->depth[a->indirect[k].node];
  return depth;
}

static unsigned node_depth(const ExprPrinter *p, const ExprNode *n) {
  unsigned depth = 0;
  if (n->kind == EXPR_INDEX) return n->axis + 1;
  if (n->kind == EXPR_INPUT) return p->given && p->given[n->operand].len ? p->n_axes : access_depth(p, &p->accesses[n->operand]);
  for (unsigned k = 0; k < expr_node_arity(n); k++)
    if (p->depth[n->args[k]] > depth) depth = p->depth[n->args[k]];
  return depth;
}

ExprPrinter expr_printer(EmitCtx *c, const Expr *e, uint32_t n_axes, const Str *coords, const Access *accesses, const Str *pointers,
                         const Str *given, const char *prefix, bool wide) {
  ExprPrinter p = {.c = c, .e = e, .n_axes = n_axes, .coords = coords, .given = given, .accesses = accesses, .pointers = pointers,
                   .prefix = prefix, .wide = wide};
  p.depth = NEW_ARRAY(c->arena, unsigned, e->n);
  p.text = NEW_ARRAY(c->arena, Str, e->n);
  p.local = NEW_ARRAY(c->arena, bool, e->n);
  p.computed = NEW_ARRAY(c->arena, Str, e->n);
  uint32_t *uses = NEW_ARRAY(c->arena, uint32_t, e->n);
  for (uint32_t i = 0; i < e->n; i++) p.depth[i] = node_depth(&p, &e->nodes[i]);
  for (uint32_t i = 0; i < e->n; i++) {
    const ExprNode *n = &e->nodes[i];
    for (unsigned k = 0; k < expr_node_arity(n); k++) {
      uses[n->args[k]]++;
      if (p.depth[n->args[k]] < p.depth[i]) p.local[n->args[k]] = true;
    }
    if (n->kind == EXPR_INPUT && !(given && given[n->operand].len))
      for (uint32_t k = 0; k < accesses[n->operand].n_indirect; k++) p.local[accesses[n->operand].indirect[k].node] = true;
  }
  for (uint32_t i = 0; i < e->n; i++) {
    const ExprNode *n = &e->nodes[i];
    bool trivial = n->kind == EXPR_CONST || n->kind == EXPR_INDEX || n->kind == EXPR_DIM ||
                   (n->kind == EXPR_INPUT && given && given[n->operand].len);
    p.local[i] = !trivial && (p.local[i] || uses[i] > 1 || (i + 1 == e->n && p.depth[i] < n_axes));
  }
  return p;
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------------------- */
static void term_text(ExprPrinter *p, StrBuf *b, Str factor, const Dim *stride) {
  bool minus = stride->kind == DIM_CONST && stride->value < 0 && stride->value != INT64_MIN;
  if (b->len) sb_puts(b, minus ? " - " : " + ");
  else if (minus) sb_putc(b, '-');
  sb_str(b, factor);
  const Dim *magnitude = minus ? dim_const(p->c->program->dims, -stride->value) : stride;
  if (dim_is(magnitude, 1)) return;
  sb_puts(b, " * ");
  emit_dim(p->c, b, magnitude);
}

static bool is_load(const ExprPrinter *p, uint32_t node) {
  const ExprNode *n = &p->e->nodes[node];
  return n->kind == EXPR_INPUT && !(p->given && p->given[n->operand].len);
}

/* "k3_5": tensor 3 at node 5; "k3_5b" where that is held against another bound, too: two axes with one index. */
static Str place_name(ExprPrinter *p, const Access *a, const IndirectTerm *t) {
  const Dim *bounds[26];
  unsigned n = 0;
  for (uint32_t i = 0; i <= p->e->n; i++) { /* loads in order, then the access itself, which may be a store */
    if (i < p->e->n && !is_load(p, i)) continue;
    const Access *other = i < p->e->n ? &p->accesses[p->e->nodes[i].operand] : a;
    for (uint32_t k = 0; other->tensor == a->tensor && k < other->n_indirect && n < sizeof bounds / sizeof *bounds; k++) {
      bool known = other->indirect[k].node != t->node;
      for (unsigned j = 0; j < n; j++) known |= bounds[j] == other->indirect[k].bound;
      if (!known) bounds[n++] = other->indirect[k].bound;
    }
  }
  unsigned at = 0;
  while (at + 1 < n && bounds[at] != t->bound) at++;
  return arena_printf(p->c->arena, at ? "k%u_%u%c" : "k%u_%u", a->tensor, t->node, 'a' + at);
}

Str expr_print_index(ExprPrinter *p, const Access *a) {
  StrBuf b = sb_new(p->c->arena);
  for (uint32_t j = 0; j < p->n_axes; j++)
    if (!dim_is(a->stride[j], 0)) term_text(p, &b, p->coords[j], a->stride[j]);
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    term_text(p, &b, place_name(p, a, &a->indirect[k]), a->indirect[k].stride);
  }
  int64_t offset;
  if (dim_is_const(a->offset, &offset)) {
    if (offset > 0 && b.len) sb_printf(&b, " + %lld", (long long)offset);
    else if (offset < 0 && offset != INT64_MIN && b.len) sb_printf(&b, " - %lld", (long long)-offset);
    else if (!b.len) sb_printf(&b, "%lld", (long long)offset);
  } else {
    if (b.len) sb_puts(&b, " + ");
    emit_dim(p->c, &b, a->offset);
  }
  return expr_bare(sb_view(&b));
}

/* The checked place that a term names, declared before it is used: `const int64_t k3_5 = cn_index(t5, 100);`. */
static void print_term(ExprPrinter *p, StrBuf *b, const Access *a, const IndirectTerm *t, unsigned indent) {
  const Str name = place_name(p, a, t);
  sb_printf(b, "%*sconst int64_t %.*s = ", (int)indent, "", STR_WHOLE(name));
  if (t->sure) {
    sb_printf(b, "%.*s;\n", STR_WHOLE(p->text[t->node]));
    return;
  }
  sb_printf(b, "cn_index(%.*s, ", STR_WHOLE(p->text[t->node]));
  emit_dim(p->c, b, t->bound);
  sb_printf(b, ");\n%*sif (%.*s < 0) %s\n", (int)indent, "", STR_WHOLE(name), p->c->bad_index);
  p->may_fail = true;
}

void expr_print_checks(ExprPrinter *p, StrBuf *b, const Access *a, unsigned indent) {
  for (uint32_t k = 0; k < a->n_indirect; k++) print_term(p, b, a, &a->indirect[k], indent);
}

/* Whether load `operand` has a term of that node ahead of its k'th, or an earlier load of the same tensor has: they share a place. */
static bool is_declared(const ExprPrinter *p, uint32_t load, uint32_t k) {
  const Access *own = &p->accesses[p->e->nodes[load].operand];
  for (uint32_t i = 0; i <= load; i++) {
    if (!is_load(p, i)) continue;
    const Access *a = &p->accesses[p->e->nodes[i].operand];
    for (uint32_t j = 0; j < (i == load ? k : a->n_indirect); j++)
      if (a->tensor == own->tensor && a->indirect[j].node == own->indirect[k].node && a->indirect[j].bound == own->indirect[k].bound) return true;
  }
  return false;
}

/* The places of all loads that the node's value is an index of. */
static void print_places(ExprPrinter *p, StrBuf *b, uint32_t node, unsigned indent) {
  for (uint32_t i = node + 1; i < p->e->n; i++) {
    if (!is_load(p, i)) continue;
    const Access *a = &p->accesses[p->e->nodes[i].operand];
    for (uint32_t k = 0; k < a->n_indirect; k++)
      if (a->indirect[k].node == node && !is_declared(p, i, k)) print_term(p, b, a, &a->indirect[k], indent);
  }
}

static Str node_text(ExprPrinter *p, const ExprNode *n) {
  EmitCtx *c = p->c;
  Str args[3];
  for (unsigned k = 0; k < expr_node_arity(n); k++) args[k] = p->text[n->args[k]];
  switch (n->kind) {
    case EXPR_INPUT: {
      if (p->given && p->given[n->operand].len) return p->given[n->operand];
      const Access *a = &p->accesses[n->operand];
      return expr_load_text(c, c->program->tensors.data[a->tensor].dtype, p->pointers[n->operand], expr_print_index(p, a));
    }
    case EXPR_CONST: return expr_const_text(c, n->type, n->bits);
    case EXPR_DIM: {
      StrBuf d = sb_new(c->arena);
      emit_dim(c, &d, n->dim);
      return sb_view(&d);
    }
    case EXPR_INDEX:
      if (p->places) return p->places[n->axis];
      return p->wide ? p->coords[n->axis] : arena_printf(c->arena, "(int64_t)%.*s", STR_WHOLE(p->coords[n->axis]));
    case EXPR_FN: {
      DType at = expr_fn_type(p->e, n);
      Str x = expr_fn_text(c, n->fn, at, args);
      return scalar_result(n->fn, dtype_compute(at)) == DT_b1 ? x : settle_text(c, n->type, x);
    }
    case EXPR_CAST: return cast_text(c, p->e->nodes[n->args[0]].type, n->type, n->saturate, args[0]);
    case EXPR_BITS: return bits_text(c, p->e->nodes[n->args[0]].type, n->type, args[0]);
  }
  return (Str){0};
}

static void declare(ExprPrinter *p, StrBuf *b, uint32_t i, unsigned indent) {
  const ExprNode *n = &p->e->nodes[i];
  const bool last = i + 1 == p->e->n;
  if (p->computed[i].len) {
    p->text[i] = p->computed[i];
    return;
  }
  p->text[i] = node_text(p, n);
  if (!p->local[i] && !(p->text[i].len > LINE && !last && expr_node_arity(n))) return;
  sb_printf(b, "%*sconst %s %s%u = ", (int)indent, "", expr_register_ctype(n->type), p->prefix, i);
  sb_str(b, expr_bare(p->text[i]));
  sb_puts(b, ";\n");
  p->text[i] = arena_printf(p->c->arena, "%s%u", p->prefix, i);
}

void expr_print_depth(ExprPrinter *p, StrBuf *b, unsigned depth, unsigned indent) {
  for (uint32_t i = 0; i < p->e->n; i++) {
    if (p->depth[i] != depth || (p->wanted && !p->wanted[i])) continue;
    declare(p, b, i, indent);
    print_places(p, b, i, indent);
  }
}

/* ---- functions of lanes: compilers make no vectors of those that look up tables ---------------------------------------------------- */
static bool has_vectors(ScalarFn fn) {
  return fn == SC_sqrt || fn == SC_round_f16 || fn == SC_erf_sqrt2 || fn == SC_tanh || fn == SC_gelu || fn == SC_gelu_tanh;
}

static bool is_lane_call(const ExprPrinter *p, uint32_t node, unsigned depth) {
  const ExprNode *n = &p->e->nodes[node];
  return n->kind == EXPR_FN && has_vectors(n->fn) && n->type == DT_f32 && p->depth[node] >= depth && !p->computed[node].len;
}

bool expr_calls_lanes(const ExprPrinter *p, unsigned depth) {
  for (uint32_t i = 0; i < p->e->n; i++)
    if (is_load(p, i) && p->accesses[p->e->nodes[i].operand].n_indirect) return false;
  for (uint32_t i = 0; p->c->opt->target->vector_bits >= 128 && i < p->e->n; i++)
    if (is_lane_call(p, i, depth)) return true;
  return false;
}

unsigned expr_lane_calls(const Expr *e) {
  unsigned n = 0;
  for (uint32_t i = 0; i < e->n; i++) n += e->nodes[i].kind == EXPR_FN && has_vectors(e->nodes[i].fn) && e->nodes[i].type == DT_f32;
  return n;
}

/* What a node's value is computed from, itself too, as far as it has not been. */
static const bool *all_under(const ExprPrinter *p, uint32_t node) {
  bool *under = NEW_ARRAY(p->c->arena, bool, p->e->n);
  under[node] = true;
  for (uint32_t i = node + 1; i-- > 0;)
    if (under[i] && !p->computed[i].len)
      for (unsigned k = 0; k < expr_node_arity(&p->e->nodes[i]); k++) under[p->e->nodes[i].args[k]] = true;
  return under;
}

/* A pointer to a loaded node's values for all lanes; len 0 where they do not lie side by side. */
static Str lanes_pointer(ExprPrinter *p, uint32_t node, const LaneLoop *loop) {
  EmitCtx *c = p->c;
  const ExprNode *n = &p->e->nodes[node];
  if (!is_load(p, node)) return (Str){0};
  Access first = p->accesses[n->operand];
  const uint32_t axis = loop->depth - 1;
  if (c->program->tensors.data[first.tensor].dtype != DT_f32 || first.n_indirect || !dim_is(first.stride[axis], 1)) return (Str){0};
  const Dim **stride = arena_dup(c->arena, first.stride, p->n_axes * sizeof *stride);
  stride[axis] = c->program->dims->zero;
  first.stride = stride;
  for (uint32_t j = 0; j < p->n_axes; j++)
    if (!dim_is(stride[j], 0) && str_is(p->coords[j], loop->index)) return (Str){0};
  const Str rest = expr_print_index(p, &first);
  StrBuf b = sb_new(c->arena);
  sb_str(&b, p->pointers[n->operand]);
  if (loop->base) sb_printf(&b, " + %s", loop->base);
  if (!str_is(rest, "0")) sb_printf(&b, " + %.*s", STR_WHOLE(rest));
  return sb_view(&b);
}

/* What computes with vectors as the scalar function does with each lane; NULL: none does. */
static const char *vector_name(ScalarFn fn) {
  switch (fn) {
    case SC_add: return "cn_vf32_add";
    case SC_sub: return "cn_vf32_sub";
    case SC_mul: return "cn_vf32_mul";
    case SC_div: return "cn_vf32_div";
    case SC_abs: return "cn_vf32_abs";
    case SC_sqrt: return "cn_vf32_sqrt";
    case SC_round_f16: return "cn_vf32_round_f16";
    case SC_erf_sqrt2: return "cn_erf_sqrt2_vf32";
    case SC_tanh: return "cn_tanh_vf32";
    case SC_gelu: return "cn_gelu_vf32";
    case SC_gelu_tanh: return "cn_gelu_tanh_vf32";
    default: return NULL;
  }
}

/* Functions of lanes by expressions of vectors: what stands between such functions, and before them, is computed in registers, too. */
typedef struct VectorPrinter {
  ExprPrinter *p;
  StrBuf *b;
  const LaneLoop *loop;
  unsigned indent;
  const bool *joined; /* by node: its value is needed for another's vector alone */
  bool stores;        /* the result is a vector that goes where results go */
} VectorPrinter;

static bool has_vector(const ExprPrinter *p, uint32_t node, unsigned depth) {
  const ExprNode *n = &p->e->nodes[node];
  return n->kind == EXPR_FN && n->type == DT_f32 && vector_name(n->fn) && p->depth[node] >= depth && !p->computed[node].len;
}

/* Whether the result is a function of lanes, or made of vectors of such. */
static bool is_vector(const ExprPrinter *p, uint32_t node, unsigned depth) {
  if (is_lane_call(p, node, depth)) return true;
  bool any = false;
  for (unsigned k = 0; has_vector(p, node, depth) && k < expr_node_arity(&p->e->nodes[node]); k++) any = any || is_vector(p, p->e->nodes[node].args[k], depth);
  return any;
}

/* Nodes whose value one other node needs, as a vector, which is or is needed for a function of lanes, or for a result that is stored as a vector. */
static const bool *joined_nodes(const ExprPrinter *p, unsigned depth, bool stores) {
  const uint32_t n = p->e->n;
  bool *joined = NEW_ARRAY(p->c->arena, bool, n);
  const bool *live = all_under(p, n - 1);
  uint32_t *uses = NEW_ARRAY(p->c->arena, uint32_t, n), *user = NEW_ARRAY(p->c->arena, uint32_t, n);
  for (uint32_t i = n; i-- > 0;) {
    const uint32_t u = user[i];
    joined[i] = uses[i] == 1 && has_vector(p, i, depth) && has_vector(p, u, depth) && (is_lane_call(p, u, depth) || joined[u] || (stores && u == n - 1));
    for (unsigned k = 0; live[i] && k < expr_node_arity(&p->e->nodes[i]); k++) uses[p->e->nodes[i].args[k]]++, user[p->e->nodes[i].args[k]] = i;
  }
  return joined;
}

static Str lanes_name(const ExprPrinter *p, uint32_t node) { return arena_printf(p->c->arena, "%s%us", p->prefix, node); }

static void declare_lanes(const ExprPrinter *p, StrBuf *b, const LaneLoop *loop, uint32_t node, unsigned indent) { /* a vector is in one line */
  sb_printf(b, "%*sCN_ALIGN(64) float %.*s[%d];\n", (int)indent, "", STR_WHOLE(lanes_name(p, node)), loop->lanes);
}

static const char *lanes_count(const ExprPrinter *p, const LaneLoop *loop) { return loop->count ? loop->count : arena_printf(p->c->arena, "%d", loop->lanes).ptr; }

/* The node's values, lane by lane, into its declared array. */
static void print_lane_loop(ExprPrinter *p, StrBuf *b, const LaneLoop *loop, uint32_t node, Str into, unsigned indent) {
  p->wanted = all_under(p, node);
  sb_printf(b, "%*sCN_LANES\n%*sfor (%s %s = 0; %s < %s; %s++) {\n", (int)indent, "", (int)indent, "", loop->type, loop->index, loop->index, lanes_count(p, loop), loop->index);
  for (unsigned d = loop->depth; d <= p->n_axes; d++) expr_print_depth(p, b, d, indent + 2);
  sb_printf(b, "%*s%.*s[%s] = %.*s;\n%*s}\n", (int)indent + 2, "", STR_WHOLE(into), loop->index, STR_WHOLE(expr_bare(p->text[node])), (int)indent, "");
}

static void set_computed(ExprPrinter *p, const LaneLoop *loop, uint32_t node) {
  p->computed[node] = arena_printf(p->c->arena, "%.*s[%s]", STR_WHOLE(lanes_name(p, node)), loop->index);
}

/* The vector of a node's values in the loop over vectors, arrays of whose lanes are there. */
static Str vector_text(const VectorPrinter *v, uint32_t node) {
  ExprPrinter *p = v->p;
  Arena *a = p->c->arena;
  const ExprNode *n = &p->e->nodes[node];
  if (p->computed[node].len) return arena_printf(a, "cn_vf32_load(%.*s + %s)", STR_WHOLE(lanes_name(p, node)), v->loop->index);
  if (p->depth[node] < v->loop->depth) return arena_printf(a, "cn_vf32_set1(%.*s)", STR_WHOLE(expr_bare(p->text[node])));
  const Str loaded = lanes_pointer(p, node, v->loop);
  if (loaded.len) return arena_printf(a, "cn_vf32_load(%.*s + %s)", STR_WHOLE(loaded), v->loop->index);
  const Str x = vector_text(v, n->args[0]);
  if (scalar_rows[n->fn].arity == 1) return arena_printf(a, "%s(%.*s)", vector_name(n->fn), STR_WHOLE(x));
  return arena_printf(a, "%s(%.*s, %.*s)", vector_name(n->fn), STR_WHOLE(x), STR_WHOLE(vector_text(v, n->args[1])));
}

/* Arrays of what the node's vector is made of and is none itself. */
static void print_vector_leaves(const VectorPrinter *v, uint32_t node) {
  ExprPrinter *p = v->p;
  for (unsigned k = 0; k < expr_node_arity(&p->e->nodes[node]); k++) {
    const uint32_t arg = p->e->nodes[node].args[k];
    if (p->computed[arg].len || p->depth[arg] < v->loop->depth || lanes_pointer(p, arg, v->loop).len) continue;
    if (v->joined[arg]) {
      print_vector_leaves(v, arg);
      continue;
    }
    declare_lanes(p, v->b, v->loop, arg, v->indent);
    print_lane_loop(p, v->b, v->loop, arg, lanes_name(p, arg), v->indent);
    set_computed(p, v->loop, arg);
  }
}

/* Whether loops over lanes read node's array: clang would take the first lane from the vector that is stored, and make masked vectors of the others. */
static bool is_read_by_lanes(const VectorPrinter *v, uint32_t node) {
  const ExprPrinter *p = v->p;
  const bool *live = all_under(p, p->e->n - 1);
  for (uint32_t i = node + 1; i < p->e->n; i++)
    for (unsigned k = 0; live[i] && k < expr_node_arity(&p->e->nodes[i]); k++)
      if (p->e->nodes[i].args[k] == node && !v->joined[i] && !is_lane_call(p, i, v->loop->depth) && !(v->stores && i + 1 == p->e->n)) return true;
  return node + 1 == p->e->n;
}

static void print_vector(const VectorPrinter *v, uint32_t node) {
  ExprPrinter *p = v->p;
  const Str name = lanes_name(p, node);
  const bool result = v->stores && node + 1 == p->e->n;
  print_vector_leaves(v, node);
  if (!result) declare_lanes(p, v->b, v->loop, node, v->indent);
  const char *index = v->loop->index;
  sb_printf(v->b, "%*sfor (%s %s = 0; %s < %d; %s += CN_VF32_LANES) ", (int)v->indent, "", v->loop->type, index, index, v->loop->lanes, index);
  sb_printf(v->b, "cn_vf32_store(%s + %s, %.*s);\n", result ? v->loop->into : name.ptr, index, STR_WHOLE(vector_text(v, node)));
  if (result) return;
  if (is_read_by_lanes(v, node)) sb_printf(v->b, "%*sCN_IN_MEMORY(%.*s);\n", (int)v->indent, "", STR_WHOLE(name));
  set_computed(p, v->loop, node);
}

static void print_call(ExprPrinter *p, StrBuf *b, const LaneLoop *loop, uint32_t node, unsigned indent) {
  const ExprNode *n = &p->e->nodes[node];
  const Str values = lanes_name(p, node);
  Str from = lanes_pointer(p, n->args[0], loop);
  declare_lanes(p, b, loop, node, indent);
  if (!from.len) print_lane_loop(p, b, loop, n->args[0], values, indent), from = values;
  sb_printf(b, "%*scn_%s_lanes_f32(%.*s, %.*s, %s%s);\n", (int)indent, "", scalar_rows[n->fn].name, STR_WHOLE(values), STR_WHOLE(from), loop->count ? "(size_t)" : "", lanes_count(p, loop));
  set_computed(p, loop, node);
}

bool expr_print_lane_calls(ExprPrinter *p, StrBuf *b, const LaneLoop *loop, unsigned indent) {
  if (!expr_calls_lanes(p, loop->depth)) return false;
  const uint32_t last = p->e->n - 1;
  const bool vectors = !loop->count && loop->lanes % (int)(p->c->opt->target->vector_bits / 32) == 0, stores = vectors && loop->into && is_vector(p, last, loop->depth);
  const VectorPrinter v = {p, b, loop, indent, vectors ? joined_nodes(p, loop->depth, stores) : NULL, stores};
  for (uint32_t i = 0; i <= last; i++) {
    if (!(is_lane_call(p, i, loop->depth) || (stores && i == last)) || (vectors && v.joined[i])) continue;
    if (vectors) print_vector(&v, i);
    else print_call(p, b, loop, i, indent);
  }
  p->wanted = all_under(p, last); /* not again what only the calls needed */
  return stores;
}

Str expr_print_result(ExprPrinter *p) { return p->text[p->e->n - 1]; }

bool expr_indices_narrow(const Program *p, const Access *a, size_t n, const Dim *const *extent, uint32_t n_axes) {
  int64_t e, s;
  for (uint32_t j = 0; j < n_axes; j++)
    if (!dim_is_const(extent[j], &e) || e > INT32_MAX / 2) return false;
  for (size_t k = 0; k < n; k++) {
    int64_t last;
    if (a[k].n_indirect || !dim_is_const(a[k].offset, &last)) return false;
    last = last < 0 ? -last : last;
    for (uint32_t j = 0; j < n_axes; j++) {
      if (!dim_is_const(a[k].stride[j], &s) || !dim_is_const(extent[j], &e)) return false;
      if (!i64_mul(s < 0 ? -s : s, e, &s) || !i64_add(last, s, &last)) return false;
    }
    if (last > INT32_MAX / 2) return false;
  }
  (void)p;
  return true;
}
