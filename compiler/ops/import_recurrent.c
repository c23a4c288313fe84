/* RNN, GRU, LSTM. */
#include "ops/shared.h"

typedef struct ActName {
  const char *name;
  ActKind kind;
  float alpha, beta; /* defaults */
} ActName;

static const ActName act_names[] = {
    {"Sigmoid", ACT_SIGMOID, 0, 0},
    {"Tanh", ACT_TANH, 0, 0},
    {"Relu", ACT_RELU, 0, 0},
    {"Affine", ACT_AFFINE, 1, 0},
    {"LeakyRelu", ACT_LEAKY_RELU, 0.01f, 0},
    {"ThresholdedRelu", ACT_THRESHOLDED_RELU, 1, 0},
    {"ScaledTanh", ACT_SCALED_TANH, 1, 1},
    {"HardSigmoid", ACT_HARD_SIGMOID, 0.2f, 0.5f},
    {"Elu", ACT_ELU, 1, 0},
    {"Softsign", ACT_SOFTSIGN, 0, 0},
    {"Softplus", ACT_SOFTPLUS, 0, 0},
};

/* Names are compared without regard to case, as ONNX says. */
static bool act_is(Str s, const char *name) {
  if (s.len != strlen(name)) return false;
  for (size_t i = 0; i < s.len; i++)
    if ((s.ptr[i] | 0x20) != (name[i] | 0x20)) return false;
  return true;
}

static bool has_beta(ActKind k) { return k == ACT_AFFINE || k == ACT_SCALED_TANH || k == ACT_HARD_SIGMOID; }
static bool has_alpha(ActKind k) {
  return has_beta(k) || k == ACT_LEAKY_RELU || k == ACT_THRESHOLDED_RELU || k == ACT_ELU;
}

static const ActName *act_find(OpContext *c, Str s) {
  for (size_t i = 0; i < sizeof act_names / sizeof *act_names; i++)
    if (act_is(s, act_names[i].name)) return &act_names[i];
  (void)op_fail(c, DIAG_E0304, "attribute 'activations' has %s", diag_quote(c->b.ir->diags, s));
  return NULL;
}

/* activation_alpha and activation_beta list values only for the activations that have them, in order. */
static RecurrentAct *recurrent_acts(OpContext *c, CellKind cell, uint32_t n_dirs) {
  static const Str defaults[3][3] = {[CELL_RNN] = {{"Tanh", 4}},
                                     [CELL_GRU] = {{"Sigmoid", 7}, {"Tanh", 4}},
                                     [CELL_LSTM] = {{"Sigmoid", 7}, {"Tanh", 4}, {"Tanh", 4}}};
  static const uint32_t per_dir[] = {[CELL_RNN] = 1, [CELL_GRU] = 2, [CELL_LSTM] = 3};
  const uint32_t n = per_dir[cell] * n_dirs;
  size_t n_names, n_alpha, n_beta, at_alpha = 0, at_beta = 0;
  const Str *names = op_strs(c, "activations", &n_names);
  const float *alpha = op_floats(c, "activation_alpha", &n_alpha), *beta = op_floats(c, "activation_beta", &n_beta);
  if (n_names && n_names != n) {
    (void)op_fail(c, DIAG_E0304, "attribute 'activations' has %zu values instead of %u", n_names, n);
    return NULL;
  }
  RecurrentAct *acts = NEW_ARRAY(op_arena(c), RecurrentAct, n);
  for (uint32_t k = 0; k < n; k++) {
    const ActName *a = act_find(c, n_names ? names[k] : defaults[cell][k % per_dir[cell]]);
    if (!a) return NULL;
    acts[k] = (RecurrentAct){a->kind, a->alpha, a->beta};
    if (has_alpha(a->kind) && at_alpha < n_alpha) acts[k].alpha = alpha[at_alpha++];
    if (has_beta(a->kind) && at_beta < n_beta) acts[k].beta = beta[at_beta++];
  }
  return acts;
}

/* The row's argument is the CellKind. */
bool import_recurrent(OpContext *c) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional"};
  const CellKind cell = (CellKind)c->row->arg;
  const Str direction = op_str(c, "direction", "forward");
  RecurrentAttr attr = {.cell = cell, .direction = 0};
  while (attr.direction < 3 && !str_is(direction, directions[attr.direction])) attr.direction++;
  if (attr.direction == 3)
    return op_fail(c, DIAG_E0304, "attribute 'direction' is %s", diag_quote(c->b.ir->diags, direction));
  int64_t hidden = 0;
  if (op_rank(c, 2) == 3 && !dim_is_const(op_dim(c, 2, 2), &hidden) && !op_has_attr(c, "hidden_size"))
    return op_unsupported(c, "with a hidden size that is not known");
  attr.hidden = op_int(c, "hidden_size", hidden);
  if (attr.hidden < 1 || attr.hidden > INT32_MAX / 8)
    return op_fail(c, DIAG_E0304, "the hidden size is %lld", (long long)attr.hidden);
  const int64_t layout = op_int(c, "layout", 0);
  if (layout != 0 && layout != 1) return op_fail(c, DIAG_E0304, "attribute 'layout' is %lld", (long long)layout);
  attr.batch_first = layout == 1;
  attr.linear_before_reset = op_int(c, "linear_before_reset", 0) != 0;
  attr.input_forget = op_int(c, "input_forget", 0) != 0;
  attr.clip = op_float(c, "clip", 0);
  attr.acts = recurrent_acts(c, cell, attr.direction == 2 ? 2 : 1);
  if (!attr.acts) return false;
  Value *in[8], *out[3];
  for (size_t k = 0; k < 8; k++) in[k] = op_in(c, k);
  if (!build_recurrent(&c->b, in, attr, out)) return false;
  for (size_t k = 0; k < c->n_out && k < 3; k++) c->out[k] = out[k];
  return true;
}
