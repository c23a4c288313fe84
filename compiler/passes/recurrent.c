/* Recurrent layers: what the input contributes to the gates becomes one product over all steps; layout 1 becomes transposes.
 * The node that stays is `prepared`: its first operand holds the gates' input part with the biases. Of f64 it is a loop (recurrent_loop.c). */
#include "passes/passes.h"
#include "passes/recurrent.h"

enum { X = RECURRENT_X, W, R, B, LENS, H0, C0, P, N_IN };

static const int64_t n_gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};

static Value *transposed(Builder *b, Value *x, const uint32_t *perm) { return x ? build_transpose(b, x, perm) : NULL; }

static Value *part(Builder *b, Value *x, uint32_t axis, int64_t start, int64_t count) {
  return build_slice(b, x, axis, bd_const(b, start), bd_const(b, count), bd_const(b, 1));
}

/* B [D][2 * G * H]: Wb + Rb [D][G * H], and what of Rb must stay apart: GRU's h gate under linear_before_reset. */
static Value *gate_bias(Builder *b, Value *bias, const RecurrentAttr *a, Value **ret_apart) {
  int64_t gh = n_gates[a->cell] * a->hidden;
  *ret_apart = NULL;
  if (!bias) return NULL;
  Value *wb = part(b, bias, 1, 0, gh), *rb = part(b, bias, 1, gh, gh);
  if (a->cell != CELL_GRU || !a->linear_before_reset) return build_fn2(b, SC_add, wb, rb);
  *ret_apart = part(b, rb, 1, 2 * a->hidden, a->hidden);
  Value *zr = build_fn2(b, SC_add, part(b, wb, 1, 0, 2 * a->hidden), part(b, rb, 1, 0, 2 * a->hidden));
  Value *const both[2] = {zr, part(b, wb, 1, 2 * a->hidden, a->hidden)};
  return build_concat(b, both, 2, 1);
}

/* What stays, over the prepared operands: results in ONNX's layout 0. */
static bool layer(Builder *b, const RecurrentAttr *a, Value *const *in, const Node *n, Value **ret) {
  const DType t = in[X]->type.dtype;
  if (t != DT_f32) return recurrent_loop(b, a, in, ret);
  const Type *y = &n->out[0]->type;
  const bool first = ((const RecurrentAttr *)n->attr)->batch_first;
  const Dim *const dims[4] = {y->dims[first ? 1 : 0], y->dims[first ? 2 : 1], y->dims[first ? 0 : 2], y->dims[3]};
  const Type state = type_tensor(b->ir, t, 3, dims + 1), out[3] = {type_tensor(b->ir, t, 4, dims), state, state};
  const Node *made = graph_add_node(b->graph, OP_RECURRENT, in, N_IN, out, n->n_out, a, b->place);
  for (uint32_t k = 0; k < n->n_out; k++) ret[k] = made->out[k];
  return true;
}

static bool prepare(Builder *b, const Node *n, Value **ret, void *user) {
  static const uint32_t swap3[] = {1, 0, 2}, y_back[] = {2, 0, 1, 3};
  (void)user;
  if (n->op != OP_RECURRENT || ((const RecurrentAttr *)n->attr)->prepared) return false;
  const RecurrentAttr *a = n->attr;
  const DType t = n->in[X]->type.dtype, wide = t == DT_f64 ? DT_f64 : DT_f32;
  Value *in[N_IN];
  for (int k = 0; k < N_IN; k++) in[k] = n->in[k] && k != LENS ? build_cast(b, n->in[k], wide, true) : n->in[k];
  if (a->batch_first) in[X] = transposed(b, in[X], swap3), in[H0] = transposed(b, in[H0], swap3), in[C0] = transposed(b, in[C0], swap3);
  /* x[t,b,i] * w[d,n,i] -> [t,b,d,n] */
  const uint8_t lx[] = {0, 1, 4}, lw[] = {2, 3, 4}, lo[] = {0, 1, 2, 3};
  Value *apart, *bias = gate_bias(b, in[B], a, &apart), *gates = build_contract(b, in[X], lx, in[W], lw, lo, 4, wide, NULL, NULL);
  if (bias) gates = build_fn2(b, SC_add, gates, bias);
  if (!gates) return false;
  RecurrentAttr *attr = NEW(b->ir->arena, RecurrentAttr);
  *attr = *a;
  attr->prepared = true;
  attr->batch_first = false;
  Value *const operands[N_IN] = {gates, NULL, in[R], apart, in[LENS], in[H0], in[C0], in[P]};
  if (!layer(b, attr, operands, n, ret)) return false;
  for (uint32_t k = 0; k < n->n_out; k++) {
    if (a->batch_first) ret[k] = build_transpose(b, ret[k], k == 0 ? y_back : swap3);
    ret[k] = build_cast(b, ret[k], t, true);
  }
  return true;
}

bool pass_recurrent(Ir *ir) {
  (void)pass_rewrite(ir, prepare, NULL);
  return true;
}
