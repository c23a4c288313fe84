#include "backend/cuda_print.h"
#include "backend/language.h"

/* ---- what is refused ---- */
static bool refuse_symbols(EmitCtx *c, const Step *s) {
  diag_add(c->diags, DIAG_E0306, s->src, "target %s: data decide a size, which the host would have to wait for", c->opt->target->name);
  return false;
}

static bool refuse_extern(EmitCtx *c, const Step *s) {
  const ExternAttr *x = &((const ExternStep *)s->attr)->attr;
  diag_add(c->diags, DIAG_E0306, s->src, "target %s: %s %.*s is a function of the host", c->opt->target->name,
           x->custom ? "custom operator" : "kernel", STR_WHOLE(x->symbol));
  return false;
}

bool (*const cuda_steps[STEP_COUNT])(EmitCtx *c, const Step *s) = {
    [STEP_NEST] = cuda_nest,
    [STEP_CONTRACT] = cuda_contract,
    [STEP_CONV] = cuda_conv,
    [STEP_POOL] = cuda_pool,
    [STEP_RECURRENT] = cuda_recurrent,
    [STEP_EXTERN] = refuse_extern,
    [STEP_SYMBOLS] = refuse_symbols,
};

/* ---- what the printers share ---- */

typedef struct Mention {
  Str word;
  bool found;
} Mention;

static void find_word(void *user, Str word) {
  Mention *m = user;
  m->found = m->found || str_cmp(m->word, word) == 0;
}

bool cuda_mentions(EmitCtx *c, Str text, const char *word) {
  (void)c;
  Mention m = {str_c(word), false};
  names_each_word(text, find_word, &m);
  return m.found;
}

static bool takes(const CudaPoint *p, uint32_t axis) { return !p->in || p->in[axis]; }

const Dim *cuda_points(EmitCtx *c, const CudaPoint *p) {
  const Dim *n = c->program->dims->one;
  for (uint32_t j = 0; j < p->n; j++)
    if (takes(p, j)) n = dim_mul(c->program->dims, n, p->extent[j]);
  return n;
}

void cuda_divisor(EmitCtx *c, StrBuf *b, const Dim *d) {
  const bool product = d->kind == DIM_POLY && d->poly.n_terms == 1;
  if (product) sb_putc(b, '(');
  emit_dim(c, b, d);
  if (product) sb_putc(b, ')');
}

void cuda_declare_point(EmitCtx *c, StrBuf *b, const CudaPoint *p, Str text, unsigned indent) {
  DimCtx *d = c->program->dims;
  const Dim *inner = d->one;
  uint32_t first = 0;
  while (first < p->n && !takes(p, first)) first++;
  for (uint32_t j = p->n; j-- > 0;) {
    if (!takes(p, j)) continue;
    if (cuda_mentions(c, text, arena_cstr(c->arena, p->coords[j]))) {
      sb_printf(b, "%*sconst %s %.*s = %s", (int)indent, "", p->type, STR_WHOLE(p->coords[j]), p->flat);
      if (!dim_is(inner, 1)) {
        sb_puts(b, " / ");
        cuda_divisor(c, b, inner);
      }
      if (j != first) {
        sb_puts(b, " % ");
        cuda_divisor(c, b, p->extent[j]);
      }
      sb_puts(b, ";\n");
    }
    inner = dim_mul(d, inner, p->extent[j]);
  }
}

const Dim *cuda_blocks(EmitCtx *c, const Dim *threads) {
  DimCtx *d = c->program->dims;
  return dim_ceildiv(d, threads, dim_const(d, CUDA_THREADS));
}

void cuda_finish(KernelPrinter *k, bool may_fail, const Dim *blocks) {
  EmitCtx *c = k->c;
  const Step *s = k->step;
  StrBuf params = sb_new(c->arena), args = sb_new(c->arena), rest = sb_new(c->arena), comment = sb_new(c->arena), all = sb_new(c->arena);
  emit_params_text(&k->params, s->out, s->kind == STEP_RECURRENT ? 3 : 1, &params, &args);
  if (s->scratch != NO_TENSOR) {
    sb_puts(&params, ", float *scratch");
    sb_puts(&args, ", ");
    emit_pointer_as(c, &args, s->scratch, "float");
  }
  emit_symbol_params(c, &params, &k->symbols);
  emit_symbol_args(c, &args, &k->symbols);
  if (may_fail) {
    sb_puts(&params, ", int *status");
    sb_puts(&args, ", status");
  }
  emit_describe(c, &comment, s->out[0] != NO_TENSOR ? s->out[0] : s->out[1] != NO_TENSOR ? s->out[1] : s->out[2]);
  sb_printf(&rest, "(%s) {\n%s}\n", params.data, k->body.data);
  Str name = emit_function(c, s, "__global__ void", sb_view(&comment), sb_view(&rest));
  sb_printf(&all, "stream, %.*s, ", STR_WHOLE(name));
  emit_dim(c, &all, blocks);
  sb_printf(&all, ", %s", args.data);
  emit_call(c, s, STR("cn_cuda_launch"), true, sb_view(&all));
}
