#include "lower/program.h"

const char *const step_names[STEP_COUNT] = {
#define STEP(name, attr) #name,
#include "lower/step.def"
#undef STEP
};

uint32_t program_add_buffer(Program *p, Buffer b) {
  vec_push(p->arena, p->buffers, b);
  return (uint32_t)p->buffers.n - 1;
}

uint32_t program_add_tensor(Program *p, PTensor t) {
  vec_push(p->arena, p->tensors, t);
  return (uint32_t)p->tensors.n - 1;
}

bool ptensor_is_contiguous(DimCtx *c, const PTensor *t) {
  const Dim *step = c->one;
  for (uint32_t a = t->rank; a-- > 0;) {
    if (!dim_is(t->dims[a], 1) && t->strides[a] != step) return false;
    step = dim_mul(c, step, t->dims[a]);
  }
  return true;
}

/* ---- combining ------------------------------------------------------------------------------------------------------------ */
ScalarFn reduce_combiner(ReduceKind kind) {
  static const ScalarFn fns[] = {[REDUCE_SUM] = SC_add, [REDUCE_PROD] = SC_mul, [REDUCE_MAX] = SC_max,
                                 [REDUCE_MIN] = SC_min, [REDUCE_ANY] = SC_or,   [REDUCE_ALL] = SC_and};
  return fns[kind];
}

ScalarFn scatter_combiner(ScatterKind kind) {
  static const ScalarFn fns[] = {[SCATTER_ADD] = SC_add, [SCATTER_MUL] = SC_mul, [SCATTER_MIN] = SC_min, [SCATTER_MAX] = SC_max};
  return fns[kind];
}

uint64_t reduce_identity(ReduceKind kind, DType acc) {
  DType t = dtype_compute(acc);
  bool is_float = dtype_is_float(t), is_signed = dtype_rows[t].kind == KIND_S, wide = dtype_rows[t].bits == 64;
  uint64_t ones = wide ? UINT64_MAX : ((uint64_t)1 << dtype_rows[t].bits) - 1, top = (ones >> 1) + 1;
  switch (kind) {
    case REDUCE_PROD: return !is_float ? 1 : wide ? 0x3ff0000000000000u : 0x3f800000u;
    case REDUCE_ALL: return 1;
    case REDUCE_MAX: return is_float ? (wide ? 0xfff0000000000000u : 0xff800000u) : is_signed ? top : 0;
    case REDUCE_MIN: return is_float ? (wide ? 0x7ff0000000000000u : 0x7f800000u) : is_signed ? top - 1 : ones;
    default: return 0;
  }
}

/* ---- text ---------------------------------------------------------------------------------------------------------------- */
static void dims_print(StrBuf *b, const Dim *const *d, uint32_t n) {
  sb_putc(b, '[');
  for (uint32_t i = 0; i < n; i++) {
    if (i) sb_puts(b, ", ");
    dim_print(b, d[i]);
  }
  sb_putc(b, ']');
}

static void tensor_print(StrBuf *b, const Program *p, uint32_t id) {
  static const char *const kinds[] = {"in", "out", "const", "arena"};
  if (id == NO_TENSOR) {
    sb_putc(b, '-');
    return;
  }
  const PTensor *t = &p->tensors.data[id];
  const Buffer *buf = &p->buffers.data[t->buffer];
  sb_printf(b, "t%u:%s%s%u", id, dtype_name(t->dtype), kinds[buf->kind], buf->kind < BUF_CONST ? buf->index : t->buffer);
  dims_print(b, t->dims, t->rank);
}

static void access_print(StrBuf *b, const Access *a, uint32_t n_axes) {
  sb_printf(b, "t%u{", a->tensor);
  dim_print(b, a->offset);
  for (uint32_t j = 0; j < n_axes; j++) {
    if (dim_is(a->stride[j], 0)) continue;
    sb_printf(b, " + i%u*(", j);
    dim_print(b, a->stride[j]);
    sb_putc(b, ')');
  }
  for (uint32_t k = 0; k < a->n_indirect; k++) {
    sb_printf(b, " + %%%u*(", a->indirect[k].node);
    dim_print(b, a->indirect[k].stride);
    sb_puts(b, ")<");
    dim_print(b, a->indirect[k].bound);
  }
  sb_putc(b, '}');
}

static void accesses_print(StrBuf *b, const Access *a, uint32_t n, uint32_t first, uint32_t n_axes) {
  for (uint32_t k = 0; k < n; k++) {
    sb_printf(b, " x%u=", first + k);
    access_print(b, &a[k], n_axes);
  }
}

static void nest_print(StrBuf *b, const Nest *n) {
  static const char *const modes[] = {"map", "reduce", "scan", "scatter"};
  sb_printf(b, " %s over ", modes[n->mode]);
  dims_print(b, n->extent, n->n_axes);
  if (n->mode == NEST_REDUCE) sb_printf(b, " last %u by %d", n->n_reduce, (int)n->reduce);
  accesses_print(b, n->loads, n->n_loads, 0, n->n_axes);
  sb_puts(b, " : ");
  expr_print(b, &n->map);
  if (n->post.n) {
    accesses_print(b, n->post_loads, n->n_post_loads, 1, n->n_axes - n->n_reduce);
    sb_puts(b, " then ");
    expr_print(b, &n->post);
  }
  sb_puts(b, " -> ");
  access_print(b, &n->store, n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->n_axes);
}

static void conv_print(StrBuf *b, const ConvStep *s) {
  if (s->before.conv) sb_puts(b, " behind depthwise");
  if (s->interleaved) sb_puts(b, " interleaved");
  if (s->winograd.side) sb_printf(b, " winograd %zux%zu by %zu, sums of %zu", s->winograd.side, s->winograd.side, s->winograd.band, s->winograd.part);
}

static void block_print(StrBuf *b, const Program *p, const Block *block) {
  for (size_t i = 0; i < block->steps.n; i++) {
    const Step *s = &block->steps.data[i];
    sb_printf(b, "%zu %s", i, step_names[s->kind]);
    for (uint32_t k = 0; k < s->n_out; k++) {
      sb_putc(b, ' ');
      tensor_print(b, p, s->out[k]);
    }
    sb_puts(b, " <-");
    for (uint32_t k = 0; k < s->n_in; k++) {
      sb_putc(b, ' ');
      tensor_print(b, p, s->in[k]);
    }
    if (s->kind == STEP_NEST) nest_print(b, s->attr);
    if (s->kind == STEP_CONV) conv_print(b, s->attr);
    if (s->src.has_node) {
      sb_puts(b, "  # ");
      sb_escaped(b, s->src.node_name.len ? s->src.node_name : s->src.op_type, 60);
    }
    sb_putc(b, '\n');
  }
}

void program_print(StrBuf *b, const Program *p) { block_print(b, p, &p->main); }

/* ---- structure check -------------------------------------------------------------------------------------------------------- */
static bool access_ok(const Program *p, const Access *a, const Expr *e) {
  if (a->tensor >= p->tensors.n || !a->offset || !a->stride) return false;
  for (uint32_t k = 0; k < a->n_indirect; k++)
    if (a->indirect[k].node >= e->n || e->nodes[a->indirect[k].node].type != DT_s64) return false;
  return true;
}

static bool nest_ok(const Program *p, const Nest *n) {
  for (uint32_t k = 0; k < n->n_loads; k++)
    if (!access_ok(p, &n->loads[k], &n->map)) return false;
  for (uint32_t k = 0; k < n->n_post_loads; k++)
    if (!access_ok(p, &n->post_loads[k], &n->post)) return false;
  for (uint32_t i = 0; i < n->map.n; i++) {
    const ExprNode *x = &n->map.nodes[i];
    if (x->kind == EXPR_INPUT && x->operand >= n->n_loads) return false;
    if (x->kind == EXPR_INDEX && x->axis >= n->n_axes) return false;
    for (unsigned k = 0; k < expr_node_arity(x); k++)
      if (x->args[k] >= i) return false;
  }
  return n->map.n && n->n_reduce <= n->n_axes && access_ok(p, &n->store, &n->map);
}

bool program_verify(const Program *p, StrBuf *ret) {
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    bool ok = true;
    for (uint32_t k = 0; k < s->n_in; k++) ok = ok && (s->in[k] == NO_TENSOR || s->in[k] < p->tensors.n);
    for (uint32_t k = 0; k < s->n_out; k++) ok = ok && (s->out[k] == NO_TENSOR || s->out[k] < p->tensors.n);
    if (ok && s->kind == STEP_NEST) ok = nest_ok(p, s->attr);
    if (s->share.n && s->share.axis == SHARE_DIRECTIONS) ok = ok && s->kind == STEP_RECURRENT && s->share.n == 2;
    if (!ok) {
      sb_printf(ret, "step %zu (%s) is malformed", i, step_names[s->kind]);
      return false;
    }
  }
  return true;
}

/* ---- control flow ---- */
int step_nesting(const Step *s) {
  if (s->kind == STEP_IF || s->kind == STEP_LOOP) return 1;
  return s->kind == STEP_END_IF || s->kind == STEP_END_LOOP ? -1 : 0;
}

int64_t *program_blocks(Arena *a, const Program *p) {
  int64_t *block = NEW_ARRAY(a, int64_t, p->main.steps.n), now = -1;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    if (s->kind == STEP_ELSE || step_nesting(s) < 0) now = block[now];
    block[i] = now;
    if (s->kind == STEP_ELSE || step_nesting(s) > 0) now = (int64_t)i;
  }
  return block;
}

bool program_has_control(const Program *p) {
  for (size_t i = 0; i < p->main.steps.n; i++)
    if (step_nesting(&p->main.steps.data[i])) return true;
  return false;
}

/* ---- when sizes are known ---- */
void step_each_symbol(const Step *s, void (*f)(void *user, const Dim *symbol), void *user) {
  const ExternStep *e = s->attr;
  for (uint32_t k = 0; s->kind == STEP_EXTERN && k < e->n_defs; k++) f(user, e->defs[k].symbol);
  const SymbolsStep *y = s->attr;
  for (size_t k = 0; s->kind == STEP_SYMBOLS && k < y->n; k++) f(user, y->symbols[k]);
  const AssignStep *a = s->attr;
  for (size_t k = 0; s->kind == STEP_ASSIGN && k < a->n; k++) f(user, a->symbols[k]);
  if (s->kind == STEP_LOOP) f(user, ((const LoopStep *)s->attr)->iteration);
}

typedef struct Decided { int64_t *of; int64_t step; } Decided;

static void note_decided(void *user, const Dim *symbol) {
  const Decided *d = user;
  d->of[symbol->symbol.index] = d->step;
}

int64_t *program_decided(Arena *a, const Program *p) {
  int64_t *decided = NEW_ARRAY(a, int64_t, p->dims->symbols.n);
  for (size_t i = 0; i < p->dims->symbols.n; i++) decided[i] = NOT_DECIDED;
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    if (!step_decides_again(s)) step_each_symbol(s, note_decided, &(Decided){decided, (int64_t)i});
  }
  return decided;
}

typedef struct Level { const int64_t *decided; int64_t last; } Level;

static void see_level(void *user, const Dim *symbol) {
  Level *l = user;
  if (symbol->symbol.origin != DIM_FROM_DATA) return;
  const int64_t at = l->decided[symbol->symbol.index];
  if (at == NOT_DECIDED) l->last = INT64_MAX;
  else if (at > l->last) l->last = at;
}

int64_t program_level(const int64_t *decided, const Dim *d) {
  Level l = {decided, NOT_DECIDED};
  dim_each_symbol(d, see_level, &l);
  return l.last;
}
