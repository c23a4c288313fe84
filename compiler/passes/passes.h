/* Passes over the graph, one idea a file. Each keeps the graph valid (ir_verify after each in debug builds). */
#ifndef CASTNET_PASSES_H
#define CASTNET_PASSES_H

#include "ir/build.h"

/* Composites and types that no kernel takes become nests: softmax, normalisation, pooling with indices, products and
 * convolutions of types other than f32 ... With `kernels` false everything becomes nests: the reference program. */
bool pass_legalise(Ir *ir, bool kernels);
bool pass_recurrent(Ir *ir);
/* Nodes of constant operands become constants, by the reference evaluation, within a budget. */
bool pass_fold(Ir *ir);
/* Dead nodes go; copies, views of views and reshapes of reshapes are one. */
bool pass_simplify(Ir *ir);
/* Decomposed patterns that exporters leave are joined: per-channel scale and shift into a convolution's weights, pads into
 * its padding. */
bool pass_fuse(Ir *ir);

/* All of them in order. optimise false: only what lowering requires. False after diagnostics. */
bool passes_run(Ir *ir, bool optimise);

/* ---- rewriting: what passes share ---- */
/* Called for each node in order with a builder that inserts before it. Returns true when the node's results are ret (same
 * types), false to keep the node as it is. */
typedef bool (*RewriteFn)(Builder *b, const Node *n, Value **ret, void *user);
bool pass_rewrite(Ir *ir, RewriteFn f, void *user); /* true if anything changed */

#endif
