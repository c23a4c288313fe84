/* Products of f32: the kernel of runtime-lite over the portable layer, one matrix after the other. */
#include "interp/interp_private.h"

#include "simd/scalar.h"

#include "kernels/gemm_f32.h"
#include "kernels/pack.h"

/* Sizes and strides of a product as numbers. */
typedef struct Product {
  int64_t m, n, k, a_m, a_k, b_k, b_n, c_m;
  int64_t extent[MAX_RANK], a_batch[MAX_RANK], b_batch[MAX_RANK], c_batch[MAX_RANK];
} Product;

static InterpStatus read_dims(Interp *in, const Dim *const *dims, uint32_t n, int64_t *ret) {
  InterpStatus st = INTERP_OK;
  for (uint32_t i = 0; i < n && st == INTERP_OK; i++) st = interp_dim(in, dims[i], &ret[i]);
  return st;
}

static InterpStatus read_product(Interp *in, const ContractStep *s, Product *p) {
  const Dim *const dims[] = {s->m, s->n, s->k, s->a_m, s->a_k, s->b_k, s->b_n, s->c_m};
  int64_t *const to[] = {&p->m, &p->n, &p->k, &p->a_m, &p->a_k, &p->b_k, &p->b_n, &p->c_m};
  InterpStatus st = INTERP_OK;
  for (size_t i = 0; i < sizeof dims / sizeof *dims && st == INTERP_OK; i++) st = interp_dim(in, dims[i], to[i]);
  if (st == INTERP_OK) st = read_dims(in, s->batch, s->n_batch, p->extent);
  if (st == INTERP_OK) st = read_dims(in, s->a_batch, s->n_batch, p->a_batch);
  if (st == INTERP_OK) st = read_dims(in, s->b_batch, s->n_batch, p->b_batch);
  return st == INTERP_OK ? read_dims(in, s->c_batch, s->n_batch, p->c_batch) : st;
}

/* The next matrix of the batch; false behind the last one. */
static bool next_matrix(const Product *p, uint32_t n_batch, int64_t *at) {
  for (uint32_t i = n_batch; i-- > 0; at[i] = 0)
    if (++at[i] < p->extent[i]) return true;
  return false;
}

static int64_t place(const int64_t *at, const int64_t *stride, uint32_t n) {
  int64_t r = 0;
  for (uint32_t i = 0; i < n; i++) r += at[i] * stride[i];
  return r;
}

InterpStatus interp_contract(Interp *in, const Step *s) {
  const ContractStep *c = s->attr;
  Product p = {0};
  unsigned char *a, *b, *y;
  int64_t at[MAX_RANK] = {0};
  if (c->acc != DT_f32 || c->b_type != DT_f32 || c->thin || c->lines || c->epilogue.expr.n || c->epilogue.n_loads) return INTERP_UNSUPPORTED;
  InterpStatus st = read_product(in, c, &p);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[0], &a);
  if (st == INTERP_OK) st = interp_tensor(in, s->in[1], &b);
  if (st == INTERP_OK) st = interp_tensor(in, s->out[0], &y);
  if (st != INTERP_OK) return st;
  if (p.a_m < 0 || p.a_k < 0 || p.b_k < 0 || p.b_n < 0) return INTERP_UNSUPPORTED;
  for (uint32_t i = 0; i < c->n_batch; i++)
    if (p.extent[i] == 0) return INTERP_OK;
  cn_gemm_f32_args g = {.m = (size_t)p.m, .n = (size_t)p.n, .k = (size_t)p.k, .a_rs = (size_t)p.a_m, .a_ks = (size_t)p.a_k, .ldc = (size_t)p.c_m};
  float *packed = c->b_packed ? NULL : NEW_ARRAY(in->a, float, cn_pack_size(g.k, g.n, CN_GEMM_F32_NR) + 1);
  do {
    const float *from = (const float *)(const void *)b + place(at, p.b_batch, c->n_batch);
    if (packed) cn_pack_b_f32(from, (size_t)p.b_k, (size_t)p.b_n, g.k, g.n, CN_GEMM_F32_NR, packed);
    g.a = (const float *)(const void *)a + place(at, p.a_batch, c->n_batch);
    g.b = packed ? packed : from;
    g.c = (float *)(void *)y + place(at, p.c_batch, c->n_batch);
    cn_gemm_f32(&g, 0, cn_gemm_f32_tasks(&g));
    in->spent += (uint64_t)p.m * (uint64_t)p.n;
    if (in->budget && in->spent > in->budget) return INTERP_ERR_BUDGET;
  } while (next_matrix(&p, c->n_batch, at));
  return INTERP_OK;
}
