/* Passes over the graph, one idea a file. Each keeps the graph valid (ir_verify after each in debug builds). */
#ifndef CASTNET_PASSES_H
#define CASTNET_PASSES_H

#include "ir/build.h"

/* Composites and types that no kernel takes become nests: pooling with indices; softmax, normalisation, products and convolutions of types
 * other than f32 ... With `kernels` false everything becomes nests: the reference program. `rows`: the target's language has the
 * kernels over rows (softmax, normalisation). */
bool pass_legalise(Ir *ir, bool kernels, bool rows);
/* Softmax and normalisation that exporters leave as reductions and arithmetic become one node again. */
bool pass_raise(Ir *ir);
bool pass_recurrent(Ir *ir);
/* Nodes of constant operands become constants, by the reference evaluation, within a budget. */
bool pass_fold(Ir *ir);
/* Dead nodes go; copies, views of views and reshapes of reshapes are one. */
bool pass_simplify(Ir *ir);
/* Decomposed patterns that exporters leave are joined: per-channel scale and shift into a convolution's weights, pads into
 * its padding. */
bool pass_fuse(Ir *ir);

/* All of them in order. optimise false: only what lowering requires. rows: pass_legalise's. False after diagnostics. */
bool passes_run(Ir *ir, bool optimise, bool rows);

/* ---- rewriting: what passes share ---- */
/* Called for each node in order with a builder that inserts before it. Returns true when the node's results are ret (same
 * types), false to keep the node as it is. */
typedef bool (*RewriteFn)(Builder *b, const Node *n, Value **ret, void *user);
bool pass_rewrite(Ir *ir, RewriteFn f, void *user); /* true if anything changed */
void pass_count_uses(const Graph *g, uint32_t *uses); /* by value id: operands and graph outputs that are it */

#endif
