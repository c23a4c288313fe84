/* SPDX-License-Identifier: MIT-0 */
/* Ways to compare a feature with a threshold of a tree's node, as the tables of cn_op_tree_ensemble have them; the compiler writes those. */
#ifndef CN_OPS_TREE_MODES_H
#define CN_OPS_TREE_MODES_H

enum { CN_TREE_LEQ, CN_TREE_LT, CN_TREE_GTE, CN_TREE_GT, CN_TREE_EQ, CN_TREE_NEQ, CN_TREE_LEAF /* ends the walk */ };

#endif
