/* Passes over the graph, one idea a file. Each keeps the graph valid (ir_verify after each in debug builds). */
#ifndef CASTNET_PASSES_H
#define CASTNET_PASSES_H

#include "ir/build.h"

/* Composites and types that no kernel takes become nests: pooling with indices; softmax, normalisation, products and convolutions of types
 * other than f32 ... With `kernels` false everything becomes nests: the reference program. `all`: the target's language has
 * the kernels over rows (softmax, normalisation) and of 8-bit operands too. `blocks`: pass_layout runs later, and takes the
 * normalisations over neighbouring channels. */
bool pass_legalise(Ir *ir, bool kernels, bool all, bool blocks);
/* Floats of 16 bits are held as f32, rounded where an operation rounds, for a target whose kernels are of f32. Before pass_legalise. */
bool pass_widen(Ir *ir);
/* Softmax and normalisation that exporters leave as reductions and arithmetic become one node again. */
bool pass_raise(Ir *ir);
/* Products of one-hot rows and a constant become gathers, and what is computed of rows of a small constant table is computed of the table. After pass_raise. */
bool pass_rows(Ir *ir);
bool pass_recurrent(Ir *ir);
/* Factors of both operands of a product go to one, or to scores that a softmax reads. Before pass_legalise, which judges what is left. */
bool pass_product(Ir *ir);
/* Copies of an operand's parts for heads that share them go where there are few rows; groups of heads stay an axis around a softmax. Before pass_legalise, too. */
bool pass_heads(Ir *ir);
/* Powers with constant exponents become products and roots. After pass_raise, which knows some of them. */
bool pass_power(Ir *ir);
/* A composite in terms of what pass_legalise leaves as nests. False: it is none. ret holds NULL after a diagnostic. */
bool legalise_node(Builder *b, const Node *n, Value **ret);
/* Gradient nodes become what computes them. */
bool pass_gradient(Ir *ir);
/* Nodes of constant operands become constants, by the reference evaluation, within a budget. */
bool pass_fold(Ir *ir);
/* Dead nodes go. (Views of views and copies are one after lowering: lower/virt.h.) */
bool pass_simplify(Ir *ir);
/* Transpositions go behind element-wise work, and where one meets its inverse, both go. */
bool pass_sink(Ir *ir);
/* Decomposed patterns that exporters leave are joined: per-channel scale and shift into a convolution's weights, pads into
 * its padding. */
bool pass_fuse(Ir *ir);

/* Weights below the least normal number become zero. */
bool pass_subnormal(Ir *ir);
/* Gathers and scatters at constant places become views and windows where the places are affine in the coordinates. */
bool pass_gather(Ir *ir);

/* Transposed convolutions become plain ones, without inserted zeros. */
bool pass_phases(Ir *ir);
/* Pointwise convolutions of images that were resized come before that, where there are fewer pixels. */
bool pass_resized(Ir *ir);
/* Convolutions whose window is the whole image become products, pools reductions; taps that read nothing but padding go. */
bool pass_whole(Ir *ir);
/* Pools in plain channels over images one column wide go along the next axis, as vectors then can. After pass_layout. */
bool pass_narrow(Ir *ir);

/* Products and convolutions of dequantised operands become integer ones; what quantises them again joins their scales. */
bool pass_quantise(Ir *ir);

/* Vectors of channels, and how many vectors of sums the kernels over them hold. */
typedef struct LayoutTile { uint32_t block, sums; } LayoutTile;

/* Chains of convolutions over images, and what stands between them, compute on blocked channels, `block` in a vector; values
 * are reordered only at the chain's ends. What stays plain without a kernel for that becomes nests. Never changes what a value is called or means elsewhere. */
bool pass_layout(Ir *ir, LayoutTile tile);

typedef struct PassOptions {
  bool optimise;  /* false: only what lowering requires */
  bool kernels;   /* the target's language has all kernels: integer ones, those over rows */
  bool blocks;    /* passes_layout follows */
  bool float_qdq; /* no pass_quantise: quantised graphs compute in float as they are written */
  bool keep_subnormals; /* no pass_subnormal */
  bool widen;     /* the target's kernels are of f32, and steps are dearer than room: pass_widen */
} PassOptions;

/* All of them in order, but pass_layout. False after diagnostics. */
bool passes_run(Ir *ir, PassOptions opt);
/* The last one, which depends on the target's vectors; block 0: none, but what is left for blocks becomes nests. False
 * after diagnostics. */
bool passes_layout(Ir *ir, LayoutTile tile);

/* ---- rewriting: what passes share ---- */
/* Called for each node in order with a builder that inserts before it. Returns true when the node's results are ret (same
 * types), false to keep the node as it is. */
typedef bool (*RewriteFn)(Builder *b, const Node *n, Value **ret, void *user);
bool pass_rewrite(Ir *ir, RewriteFn f, void *user); /* true if anything changed */
void pass_count_uses(const Graph *g, uint32_t *uses); /* by value id: operands and graph outputs that are it */
/* How many elements of a CONTRACT's result stand along labels of operand k alone; 0: not known. */
int64_t pass_own_size(const Node *n, uint32_t k);
/* Whether n is a product of f32 of which neither operand is a constant. */
bool pass_is_product_of_calls(const Node *n);
bool pass_is_number(Builder *b, const Value *v, double want); /* a constant of one element, f32; v may be NULL */
bool pass_is_zeros(const Value *v); /* of a real type: nothing but zeros of either sign, known now */
bool pass_is_view(const Node *n); /* a view, or another shape of the same elements */
/* Whether n is fn of its two operands, either in either place. */
bool pass_is_fn2(const Node *n, ScalarFn *fn);
bool pass_keeps_order(const Node *view); /* whether its elements are all of its operand's, in their order: axes of one element come or go */
Value *pass_in_order(Value *v);               /* what v has all elements of, in their order: behind no such view and no reshape */

#endif
