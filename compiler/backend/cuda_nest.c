/* Nests as grid kernels: a thread a point of the axes that may run side by side, loops over the others in their order. Long
 * reductions take a block a point: its threads' partial results, thread t those of elements t, t + 256, ..., are joined by
 * halving, so that the order of operations is fixed. */
#include "backend/cuda_print.h"

enum { SHORT_REDUCTION = 64 }; /* elements that one thread reduces */

static const char block_bad_index[] = "{ cn_cuda_fail(status, CASTNET_ERR_INDEX); continue; }"; /* every thread must reach the barrier */

typedef struct CudaNest {
  KernelPrinter k;
  NestPrinter p;
  bool side_by_side[MAX_RANK]; /* by axis */
} CudaNest;

/* ---- which axes may run side by side ---- */
typedef struct Walk {
  const Dim *stride, *extent;
} Walk;

static bool stride_less(const Walk *a, const Walk *b) {
  int64_t x, y;
  return dim_is_const(a->stride, &x) && dim_is_const(b->stride, &y) ? x < y : a->stride->hi < b->stride->hi;
}

/* Whether no two different places of the walks are one element: each stride reaches past all that the smaller ones span. */
static bool is_injective(EmitCtx *c, Walk *w, uint32_t n) {
  DimCtx *d = c->program->dims;
  for (uint32_t i = 1; i < n; i++)
    for (uint32_t k = i; k > 0 && stride_less(&w[k], &w[k - 1]); k--) {
      const Walk x = w[k];
      w[k] = w[k - 1];
      w[k - 1] = x;
    }
  for (uint32_t i = 0; i < n; i++) {
    int64_t stride, span;
    if (i == 0) {
      if (w[0].stride->lo < 1) return false;
      continue;
    }
    const Dim *reach = dim_mul(d, w[i - 1].stride, w[i - 1].extent);
    if (reach == w[i].stride) continue;
    if (!dim_is_const(w[i].stride, &stride) || !dim_is_const(reach, &span) || stride < span) return false;
  }
  return true;
}

/* A scatter's elements stay in order where two of them may meet: along the axes that the store does not walk itself. */
static void scatter_axes(CudaNest *x) {
  const Nest *n = x->p.n;
  Walk *w = NEW_ARRAY(x->p.c->arena, Walk, n->n_axes + n->store.n_indirect);
  uint32_t walks = 0;
  for (uint32_t j = 0; j < n->n_axes; j++) {
    x->side_by_side[j] = !dim_is(n->store.stride[j], 0);
    if (x->side_by_side[j]) w[walks++] = (Walk){n->store.stride[j], n->extent[j]};
  }
  for (uint32_t k = 0; k < n->store.n_indirect; k++) w[walks++] = (Walk){n->store.indirect[k].stride, n->store.indirect[k].bound};
  if (is_injective(x->p.c, w, walks)) return;
  for (uint32_t j = 0; j < n->n_axes; j++) x->side_by_side[j] = false;
}

static void choose_axes(CudaNest *x) {
  const Nest *n = x->p.n;
  const uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->mode == NEST_SCAN ? n->n_axes - 1 : n->n_axes;
  const bool shared_bytes = dtype_rows[x->p.p->tensors.data[n->store.tensor].dtype].bits < 8; /* neighbours lie in one byte */
  for (uint32_t j = 0; j < outer; j++) x->side_by_side[j] = !shared_bytes;
  if (n->mode == NEST_SCATTER && !shared_bytes) scatter_axes(x);
}

/* ---- a thread a point ---- */
static unsigned open_in_order(CudaNest *x, uint32_t from, uint32_t to, unsigned indent) {
  for (uint32_t j = from; j < to; j++) {
    if (x->side_by_side[j]) continue;
    nest_open_loop(&x->p, j, indent);
    indent += 2;
  }
  return indent;
}

static unsigned close_to(CudaNest *x, unsigned from, unsigned to) {
  while (from > to) nest_close_loop(&x->p, from -= 2);
  return from;
}

static void print_all_depths(CudaNest *x, ExprPrinter *e, unsigned indent) {
  for (unsigned d = 0; d <= x->p.n->n_axes; d++) expr_print_depth(e, x->p.b, d, indent);
}

static void print_map(CudaNest *x) {
  const Nest *n = x->p.n;
  ExprPrinter e = nest_map_printer(&x->p);
  const unsigned indent = open_in_order(x, 0, n->n_axes, 2);
  print_all_depths(x, &e, indent);
  expr_print_checks(&e, x->p.b, &n->store, indent);
  Str value = expr_print_result(&e);
  if (n->mode == NEST_SCATTER && n->scatter != SCATTER_SET) {
    DType t = x->p.p->tensors.data[n->store.tensor].dtype;
    Str old = expr_load_text(x->p.c, t, x->p.store_pointer, expr_print_index(&e, &n->store));
    value = expr_fn_text(x->p.c, scatter_combiner(n->scatter), t, (Str[]){old, value});
  }
  nest_store(&x->p, &e, value, indent);
  (void)close_to(x, indent, 2);
  x->p.may_fail |= e.may_fail;
}

static void print_scan(CudaNest *x) {
  const Nest *n = x->p.n;
  StrBuf *b = x->p.b;
  ExprPrinter e = nest_map_printer(&x->p);
  const unsigned indent = open_in_order(x, 0, n->n_axes - 1, 2);
  Str start = expr_const_text(x->p.c, n->acc, n->scan_fn == SC_mul ? reduce_identity(REDUCE_PROD, n->acc) : 0);
  sb_printf(b, "%*s%s acc = %.*s;\n", (int)indent, "", expr_register_ctype(n->acc), STR_WHOLE(start));
  const unsigned inner = open_in_order(x, n->n_axes - 1, n->n_axes, indent);
  print_all_depths(x, &e, inner);
  if (n->scan_exclusive) nest_store(&x->p, &e, STR("acc"), inner);
  sb_printf(b, "%*sacc = ", (int)inner, "");
  sb_str(b, expr_fn_text(x->p.c, n->scan_fn, n->acc, (Str[]){STR("acc"), expr_print_result(&e)}));
  sb_puts(b, ";\n");
  if (!n->scan_exclusive) nest_store(&x->p, &e, STR("acc"), inner);
  (void)close_to(x, inner, 2);
  x->p.may_fail |= e.may_fail;
}

static void print_reduce(CudaNest *x) {
  const Nest *n = x->p.n;
  StrBuf *b = x->p.b;
  ExprPrinter e = nest_map_printer(&x->p);
  const unsigned indent = open_in_order(x, 0, x->p.outer, 2);
  const bool arg = n->reduce == REDUCE_ARGMAX || n->reduce == REDUCE_ARGMIN;
  nest_declare_acc(&x->p, "", indent);
  if (arg) sb_printf(b, "%*sint64_t at = 0;\n", (int)indent, "");
  const unsigned inner = open_in_order(x, x->p.outer, n->n_axes, indent);
  print_all_depths(x, &e, inner);
  if (arg) {
    nest_arg_update(&x->p, expr_print_result(&e), inner);
  } else {
    sb_printf(b, "%*sacc = ", (int)inner, "");
    sb_str(b, nest_combine(&x->p, STR("acc"), expr_print_result(&e)));
    sb_puts(b, ";\n");
  }
  (void)close_to(x, inner, indent);
  nest_finish(&x->p, arg ? STR("at") : STR("acc"), x->p.coords, indent);
  (void)close_to(x, indent, 2);
  x->p.may_fail |= e.may_fail;
}

/* ---- a block a point ---- */
static bool takes_block(const CudaNest *x) {
  const Nest *n = x->p.n;
  int64_t size = INT64_MAX;
  if (n->mode != NEST_REDUCE || n->reduce == REDUCE_ARGMAX || n->reduce == REDUCE_ARGMIN) return false;
  if (x->p.outer && !x->side_by_side[0]) return false;
  (void)dim_is_const(dim_product(x->p.p->dims, n->extent + x->p.outer, n->n_reduce), &size);
  return size > SHORT_REDUCTION;
}

static void print_block_reduce(CudaNest *x) {
  const Nest *n = x->p.n;
  EmitCtx *c = x->p.c;
  StrBuf inside = sb_new(c->arena), *b = x->p.b;
  const CudaPoint reduced = {.flat = "q", .type = x->p.wide ? "int64_t" : "int32_t", .n = n->n_reduce, .extent = n->extent + x->p.outer,
                             .coords = x->p.coords + x->p.outer};
  const char *usual = c->bad_index;
  ExprPrinter e = nest_map_printer(&x->p);
  c->bad_index = block_bad_index;
  x->p.b = &inside;
  print_all_depths(x, &e, 4);
  sb_puts(&inside, "    acc = ");
  sb_str(&inside, nest_combine(&x->p, STR("acc"), expr_print_result(&e)));
  sb_puts(&inside, ";\n");
  x->p.b = b;
  c->bad_index = usual;
  sb_printf(b, "  __shared__ %s part[%d];\n  const int t = (int)threadIdx.x;\n", expr_register_ctype(n->acc), CUDA_THREADS);
  nest_declare_acc(&x->p, "", 2);
  sb_printf(b, "  for (%s q = t; q < ", reduced.type);
  emit_dim(c, b, cuda_points(c, &reduced));
  sb_printf(b, "; q += %d) {\n", CUDA_THREADS);
  cuda_declare_point(c, b, &reduced, sb_view(&inside), 4);
  sb_str(b, sb_view(&inside));
  sb_printf(b, "  }\n  part[t] = acc;\n  __syncthreads();\n  for (int h = %d; h > 0; h /= 2) {\n    if (t < h) part[t] = ", CUDA_THREADS / 2);
  sb_str(b, nest_combine(&x->p, STR("part[t]"), STR("part[t + h]")));
  sb_puts(b, ";\n    __syncthreads();\n  }\n  if (t != 0) return;\n");
  nest_finish(&x->p, STR("part[0]"), x->p.coords, 2);
  x->p.may_fail |= e.may_fail;
}

bool cuda_nest(EmitCtx *c, const Step *s) {
  const Nest *n = s->attr;
  StrBuf body = sb_new(c->arena);
  CudaNest x = {.k = kernel_printer(c, s)};
  x.p = nest_printer(c, n, &x.k.params, &body);
  if (n->mode == NEST_REDUCE) x.p.outer = n->n_axes - n->n_reduce;
  x.k.symbols = nest_symbols(c, n);
  choose_axes(&x);
  const bool block = takes_block(&x);
  if (block) print_block_reduce(&x);
  else if (n->mode == NEST_REDUCE) print_reduce(&x);
  else if (n->mode == NEST_SCAN) print_scan(&x);
  else print_map(&x);

  const char *type = x.p.wide ? "int64_t" : "int32_t";
  const CudaPoint point = {.flat = "p", .type = type, .n = n->n_axes, .extent = n->extent, .in = x.side_by_side, .coords = x.p.coords};
  const Dim *points = cuda_points(c, &point);
  StrBuf coords = sb_new(c->arena), *b = &x.k.body;
  cuda_declare_point(c, &coords, &point, sb_view(&body), 2);
  if (!block) {
    sb_printf(b, "  const %s p = (%s)cn_cuda_thread();\n  if (p >= ", type, type);
    emit_dim(c, b, points);
    sb_puts(b, ") return;\n");
  } else if (coords.len) {
    sb_printf(b, "  const %s p = (%s)blockIdx.x;\n", type, type);
  }
  sb_str(b, sb_view(&coords));
  sb_str(b, sb_view(&body));
  cuda_finish(&x.k, x.p.may_fail, block ? points : cuda_blocks(c, points));
  return true;
}
