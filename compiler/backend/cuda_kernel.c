/* Products, convolutions and pooling as CUDA kernels. The epilogue stands where each element is finished, in registers. */
#include "backend/cuda_print.h"

/* What becomes of `v`, element `f` of the row-major result: the epilogue, then the store. */
static void print_element(KernelPrinter *k, const Epilogue *e, unsigned indent) {
  EmitCtx *c = k->c;
  const PTensor *y = &c->program->tensors.data[k->step->out[0]];
  StrBuf body = sb_new(c->arena);
  Str value = STR("v");
  Str *coords = NEW_ARRAY(c->arena, Str, y->rank);
  for (uint32_t j = 0; j < y->rank; j++) coords[j] = arena_printf(c->arena, "i%u", j);
  if (e && e->expr.n) {
    Str *given = NEW_ARRAY(c->arena, Str, e->n_loads + 1), *pointers = NEW_ARRAY(c->arena, Str, e->n_loads + 1);
    Access *accesses = NEW_ARRAY(c->arena, Access, e->n_loads + 1);
    given[0] = value;
    for (uint32_t i = 0; i < e->n_loads; i++) {
      pointers[i + 1] = emit_param(&k->params, e->loads[i].tensor);
      accesses[i + 1] = e->loads[i];
    }
    emit_access_symbols(c, &k->symbols, e->loads, e->n_loads, y->rank);
    emit_expr_symbols(c, &k->symbols, &e->expr);
    ExprPrinter p = expr_printer(c, &e->expr, y->rank, coords, accesses, pointers, given, "u", true);
    for (unsigned d = 0; d <= y->rank; d++) expr_print_depth(&p, &body, d, indent);
    value = expr_print_result(&p);
  }
  sb_printf(&body, "%*s", (int)indent, "");
  sb_str(&body, expr_store_text(c, y->dtype, STR("y"), STR("f"), value));
  sb_putc(&body, '\n');
  const CudaPoint point = {.flat = "f", .type = "int64_t", .n = y->rank, .extent = y->dims, .coords = coords};
  for (uint32_t j = 0; j < y->rank; j++) emit_symbols_add(c, &k->symbols, y->dims[j]);
  cuda_declare_point(c, &k->body, &point, sb_view(&body), indent);
  sb_str(&k->body, sb_view(&body));
}

static void add_dim(KernelPrinter *k, StrBuf *b, const Dim *d) {
  emit_symbols_add(k->c, &k->symbols, d);
  emit_dim(k->c, b, d);
}

static void add_divisor(KernelPrinter *k, StrBuf *b, const Dim *d) {
  emit_symbols_add(k->c, &k->symbols, d);
  cuda_divisor(k->c, b, d);
}

static const Dim *tiles(DimCtx *c, const Dim *n) { return dim_ceildiv(c, n, dim_const(c, CUDA_TILE)); }

/* `row0`, `col0` and, where there is more than one product, `part`: what the block's number says. */
static void print_tile_place(KernelPrinter *k, const Dim *m, const Dim *n, const Dim *parts) {
  DimCtx *d = k->c->program->dims;
  const Dim *tm = tiles(d, m), *tn = tiles(d, n);
  StrBuf *b = &k->body;
  sb_puts(b, "  const int64_t col0 = (int64_t)blockIdx.x % ");
  add_divisor(k, b, tn);
  sb_printf(b, " * %d;\n  const int64_t row0 = (int64_t)blockIdx.x / ", CUDA_TILE);
  add_divisor(k, b, tn);
  sb_puts(b, " % ");
  add_divisor(k, b, tm);
  sb_printf(b, " * %d;\n", CUDA_TILE);
  if (dim_is(parts, 1)) return;
  sb_puts(b, "  const int64_t part = (int64_t)blockIdx.x / ");
  add_divisor(k, b, dim_mul(d, tm, tn));
  sb_puts(b, ";\n");
}

static const Dim *tile_blocks(EmitCtx *c, const Dim *m, const Dim *n, const Dim *parts) {
  DimCtx *d = c->program->dims;
  return dim_mul(d, parts, dim_mul(d, tiles(d, m), tiles(d, n)));
}

/* The loops over a thread's part of a tile; `f` is the element's place in the result, of which a part has m * n. */
static void open_tile_loops(KernelPrinter *k, const Dim *m, const Dim *n, const Dim *parts) {
  StrBuf *b = &k->body;
  sb_puts(b, "  CN_UNROLL(16)\n  for (int i = 0; i < 16; i++) {\n");
  sb_puts(b, "    const int64_t row = row0 + cn_cuda_tile_row() + i / 4, col = col0 + cn_cuda_tile_col() + i % 4;\n    if (row >= ");
  add_dim(k, b, m);
  sb_puts(b, " || col >= ");
  add_dim(k, b, n);
  sb_puts(b, ") continue;\n    const int64_t f = ");
  if (!dim_is(parts, 1)) {
    sb_puts(b, "(part * ");
    add_dim(k, b, m);
    sb_puts(b, " + row) * ");
  } else {
    sb_puts(b, "row * ");
  }
  add_dim(k, b, n);
  sb_puts(b, " + col;\n");
}

/* ---- products ---- */
/* `.a = x0 + b0 * 64` */
static void print_operand(KernelPrinter *k, const char *field, Str pointer, const Dim *const *strides, uint32_t n) {
  StrBuf b = sb_new(k->c->arena);
  sb_str(&b, pointer);
  for (uint32_t i = 0; i < n; i++) {
    if (dim_is(strides[i], 0)) continue;
    sb_printf(&b, " + b%u * ", i);
    add_dim(k, &b, strides[i]);
  }
  kernel_arg(k, ".%s = %s", field, b.data);
}

static void print_stride(KernelPrinter *k, const char *field, const Dim *d) {
  StrBuf b = sb_new(k->c->arena);
  add_dim(k, &b, d);
  kernel_arg(k, ".%s = %s", field, b.data);
}

/* The batch's coordinates as far as an operand walks them. */
static void print_batch(KernelPrinter *k, const ContractStep *g) {
  EmitCtx *c = k->c;
  Str *coords = NEW_ARRAY(c->arena, Str, g->n_batch);
  StrBuf used = sb_new(c->arena);
  for (uint32_t i = 0; i < g->n_batch; i++) {
    coords[i] = arena_printf(c->arena, "b%u", i);
    emit_symbols_add(c, &k->symbols, g->batch[i]);
    if (!dim_is(g->a_batch[i], 0) || !dim_is(g->b_batch[i], 0)) sb_printf(&used, "b%u ", i);
  }
  const CudaPoint point = {.flat = "part", .type = "int64_t", .n = g->n_batch, .extent = g->batch, .coords = coords};
  cuda_declare_point(c, &k->body, &point, sb_view(&used), 2);
}

static bool needs_dense(EmitCtx *c, const Step *s) {
  if (ptensor_is_contiguous(c->program->dims, &c->program->tensors.data[s->out[0]])) return true;
  diag_add(c->diags, DIAG_E0306, s->src, "a kernel's result that is not dense is not printed for target %s", c->opt->target->name);
  return false;
}

bool cuda_contract(EmitCtx *c, const Step *s) {
  const ContractStep *g = s->attr;
  KernelPrinter k = kernel_printer(c, s);
  if (!needs_dense(c, s)) return false;
  const Dim *parts = dim_product(c->program->dims, g->batch, g->n_batch);
  Str a = emit_param(&k.params, s->in[0]), b = emit_param(&k.params, s->in[1]);
  print_tile_place(&k, g->m, g->n, parts);
  if (!dim_is(parts, 1)) print_batch(&k, g);
  const uint32_t n_batch = dim_is(parts, 1) ? 0 : g->n_batch;
  kernel_args(&k, "cn_cuda_gemm_f32_args", true);
  print_stride(&k, "m", g->m);
  print_stride(&k, "n", g->n);
  print_stride(&k, "k", g->k);
  print_operand(&k, "a", a, g->a_batch, n_batch);
  print_operand(&k, "b", b, g->b_batch, n_batch);
  print_stride(&k, "a_m", g->a_m);
  print_stride(&k, "a_k", g->a_k);
  print_stride(&k, "b_k", g->b_k);
  print_stride(&k, "b_n", g->b_n);
  kernel_args_end(&k);
  sb_puts(&k.body, "  float acc[4][4];\n  cn_cuda_gemm_f32(&a, row0, col0, acc);\n");
  open_tile_loops(&k, g->m, g->n, parts);
  sb_puts(&k.body, "    const float v = acc[i / 4][i % 4];\n");
  print_element(&k, &g->epilogue, 4);
  sb_puts(&k.body, "  }\n");
  cuda_finish(&k, false, tile_blocks(c, g->m, g->n, parts));
  return true;
}

/* ---- windows ---- */
enum { FEW_ROWS = 8 }; /* output channels of a group below which most of a tile would be empty */

static void print_thread(KernelPrinter *k, const Dim *n) {
  sb_puts(&k->body, "  const int64_t f = cn_cuda_thread();\n  if (f >= ");
  add_dim(k, &k->body, n);
  sb_puts(&k->body, ") return;\n");
}

bool cuda_conv(EmitCtx *c, const Step *s) {
  const ConvStep *v = s->attr;
  DimCtx *d = c->program->dims;
  const ConvAttr *attr = &v->attr;
  const PTensor *x = &c->program->tensors.data[s->in[0]], *y = &c->program->tensors.data[s->out[0]];
  if (!needs_dense(c, s)) return false;
  WindowDims w = window_dims(d, x, y, attr->n_spatial, v->kernel, attr->stride, attr->dilation, attr->dilate_x, attr->pad_lo, attr->pad_hi);
  const Dim *groups = dim_const(d, attr->group), *m = dim_floordiv(d, y->dims[1], groups), *pixels = dim_product(d, y->dims + 2, y->rank - 2);
  const Dim *parts = dim_mul(d, x->dims[0], groups), *all = dim_product(d, y->dims, y->rank);
  const bool tiled = m->lo >= FEW_ROWS, has_bias = s->in[2] != NO_TENSOR;
  KernelPrinter k = kernel_printer(c, s);
  Str in = emit_param(&k.params, s->in[0]), weights = emit_param(&k.params, s->in[1]);
  if (tiled) print_tile_place(&k, m, pixels, parts);
  else print_thread(&k, all);
  kernel_args(&k, "cn_cuda_conv_f32_args", true);
  kernel_window(&k, &w, &(WindowChannels){x->dims[0], groups, v->channels, m, false});
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_arg(&k, ".weights = %s", weights.ptr);
  kernel_args_end(&k);
  if (tiled) {
    sb_printf(&k.body, "  float acc[4][4];\n  cn_cuda_conv_f32(&a, %s, row0, col0, acc);\n", dim_is(parts, 1) ? "0" : "(size_t)part");
    open_tile_loops(&k, m, pixels, parts);
  }
  sb_printf(&k.body, "%sconst float v = %s", tiled ? "    " : "  ", tiled ? "acc[i / 4][i % 4]" : "cn_cuda_conv_at_f32(&a, (size_t)f)");
  if (has_bias) {
    sb_printf(&k.body, " + %s[f / ", emit_param(&k.params, s->in[2]).ptr);
    add_divisor(&k, &k.body, pixels);
    sb_puts(&k.body, " % ");
    add_divisor(&k, &k.body, y->dims[1]);
    sb_putc(&k.body, ']');
  }
  sb_puts(&k.body, ";\n");
  print_element(&k, &v->epilogue, tiled ? 4 : 2);
  if (tiled) sb_puts(&k.body, "  }\n");
  cuda_finish(&k, false, tiled ? tile_blocks(c, m, pixels, parts) : cuda_blocks(c, all));
  return true;
}

bool cuda_pool(EmitCtx *c, const Step *s) {
  const PoolAttr *attr = &((const PoolStep *)s->attr)->attr;
  DimCtx *d = c->program->dims;
  const PTensor *x = &c->program->tensors.data[s->in[0]], *y = &c->program->tensors.data[s->out[0]];
  const Dim *kernel[3], *all = dim_product(d, y->dims, y->rank);
  if (!needs_dense(c, s)) return false;
  for (uint32_t i = 0; i < attr->n_spatial; i++) kernel[i] = dim_const(d, attr->kernel[i]);
  WindowDims w = window_dims(d, x, y, attr->n_spatial, kernel, attr->stride, attr->dilation, NULL, attr->pad_lo, attr->pad_hi);
  KernelPrinter k = kernel_printer(c, s);
  Str in = emit_param(&k.params, s->in[0]);
  print_thread(&k, all);
  kernel_args(&k, "cn_cuda_pool_f32_args", true);
  kernel_window(&k, &w, &(WindowChannels){x->dims[0], x->dims[1], d->one, d->one, true});
  kernel_arg(&k, ".flags = %s", attr->kind != POOL_AVERAGE ? "0" : attr->count_include_pad ? "CN_POOL_AVERAGE | CN_POOL_INCLUDE_PAD" : "CN_POOL_AVERAGE");
  kernel_arg(&k, ".in = %s", in.ptr);
  kernel_args_end(&k);
  sb_puts(&k.body, "  const float v = cn_cuda_pool_at_f32(&a, (size_t)f);\n");
  print_element(&k, NULL, 2);
  cuda_finish(&k, false, cuda_blocks(c, all));
  return true;
}
