/* Constant folding: a node of constant operands is lowered alone, without fusion, and run by the reference evaluation. */
#include "interp/interp.h"
#include "lower/lower.h"
#include "passes/passes.h"

/* All passes together make at most MOST bytes and twice the model's own constants: castnet keeps to 64 MiB and 4 times the file. */
enum { SMALL = 1 << 14, BUDGET_NODE = 1 << 28, GROWTH = 4, MOST = 16 << 20 };

typedef struct Fold {
  Ir *ir;
  size_t limit; /* of ir->folded_bytes */
} Fold;

static bool foldable_op(const Node *n) {
  switch (n->op) {
    case OP_POINTWISE: case OP_VIEW: case OP_RESHAPE: case OP_PAD: case OP_CONCAT: case OP_GATHER: case OP_SCATTER: case OP_REDUCE:
    case OP_SCAN: case OP_DIMS: return n->n_out == 1;
    default: return false;
  }
}

/* All operands constant, the result of known size and not much larger than they are. */
static bool worth_folding(const Fold *f, const Node *n) {
  size_t in = 0, out, count = 1;
  if (!foldable_op(n)) return false;
  for (uint32_t k = 0; k < n->n_in; k++) {
    if (!n->in[k]) continue;
    if (!n->in[k]->data) return false;
    in += n->in[k]->data->n_bytes;
  }
  const Type *t = &n->out[0]->type;
  for (uint32_t a = 0; a < t->rank; a++) {
    int64_t d;
    if (!dim_is_const(t->dims[a], &d) || !size_mul(count, (size_t)d, &count)) return false;
  }
  if (dtype_rows[t->dtype].kind == KIND_X || dtype_rows[t->dtype].kind == KIND_C || !dtype_bytes(t->dtype, count, &out)) return false;
  if (out > SMALL && out / GROWTH > in) return false; /* cheaper to compute than to store */
  return out <= f->limit && f->ir->folded_bytes <= f->limit - out;
}

/* The node alone in a graph of its own, sharing dimensions and constants with ir. */
static const Tensor *evaluate(Ir *ir, const Node *n, Arena *scratch) {
  Ir alone = *ir;
  Diags diags = {.arena = scratch};
  alone.arena = scratch;
  alone.diags = &diags;
  alone.main = graph_new(&alone, NULL);
  vec_push(scratch, alone.main->nodes, (Node *)(uintptr_t)n);
  vec_push(scratch, alone.main->outputs, n->out[0]);
  LowerOptions opt = {.fuse = false, .target = target_find(STR("c99"))};
  Program *p = lower_graph(scratch, &alone, &opt);
  HostTensor out;
  if (!p || p->outputs.n != 1 || interp_run(scratch, p, NULL, &out, BUDGET_NODE) != INTERP_OK) return NULL;
  size_t count = 1;
  for (uint32_t a = 0; a < out.rank; a++) count *= (size_t)out.dims[a];
  return tensor_from_host(ir->arena, out.dtype, count, out.data);
}

static bool fold(Builder *b, const Node *n, Value **ret, void *user) {
  Fold *f = user;
  if (!worth_folding(f, n)) return false;
  Arena *scratch = arena_new(arena_door(b->ir->arena), 0);
  const Tensor *data = evaluate(b->ir, n, scratch);
  arena_free(scratch);
  if (!data) return false;
  f->ir->folded_bytes += data->n_bytes;
  ret[0] = ir_add_const(b->ir, n->out[0]->type, data, n->out[0]->name);
  return true;
}

bool pass_fold(Ir *ir) {
  size_t own = 0;
  for (size_t i = 0; i < ir->constants.n; i++) own += ir->constants.data[i]->data->n_bytes;
  own -= own < ir->folded_bytes ? own : ir->folded_bytes;
  Fold f = {ir, MOST + (own < SIZE_MAX / 4 ? 2 * own : own)};
  (void)pass_rewrite(ir, fold, &f);
  return true;
}
