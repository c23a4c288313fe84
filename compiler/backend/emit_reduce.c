/* Reductions and scans as loops. Shapes of a reduction: element by element; lanes of its innermost axis, joined by a fixed tree; strips of the
 * innermost axis outside, whose results are computed side by side. A scan goes element by element or by strips. */
#include "backend/emit_nest.h"

enum { LANES = NEST_LANES, STRIP = 64, BLOCK = 2048 };

/* Of an argmax the maximum. */
static ReduceKind kind_of(const Nest *n) { return n->reduce == REDUCE_ARGMAX ? REDUCE_MAX : n->reduce == REDUCE_ARGMIN ? REDUCE_MIN : n->reduce; }

Str nest_combine(NestPrinter *p, Str a, Str b) {
  Str args[2] = {a, b};
  return expr_bare(expr_fn_text(p->c, reduce_combiner(kind_of(p->n)), p->n->acc, args));
}

void nest_finish(NestPrinter *p, Str acc, const Str *coords, unsigned indent) {
  const Nest *n = p->n;
  Str *given = NEW_ARRAY(p->c->arena, Str, n->n_post_loads + 1), *pointers = NEW_ARRAY(p->c->arena, Str, n->n_post_loads + 1);
  Access *accesses = NEW_ARRAY(p->c->arena, Access, n->n_post_loads + 1);
  given[0] = acc;
  for (uint32_t k = 0; k < n->n_post_loads; k++) {
    pointers[k + 1] = p->post_pointers[k];
    accesses[k + 1] = n->post_loads[k];
  }
  ExprPrinter e = expr_printer(p->c, &n->post, p->outer, coords, accesses, pointers, given, "u", p->wide);
  for (unsigned d = 0; d <= p->outer; d++) expr_print_depth(&e, p->b, d, indent);
  nest_store(p, &e, expr_print_result(&e), indent);
  p->may_fail |= e.may_fail;
}

/* What a reduction, or a scan, starts from. */
static Str start_text(const NestPrinter *p) {
  const Nest *n = p->n;
  const ReduceKind kind = n->mode == NEST_REDUCE ? kind_of(n) : n->scan_fn == SC_mul ? REDUCE_PROD : REDUCE_SUM;
  return expr_bare(expr_const_text(p->c, n->acc, reduce_identity(kind, n->acc)));
}

void nest_declare_acc(NestPrinter *p, const char *array, unsigned indent) {
  sb_printf(p->b, "%*s%s acc%s = %.*s;\n", (int)indent, "", expr_register_ctype(p->n->acc), array, STR_WHOLE(start_text(p)));
}

static bool is_arg(const Nest *n) { return n->mode == NEST_REDUCE && (n->reduce == REDUCE_ARGMAX || n->reduce == REDUCE_ARGMIN); }

/* ---- places of maxima and minima -------------------------------------------------------------------------------------------------------- */
/* Whether the value x replaces `best`, a variable's text: a NaN replaces numbers; of equal ones the first stays, or with `equal` the last. */
static Str arg_replaces(const NestPrinter *p, const char *best, bool equal) {
  const Nest *n = p->n;
  const bool max = n->reduce == REDUCE_ARGMAX;
  Str better = expr_fn_text(p->c, max ? (equal ? SC_ge : SC_gt) : equal ? SC_le : SC_lt, n->acc, (Str[]){STR("x"), arena_printf(p->c->arena, "%s", best)});
  if (!dtype_is_float(n->acc)) return better;
  if (equal) return arena_printf(p->c->arena, "(%.*s) | (x != x)", STR_WHOLE(better));
  return arena_printf(p->c->arena, "(%.*s) | ((x != x) & (%s == %s))", STR_WHOLE(better), best, best);
}

static void declare_x(const NestPrinter *p, Str value, unsigned indent) {
  sb_printf(p->b, "%*sconst %s x = %.*s;\n", (int)indent, "", expr_register_ctype(p->n->acc), STR_WHOLE(expr_bare(value)));
}

void nest_arg_update(NestPrinter *p, Str value, unsigned indent) {
  const uint32_t last = p->n->n_axes - 1;
  declare_x(p, value, indent);
  sb_printf(p->b, "%*sif (i%u == 0 || %.*s) {\n", (int)indent, "", last, STR_WHOLE(arg_replaces(p, "acc", p->n->arg_last)));
  sb_printf(p->b, "%*sacc = x;\n%*sat = i%u;\n%*s}\n", (int)indent + 2, "", (int)indent + 2, "", last, (int)indent, "");
}

/* The same of lane l, without a branch. */
static void arg_update_lane(NestPrinter *p, Str value, unsigned indent) {
  declare_x(p, value, indent);
  sb_printf(p->b, "%*sconst int better = %.*s;\n", (int)indent, "", STR_WHOLE(arg_replaces(p, "acc[l]", p->n->arg_last)));
  sb_printf(p->b, "%*sacc[l] = better ? x : acc[l];\n%*sat[l] = better ? %.*s : at[l];\n", (int)indent, "", (int)indent, "", STR_WHOLE(p->coords[p->n->n_axes - 1]));
}

/* ---- element by element ---------------------------------------------------------------------------------------------------------------- */
static void reduce_plain(NestPrinter *p) {
  const Nest *n = p->n;
  ExprPrinter e = nest_map_printer(p);
  expr_print_depth(&e, p->b, 0, 2);
  unsigned indent = nest_open_loops(p, &e, 0, p->outer, 2);
  if (is_arg(n)) sb_printf(p->b, "%*sint64_t at = 0;\n", (int)indent, "");
  nest_declare_acc(p, "", indent);
  unsigned inner = nest_open_loops(p, &e, p->outer, n->n_axes, indent);
  if (is_arg(n)) {
    nest_arg_update(p, expr_print_result(&e), inner);
  } else {
    sb_printf(p->b, "%*sacc = ", (int)inner, "");
    sb_str(p->b, nest_combine(p, STR("acc"), expr_print_result(&e)));
    sb_puts(p->b, ";\n");
  }
  (void)nest_close_loops(p, n->n_reduce, inner);
  nest_finish(p, is_arg(n) ? STR("at") : STR("acc"), p->coords, indent);
  (void)nest_close_loops(p, p->outer, indent);
  p->may_fail |= e.may_fail;
}

/* ---- lanes of the innermost axis -------------------------------------------------------------------------------------------------------- */
/* acc[l] combined with the expression at coordinate `base + l` of the last axis, for l below `count`. */
static void lane_loop(NestPrinter *p, ExprPrinter *e, const char *count, unsigned indent) {
  StrBuf *b = p->b;
  sb_printf(b, "%*sfor (int l = 0; l < %s; l++) {\n", (int)indent, "", count);
  expr_print_depth(e, b, p->n->n_axes, indent + 2);
  if (is_arg(p->n)) {
    arg_update_lane(p, expr_print_result(e), indent + 2);
  } else {
    sb_printf(b, "%*sacc[l] = ", (int)indent + 2, "");
    sb_str(b, nest_combine(p, STR("acc[l]"), expr_print_result(e)));
    sb_puts(b, ";\n");
  }
  nest_close_loop(p, indent);
}

/* Runs of the innermost axis: lanes of the whole run, then the rest, if there can be any. `from` and `to` are texts of its bounds. */
static void lane_runs(NestPrinter *p, ExprPrinter *e, ExprPrinter *plain, int lanes, const char *from, const char *to, int rest, unsigned indent) {
  const uint32_t last = p->n->n_axes - 1;
  StrBuf *b = p->b;
  sb_printf(b, "%*s%s i%u = %s;\n", (int)indent, "", nest_index_type(p), last, from);
  sb_printf(b, "%*sfor (; i%u + %d <= %s; i%u += %d) {\n", (int)indent, "", last, lanes, to, last, lanes);
  expr_print_lane_calls(e, b, &(LaneLoop){last + 1, lanes, NULL, "int", "l", nest_axis_name(p, last)}, indent + 2);
  lane_loop(p, e, arena_printf(p->c->arena, "%d", lanes).ptr, indent + 2);
  nest_close_loop(p, indent);
  if (rest == 0) return;
  Str count = rest > 0 ? arena_printf(p->c->arena, "%d", rest) : arena_printf(p->c->arena, "(int)(%s - i%u)", to, last);
  lane_loop(p, plain, count.ptr, indent);
}

/* Arrays of `count` results, of which the first `used` (a text) start anew. */
static void declare_lanes(NestPrinter *p, const char *name, int count, const char *used, unsigned indent) {
  const bool arg = is_arg(p->n);
  sb_printf(p->b, "%*s%s %s[%d];\n", (int)indent, "", expr_register_ctype(p->n->acc), name, count);
  if (arg) sb_printf(p->b, "%*s%s at[%d];\n", (int)indent, "", nest_index_type(p), count);
  sb_printf(p->b, "%*sfor (int l = 0; l < %s; l++) %s[l] = %.*s;\n", (int)indent, "", used, name, STR_WHOLE(start_text(p)));
  if (arg) sb_printf(p->b, "%*sfor (int l = 0; l < %s; l++) at[l] = 0;\n", (int)indent, "", used);
}

/* Sums have as many lanes everywhere, since their rounding shows it; what waits longer for its last value and does not round has four times as many. */
static int lanes_of(const NestPrinter *p) {
  int64_t extent;
  if (p->n->reduce == REDUCE_SUM || p->n->reduce == REDUCE_PROD || p->c->opt->target->vector_bits <= 32) return LANES;
  if (!dim_is_const(p->n->extent[p->n->n_axes - 1], &extent)) return LANES;
  return extent < (is_arg(p->n) ? 64 : 8) * LANES ? LANES : 4 * LANES;
}

/* total[0] of all lanes: halves, each a loop of known length, which compilers turn into vectors. */
static void join_lanes(NestPrinter *p, const char *total, int lanes, unsigned indent) {
  const Str low = arena_printf(p->c->arena, "%s[l]", total);
  for (int h = lanes / 2; h > 0; h /= 2) {
    sb_printf(p->b, "%*sfor (int l = 0; l < %d; l++) %s = ", (int)indent, "", h, low.ptr);
    sb_str(p->b, nest_combine(p, low, arena_printf(p->c->arena, "%s[l + %d]", total, h)));
    sb_puts(p->b, ";\n");
  }
}

/* The place of the best value, the first or the last where several lanes hold it, `place`. */
static void join_places(NestPrinter *p, int lanes, unsigned indent) {
  const Nest *n = p->n;
  StrBuf *b = p->b;
  const char *order = n->arg_last ? ">" : "<";
  sb_printf(b, "%*s%s best[%d];\n%*sfor (int l = 0; l < %d; l++) best[l] = acc[l];\n", (int)indent, "", expr_register_ctype(n->acc), lanes, (int)indent, "", lanes);
  join_lanes(p, "best", lanes, indent);
  sb_printf(b, "%*s%s place = %s;\n%*sfor (int l = 0; l < %d; l++) {\n", (int)indent, "", nest_index_type(p), n->arg_last ? "-1" : p->wide ? "INT64_MAX" : "INT32_MAX", (int)indent, "", lanes);
  sb_printf(b, "%*sconst int best_too = (acc[l] == best[0])%s;\n", (int)indent + 2, "", dtype_is_float(n->acc) ? " | ((acc[l] != acc[l]) & (best[0] != best[0]))" : "");
  sb_printf(b, "%*splace = (best_too & (at[l] %s place)) ? at[l] : place;\n", (int)indent + 2, "", order);
  nest_close_loop(p, indent);
}

/* The innermost axis is reduced: partial results, joined by halving. Long float sums are made of blocks, so that the rounding errors of a sum grow with
 * its blocks' number and length, not with their product. */
static void reduce_lanes(NestPrinter *p) {
  const Nest *n = p->n;
  StrBuf *b = p->b, size = sb_new(p->c->arena);
  uint32_t last = n->n_axes - 1;
  int64_t extent = 0;
  const int lanes = lanes_of(p);
  const char *count = arena_printf(p->c->arena, "%d", lanes).ptr;
  bool known = dim_is_const(n->extent[last], &extent);
  bool blocks = n->reduce == REDUCE_SUM && dtype_is_float(n->acc) && (!known || extent > BLOCK || n->n_reduce > 1);
  const char *total = blocks ? "sum" : "acc";
  emit_dim(p->c, &size, n->extent[last]);
  p->coords[last] = arena_printf(p->c->arena, "(i%u + l)", last);
  ExprPrinter e = nest_map_printer(p), rest = nest_map_printer(p);
  StrBuf declared = sb_new(p->c->arena); /* what outer loops know is declared once, by e */
  for (uint32_t j = 0; j <= last; j++) expr_print_depth(&rest, &declared, j, 0);
  expr_print_depth(&e, b, 0, 2);
  unsigned indent = nest_open_loops(p, &e, 0, p->outer, 2);
  declare_lanes(p, total, lanes, count, indent);
  unsigned inner = nest_open_loops(p, &e, p->outer, last, indent);
  if (blocks) {
    sb_printf(b, "%*sfor (%s b = 0; b < %s; b += %d) {\n", (int)inner, "", nest_index_type(p), size.data, BLOCK);
    sb_printf(b, "%*sconst %s end = %s - b < %d ? %s : b + %d;\n", (int)inner + 2, "", nest_index_type(p), size.data, BLOCK, size.data, BLOCK);
    declare_lanes(p, "acc", lanes, count, inner + 2);
    lane_runs(p, &e, &rest, lanes, "b", "end", known && extent % lanes == 0 ? 0 : -1, inner + 2);
    sb_printf(b, "%*sfor (int l = 0; l < %d; l++) sum[l] = ", (int)inner + 2, "", lanes);
    sb_str(b, nest_combine(p, STR("sum[l]"), STR("acc[l]")));
    sb_puts(b, ";\n");
    nest_close_loop(p, inner);
  } else {
    lane_runs(p, &e, &rest, lanes, "0", size.data, known ? (int)(extent % lanes) : -1, inner);
  }
  (void)nest_close_loops(p, n->n_reduce - 1, inner);
  if (is_arg(n)) join_places(p, lanes, indent);
  else join_lanes(p, total, lanes, indent);
  nest_finish(p, is_arg(n) ? STR("place") : arena_printf(p->c->arena, "%s[0]", total), p->coords, indent);
  (void)nest_close_loops(p, p->outer, indent);
  p->may_fail |= e.may_fail;
}

/* ---- strips of an axis that stays -------------------------------------------------------------------------------------------------------- */
/* Opens a loop over strips of the axis, elements `(i + l)` of which stand side by side for l < n, and declares their results. */
static unsigned open_strips(NestPrinter *p, uint32_t axis, unsigned indent) {
  const Str size = nest_axis_end(p, axis);
  sb_printf(p->b, "%*sfor (%s i%u = %s; i%u < %s; i%u += %d) {\n", (int)indent, "", nest_index_type(p), axis, nest_axis_begin(p, axis), axis, size.ptr, axis, STRIP);
  indent += 2;
  sb_printf(p->b, "%*sconst int n = %s - i%u < %d ? (int)(%s - i%u) : %d;\n", (int)indent, "", size.ptr, axis, STRIP, size.ptr, axis, STRIP);
  declare_lanes(p, "acc", STRIP, "n", indent);
  return indent;
}

static unsigned open_lanes_of_strip(NestPrinter *p, ExprPrinter *e, uint32_t axis, unsigned indent) {
  expr_print_lane_calls(e, p->b, &(LaneLoop){axis + 1, STRIP, "n", "int", "l", nest_axis_name(p, axis)}, indent);
  sb_printf(p->b, "%*sfor (int l = 0; l < n; l++) {\n", (int)indent, "");
  for (unsigned d = axis + 1; d <= p->n->n_axes; d++) expr_print_depth(e, p->b, d, indent + 2); /* all that depends on l, its depth's too */
  return indent + 2;
}

/* The last outer axis is the contiguous one. */
static void reduce_strips(NestPrinter *p) {
  const Nest *n = p->n;
  StrBuf *b = p->b;
  const uint32_t strip = p->outer - 1;
  const Str plain = p->coords[strip];
  p->coords[strip] = arena_printf(p->c->arena, "(i%u + l)", strip);
  ExprPrinter e = nest_map_printer(p);
  expr_print_depth(&e, b, 0, 2);
  const unsigned indent = open_strips(p, strip, nest_open_loops(p, &e, 0, strip, 2));
  unsigned inner = indent;
  for (uint32_t j = p->outer; j < n->n_axes; j++, inner += 2) nest_open_loop(p, j, inner);
  inner = open_lanes_of_strip(p, &e, strip, inner);
  if (is_arg(n)) {
    arg_update_lane(p, expr_print_result(&e), inner);
  } else {
    sb_printf(b, "%*sacc[l] = ", (int)inner, "");
    sb_str(b, nest_combine(p, STR("acc[l]"), expr_print_result(&e)));
    sb_puts(b, ";\n");
  }
  inner = nest_close_loops(p, n->n_reduce + 1, inner);
  sb_printf(b, "%*sfor (int l = 0; l < n; l++) {\n", (int)inner, "");
  nest_finish(p, is_arg(n) ? STR("at[l]") : STR("acc[l]"), p->coords, inner + 2);
  nest_close_loop(p, inner);
  p->coords[strip] = plain;
  (void)nest_close_loops(p, p->outer, indent);
  p->may_fail |= e.may_fail;
}

/* ---- which ----------------------------------------------------------------------------------------------------------------------------- */
static bool unit_stride(const NestPrinter *p, uint32_t axis) { /* some load walks the axis element by element */
  for (uint32_t k = 0; k < p->n->n_loads; k++)
    if (dim_is(p->n->loads[k].stride[axis], 1)) return true;
  return false;
}

/* How many loads would gather if neighbours along the axis were computed side by side. */
static uint32_t gathers(const NestPrinter *p, uint32_t axis) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < p->n->n_loads; k++) count += !dim_is(p->n->loads[k].stride[axis], 0) && !dim_is(p->n->loads[k].stride[axis], 1);
  return count;
}

static int64_t extent_of(const NestPrinter *p, uint32_t axis) {
  int64_t v;
  return dim_is_const(p->n->extent[axis], &v) ? v : INT64_MAX;
}

/* Whether results lie side by side: the elements of the last outer axis are neighbours, and those of the innermost are not, or are few (a window's): not
 * two or three alone, a loop that compilers unroll. */
static bool has_strips(const NestPrinter *p) {
  const uint32_t last = p->n->n_axes - 1;
  int64_t taps = 1;
  if (!p->n->n_reduce || !p->outer || !unit_stride(p, p->outer - 1)) return false;
  if (gathers(p, p->outer - 1) < gathers(p, last)) return extent_of(p, p->outer - 1) >= 4;
  for (uint32_t j = p->outer; j <= last && taps < 4; j++) taps = extent_of(p, j) < 4 ? taps * extent_of(p, j) : 4;
  return taps >= 4 && extent_of(p, last) < LANES && extent_of(p, p->outer - 1) >= LANES;
}

/* Maxima along rows that are too short for lanes: each waits for the one before, unless several rows go side by side, by strided loads. Compilers see that for themselves
 * of sums, and of rows of up to eight. */
static bool takes_turns(const NestPrinter *p) {
  const ReduceKind kind = p->n->reduce;
  if ((kind != REDUCE_MAX && kind != REDUCE_MIN) || !p->n->n_reduce || !p->outer) return false;
  const int64_t rows = extent_of(p, p->outer - 1);
  return extent_of(p, p->n->n_axes - 1) > 8 && rows >= LANES && rows < INT64_MAX && p->c->opt->target->vector_bits > 32;
}

/* Without vectors lanes of an argmax are but more variables. */
static bool has_lanes(const NestPrinter *p) {
  const uint32_t last = p->n->n_axes - 1;
  if (!p->n->n_reduce || extent_of(p, last) < 2 * LANES) return false;
  return !is_arg(p->n) || (unit_stride(p, last) && extent_of(p, last) < INT64_MAX && p->c->opt->target->vector_bits > 32);
}

void nest_reduce(NestPrinter *p) {
  p->outer = p->n->n_axes - p->n->n_reduce;
  if (has_strips(p)) reduce_strips(p);
  else if (has_lanes(p)) reduce_lanes(p);
  else if (takes_turns(p)) reduce_strips(p);
  else reduce_plain(p);
}

/* ---- scans ------------------------------------------------------------------------------------------------------------------------------- */
static void scan_update(NestPrinter *p, ExprPrinter *e, Str acc, unsigned indent) {
  const Nest *n = p->n;
  if (n->scan_exclusive) nest_store(p, e, acc, indent);
  sb_printf(p->b, "%*s%.*s = ", (int)indent, "", STR_WHOLE(acc));
  sb_str(p->b, expr_bare(expr_fn_text(p->c, n->scan_fn, n->acc, (Str[]){acc, expr_print_result(e)})));
  sb_puts(p->b, ";\n");
  if (!n->scan_exclusive) nest_store(p, e, acc, indent);
}

void nest_scan(NestPrinter *p) {
  const Nest *n = p->n;
  const uint32_t last = n->n_axes - 1;
  const bool strips = last > 0 && unit_stride(p, last - 1) && dim_is(n->store.stride[last - 1], 1) && extent_of(p, last - 1) >= LANES && extent_of(p, last) > LANES;
  if (strips) p->coords[last - 1] = arena_printf(p->c->arena, "(i%u + l)", last - 1);
  ExprPrinter e = nest_map_printer(p);
  expr_print_depth(&e, p->b, 0, 2);
  if (strips) {
    const unsigned indent = open_strips(p, last - 1, nest_open_loops(p, &e, 0, last - 1, 2));
    nest_open_loop(p, last, indent);
    const unsigned inner = open_lanes_of_strip(p, &e, last - 1, indent + 2);
    scan_update(p, &e, STR("acc[l]"), inner);
    (void)nest_close_loops(p, n->n_axes + 1, inner);
  } else {
    unsigned indent = nest_open_loops(p, &e, 0, last, 2);
    nest_declare_acc(p, "", indent);
    indent = nest_open_loops(p, &e, last, n->n_axes, indent);
    scan_update(p, &e, STR("acc"), indent);
    (void)nest_close_loops(p, n->n_axes, indent);
  }
  p->may_fail |= e.may_fail;
}
