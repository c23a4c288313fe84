#include "lower/finish.h"

bool step_is_integer(const Step *s) {
  if (s->kind == STEP_CONTRACT) return ((const ContractStep *)s->attr)->acc == DT_s32;
  return s->kind == STEP_CONV && ((const ConvStep *)s->attr)->attr.acc == DT_s32;
}

int step_channel_axis(const Step *s, uint32_t rank, const Dim *const *dims) {
  if (s->kind == STEP_CONV) return 1;
  return rank && dims[rank - 1] == ((const ContractStep *)s->attr)->n ? (int)rank - 1 : -1;
}

/* ---- operands ---- */
static bool is_finite(float x) { return x - x == 0; }

static float float_of(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float x;
  memcpy(&x, &low, sizeof x);
  return x;
}

/* Constants of which none is infinite or NaN. */
static bool tensor_is_finite(const Program *p, uint32_t tensor) {
  const Buffer *b = &p->buffers.data[p->tensors.data[tensor].buffer];
  if (b->kind != BUF_CONST) return false;
  const float *x = tensor_host_elements(p->arena, b->data);
  for (size_t i = 0; i < b->data->n; i++)
    if (!is_finite(x[i])) return false;
  return true;
}

/* The other operand as a term: a constant, or a load that stands still or walks along the channels alone. */
static bool term_match(const Program *p, const Epilogue *e, uint32_t node, uint32_t rank, const Dim *const *dims, int axis, FinishTerm *ret) {
  const ExprNode *n = &e->expr.nodes[node];
  if (n->type != DT_f32) return false;
  if (n->kind == EXPR_CONST) {
    *ret = (FinishTerm){.tensor = NO_TENSOR, .bits = (uint32_t)n->bits};
    return true;
  }
  if (n->kind != EXPR_INPUT || n->operand == 0) return false;
  const Access *a = &e->loads[n->operand - 1];
  if (a->n_indirect || !dim_is(a->offset, 0) || p->tensors.data[a->tensor].dtype != DT_f32) return false;
  *ret = (FinishTerm){.tensor = a->tensor};
  for (uint32_t j = 0; j < rank; j++) {
    if (dim_is(dims[j], 1) || dim_is(a->stride[j], 0)) continue;
    if ((int)j != axis || !dim_is(a->stride[j], 1)) return false;
    ret->per_channel = true;
  }
  return true;
}

static bool term_is_finite(const Program *p, const FinishTerm *t) {
  return t->tensor == NO_TENSOR ? is_finite(float_of(t->bits)) : tensor_is_finite(p, t->tensor);
}

/* ---- the chain from the sums to the result ---- */
typedef enum Stage { SUMS, FLOATS, ROUNDED, MOVED, BYTES } Stage;

typedef struct Chain {
  const Program *p;
  const Epilogue *e;
  uint32_t rank;
  const Dim *const *dims;
  int axis;
  uint32_t at; /* the node so far */
  Stage stage;
  Finish *ret;
} Chain;

static bool take_scale(Chain *c, uint32_t other) {
  Finish *f = c->ret;
  f->scaled = true;
  return term_match(c->p, c->e, other, c->rank, c->dims, c->axis, &f->scale);
}

static bool take_shift(Chain *c, uint32_t other) {
  Finish *f = c->ret;
  f->shifted = true;
  return term_match(c->p, c->e, other, c->rank, c->dims, c->axis, &f->shift) && f->shift.per_channel;
}

static bool take_bound(Chain *c, ScalarFn fn, uint32_t other) {
  const ExprNode *n = &c->e->expr.nodes[other];
  Finish *f = c->ret;
  if (n->kind != EXPR_CONST) return false;
  const float v = float_of(n->bits);
  if (v != v || (fn == SC_max ? f->has_lo || f->has_hi : f->has_hi)) return false; /* the kernel takes the lower one first */
  if (fn == SC_max) f->lo = v, f->has_lo = true;
  else f->hi = v, f->has_hi = true;
  return true;
}

static bool take_zero(Chain *c, uint32_t other) {
  const ExprNode *n = &c->e->expr.nodes[other];
  if (n->kind != EXPR_CONST || n->type != DT_f32) return false;
  const float v = float_of(n->bits);
  if (!(v >= -128.0f && v <= 255.0f) || v != (float)(int32_t)v) return false;
  c->ret->zero = (int32_t)v;
  c->stage = MOVED;
  return true;
}

static bool take_cast(Chain *c, const ExprNode *n) {
  if (c->stage == SUMS && n->type == DT_f32) {
    c->stage = FLOATS;
    return true;
  }
  if ((c->stage != ROUNDED && c->stage != MOVED) || (n->type != DT_u8 && n->type != DT_s8)) return false;
  c->ret->out = n->type;
  c->stage = BYTES;
  return true;
}

static bool take(Chain *c, const ExprNode *n) {
  const Finish *f = c->ret;
  if (n->kind == EXPR_CAST) return take_cast(c, n);
  if (n->kind != EXPR_FN || n->type != DT_f32) return false;
  if (n->fn == SC_round && c->stage == FLOATS) {
    c->stage = ROUNDED;
    return true;
  }
  const bool commutes = n->fn == SC_add || n->fn == SC_mul;
  if (!commutes && (n->args[0] != c->at || (n->fn != SC_max && n->fn != SC_min))) return false;
  if (n->args[0] == n->args[1]) return false;
  const uint32_t other = n->args[0] == c->at ? n->args[1] : n->args[0];
  if (c->stage == ROUNDED) return n->fn == SC_add && take_zero(c, other);
  if (c->stage != FLOATS) return false;
  const bool bounded = f->has_lo || f->has_hi;
  if (n->fn == SC_mul) return !f->scaled && !f->shifted && !bounded && take_scale(c, other);
  if (n->fn == SC_add) return !f->shifted && !bounded && take_shift(c, other);
  return take_bound(c, n->fn, other);
}

static uint32_t uses_of(const Expr *e, uint32_t node, uint32_t *ret_user) {
  uint32_t n = 0;
  for (uint32_t i = node + 1; i < e->n; i++)
    for (unsigned k = 0; k < expr_node_arity(&e->nodes[i]); k++)
      if (e->nodes[i].args[k] == node) n++, *ret_user = i;
  return n;
}

/* Bounds before rounding that keep the bytes in range: whole numbers, so that clamping first changes nothing. */
static void bound_bytes(Finish *f) {
  const float least = (float)((f->out == DT_u8 ? 0 : -128) - f->zero), most = least + 255.0f;
  if (!f->has_lo || f->lo < least) f->lo = least;
  if (!f->has_hi || f->hi > most) f->hi = most;
  if (f->hi < least) f->hi = least;
  f->has_lo = f->has_hi = true;
}

bool finish_match(const Program *p, const Epilogue *e, uint32_t rank, const Dim *const *dims, int axis, Finish *ret) {
  Chain c = {.p = p, .e = e, .rank = rank, .dims = dims, .axis = axis, .ret = ret};
  *ret = (Finish){.out = DT_s32};
  if (!e->expr.n) return true;
  while (c.at < e->expr.n && !(e->expr.nodes[c.at].kind == EXPR_INPUT && e->expr.nodes[c.at].operand == 0)) c.at++;
  while (c.at + 1 < e->expr.n) {
    uint32_t user = 0;
    if (uses_of(&e->expr, c.at, &user) != 1 || !take(&c, &e->expr.nodes[user])) return false;
    c.at = user;
  }
  if (c.stage == FLOATS) {
    ret->out = DT_f32;
    return true;
  }
  if (c.stage != BYTES) return false;
  bound_bytes(ret);
  return (!ret->scaled || term_is_finite(p, &ret->scale)) && (!ret->shifted || term_is_finite(p, &ret->shift)); /* no NaN to convert */
}
