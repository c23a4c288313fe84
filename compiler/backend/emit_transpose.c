/* What turns a matrix over its diagonal, as into and out of blocks of channels. Copies: a call for the two axes that change places, loops for the
 * others. Maps that compute on the way: along the long axis, a part of it at a time, from and to tiles that calls turn. */
#include "backend/emit_nest.h"

/* Axes of the nest. x: one load; neighbours in x lie along `column`, neighbours in y along `row`. */
typedef struct Turned { uint32_t row, column; } Turned;

static uint32_t unit_axis(const Access *a, uint32_t n_axes) {
  for (uint32_t j = 0; j < n_axes; j++)
    if (dim_is(a->stride[j], 1)) return j;
  return n_axes;
}

/* Half a vector or more of elements of so many bits, as usual where that is open. */
static bool is_long(const NestPrinter *p, uint32_t axis, int64_t bits) {
  int64_t n;
  return dim_eval(p->n->extent[axis], NULL, &n) && n >= p->c->opt->target->vector_bits / (2 * bits);
}

/* What turns elements of a type: they are moved, nothing else. */
static const char *turning_function(DType t) {
  if (t == DT_f32) return "cn_transpose_f32";
  return dtype_rows[t].bits == 16 ? "cn_transpose_u16" : dtype_rows[t].bits == 8 ? "cn_transpose_u8" : NULL;
}

/* From row to row: more than nothing, or empty together with what is copied. */
static bool is_pitch(const Dim *stride) { return !dim_is(stride, 0) && stride->lo >= 0; }

static bool find_turned(const NestPrinter *p, Turned *ret) {
  const Nest *n = p->n;
  const Access *x = n->loads, *y = &n->store;
  if (p->c->opt->target->vector_bits <= 32 || n->map.n != 1 || n->n_loads != 1 || n->map.nodes[0].kind != EXPR_INPUT || x->n_indirect || y->n_indirect) return false;
  const PTensor *from = &p->p->tensors.data[x->tensor], *to = &p->p->tensors.data[y->tensor];
  if (from->dtype != to->dtype || !turning_function(to->dtype) || emit_storage(p->p, from->buffer) == emit_storage(p->p, to->buffer)) return false;
  *ret = (Turned){unit_axis(y, n->n_axes), unit_axis(x, n->n_axes)};
  if (ret->row == n->n_axes || ret->column == n->n_axes || ret->row == ret->column) return false;
  return is_pitch(x->stride[ret->row]) && is_pitch(y->stride[ret->column]) && is_long(p, ret->row, dtype_rows[to->dtype].bits) && is_long(p, ret->column, 32);
}

/* `y + i0 * 12544`: the first element of this turn of the loops. */
static void print_first(NestPrinter *p, ExprPrinter *e, Str pointer, const Access *a, const Turned *t) {
  const Dim **stride = arena_dup(p->c->arena, a->stride, p->n->n_axes * sizeof *stride);
  const uint32_t turned[] = {t->row, t->column};
  for (int k = 0; k < 2; k++)
    if (turned[k] != p->parted) stride[turned[k]] = p->p->dims->zero;
  Access first = *a;
  first.stride = stride;
  const Str index = expr_print_index(e, &first);
  sb_str(p->b, pointer);
  if (!str_is(index, "0")) sb_printf(p->b, " + %.*s", STR_WHOLE(index));
}

static void print_count(NestPrinter *p, const Dim *d, bool parted) {
  sb_puts(p->b, ", ");
  if (parted) sb_puts(p->b, "(size_t)(b1 - b0)");
  else emit_dim_as(p->c, p->b, d, "size_t");
}

bool nest_transposes(NestPrinter *p) {
  const Nest *n = p->n;
  Turned t;
  unsigned indent = 2;
  if (!find_turned(p, &t)) return false;
  if (p->parted == t.row || p->parted == t.column) p->coords[p->parted] = STR("b0");
  ExprPrinter e = nest_map_printer(p);
  for (uint32_t j = 0; j < n->n_axes; j++)
    if (j != t.row && j != t.column) nest_open_loop(p, j, indent), indent += 2;
  sb_printf(p->b, "%*s%s(", (int)indent, "", turning_function(p->p->tensors.data[n->store.tensor].dtype));
  print_first(p, &e, p->store_pointer, &n->store, &t);
  print_count(p, n->store.stride[t.column], false);
  sb_puts(p->b, ", ");
  print_first(p, &e, p->load_pointers[0], n->loads, &t);
  print_count(p, n->loads[0].stride[t.row], false);
  print_count(p, n->extent[t.row], p->parted == t.row);
  print_count(p, n->extent[t.column], p->parted == t.column);
  sb_puts(p->b, ");\n");
  for (; indent > 2;) nest_close_loop(p, indent -= 2);
  return true;
}

/* ---- maps with tiles ---------------------------------------------------------------------------------------------------------------- */
enum { PART = 64, LEAST = 16, PITCH = PART + LEAST /* a last part of less than LEAST goes with the one before */, TILES = 4 /* 20 KiB of stack */ };

/* A nest whose last axes are the few lanes of a block, and the long axis along which the other tensors lie. */
typedef struct Turns {
  Nest nest;
  uint32_t lane, column, parted;
  bool store;  /* whether the result is turned, */
  bool *loads; /* and which operands are */
} Turns;

static bool is_lane_axis(const NestPrinter *p, uint32_t axis) {
  int64_t n;
  return axis < p->n->n_axes && axis != p->parted && dim_is_const(p->n->extent[axis], &n) && n >= 4 && n <= LEAST;
}

/* LEAST elements or more, as usual where that is open. */
static bool is_column_axis(const NestPrinter *p, uint32_t axis) {
  int64_t n;
  return axis < p->n->n_axes && dim_eval(p->n->extent[axis], NULL, &n) && n >= LEAST;
}

static bool find_axes(const NestPrinter *p, uint32_t *lane, uint32_t *column) {
  const Nest *n = p->n;
  const uint32_t to = unit_axis(&n->store, n->n_axes);
  for (uint32_t k = 0; k < n->n_loads; k++) {
    const uint32_t from = unit_axis(&n->loads[k], n->n_axes);
    if (from == to) continue;
    *lane = is_lane_axis(p, to) ? to : from;
    *column = *lane == to ? from : to;
    if (is_lane_axis(p, *lane) && is_column_axis(p, *column)) return true;
  }
  return false;
}

/* Whether what a tensor's access gives has to go through a tile; false in *ret where it cannot. */
static bool is_turned(const NestPrinter *p, const Access *a, uint32_t lane, uint32_t column, bool *ret) {
  const Dim *along = a->stride[column];
  if (a->n_indirect) *ret = false;
  if (dim_is(along, 0) || dim_is(along, 1)) return false;
  if (!dim_is(a->stride[lane], 1) || !is_pitch(along) || p->p->tensors.data[a->tensor].dtype != DT_f32) *ret = false;
  return true;
}

/* Where an axis of the nest as it was comes to stand. */
static uint32_t moved(uint32_t axis, uint32_t lane, uint32_t column, uint32_t n_axes) {
  return axis == column ? n_axes - 1 : axis == lane ? n_axes - 2 : axis - (lane < axis) - (column < axis);
}

static const Dim **move_last(const NestPrinter *p, const Dim *const *of, uint32_t lane, uint32_t column) {
  const uint32_t n = p->n->n_axes;
  const Dim **ret = NEW_ARRAY(p->c->arena, const Dim *, n);
  uint32_t at = 0;
  for (uint32_t j = 0; j < n; j++)
    if (j != lane && j != column) ret[at++] = of[j];
  ret[at++] = of[lane];
  ret[at] = of[column];
  return ret;
}

static bool find_turns(const NestPrinter *p, Turns *t) {
  const Nest *n = p->n;
  uint32_t lane, column, n_tiles;
  bool can = true;
  if (p->c->opt->target->vector_bits <= 32 || n->map.n < 2 || !find_axes(p, &lane, &column)) return false;
  for (uint32_t i = 0; i < n->map.n; i++)
    if (n->map.nodes[i].kind == EXPR_INDEX) return false;
  *t = (Turns){.nest = *n, .lane = n->n_axes - 2, .column = n->n_axes - 1, .parted = moved(p->parted, lane, column, n->n_axes), .loads = NEW_ARRAY(p->c->arena, bool, n->n_loads)};
  n_tiles = t->store = is_turned(p, &n->store, lane, column, &can);
  if (dim_is(n->store.stride[column], 0)) return false;
  Access *loads = NEW_ARRAY(p->c->arena, Access, n->n_loads);
  for (uint32_t k = 0; k < n->n_loads; k++) {
    n_tiles += t->loads[k] = is_turned(p, &n->loads[k], lane, column, &can);
    loads[k] = n->loads[k];
    loads[k].stride = move_last(p, n->loads[k].stride, lane, column);
  }
  t->nest.loads = loads;
  t->nest.store.stride = move_last(p, n->store.stride, lane, column);
  t->nest.extent = move_last(p, n->extent, lane, column);
  return can && n_tiles >= 1 && n_tiles <= TILES;
}

/* `y + i0 * 1568 + from * 8`: the first element of this part. */
static void print_part(NestPrinter *p, ExprPrinter *e, Str pointer, const Access *a, const Turns *t) {
  const Dim **stride = arena_dup(p->c->arena, a->stride, t->nest.n_axes * sizeof *stride);
  stride[t->lane] = p->p->dims->zero;
  Access first = *a;
  first.stride = stride;
  const Str index = expr_print_index(e, &first);
  sb_str(p->b, pointer);
  if (!str_is(index, "0")) sb_printf(p->b, " + %.*s", STR_WHOLE(index));
  print_count(p, a->stride[t->column], false);
}

/* The expression's printer for the column `column`, whose place in a tile is `place`. */
static ExprPrinter turns_printer(NestPrinter *p, const Turns *t, Str column, const char *place) {
  Str *coords = arena_dup(p->c->arena, p->coords, sizeof p->coords), *given = NEW_ARRAY(p->c->arena, Str, t->nest.n_loads);
  coords[t->column] = column;
  for (uint32_t k = 0; k < t->nest.n_loads; k++)
    if (t->loads[k]) given[k] = arena_printf(p->c->arena, "tile%u[i%u * %d + %s]", k, t->lane, PITCH, place);
  return expr_printer(p->c, &t->nest.map, t->nest.n_axes, coords, t->nest.loads, p->load_pointers, given, "t", p->wide);
}

static void turns_store(NestPrinter *p, ExprPrinter *e, const Turns *t, const char *place, unsigned indent) {
  if (!t->store) {
    nest_store(p, e, expr_print_result(e), indent);
    return;
  }
  sb_printf(p->b, "%*stile[i%u * %d + %s] = ", (int)indent, "", t->lane, PITCH, place);
  sb_str(p->b, expr_bare(expr_print_result(e)));
  sb_puts(p->b, ";\n");
}

/* Whether the last vector of a part may compute again what the one before has. */
static bool may_overlap(const NestPrinter *p, const Turns *t) {
  int64_t extent;
  for (uint32_t k = 0; k < t->nest.n_loads; k++)
    if (!t->loads[k] && str_is(p->load_pointers[k], "y")) return false;
  return p->parted != t->column && dim_is_const(t->nest.extent[t->column], &extent);
}

/* One lane's row of a part, LEAST columns a turn. */
static void print_turned_row(NestPrinter *p, const Turns *t, ExprPrinter *vector, ExprPrinter *one, const char *places, const char *place, unsigned indent) {
  const char *type = nest_index_type(p);
  const uint32_t c = t->column;
  const bool overlap = may_overlap(p, t);
  if (overlap) {
    sb_printf(p->b, "%*sfor (%s i%u = from; i%u < to; i%u += %d) {\n", (int)indent, "", type, c, c, c, LEAST);
    sb_printf(p->b, "%*sif (i%u > to - %d) i%u = to - %d;\n", (int)indent + 2, "", c, LEAST, c, LEAST);
  } else {
    sb_printf(p->b, "%*s%s i%u = from;\n%*sfor (; i%u + %d <= to; i%u += %d) {\n", (int)indent, "", type, c, (int)indent, "", c, LEAST, c, LEAST);
  }
  expr_print_lane_calls(vector, p->b, &(LaneLoop){c + 1, LEAST, NULL, "int", "l", arena_printf(p->c->arena, "i%u", c).ptr}, indent + 2);
  sb_printf(p->b, "%*sCN_LANES\n%*sfor (int l = 0; l < %d; l++) {\n", (int)indent + 2, "", (int)indent + 2, "", LEAST);
  expr_print_depth(vector, p->b, c + 1, indent + 4);
  turns_store(p, vector, t, places, indent + 4);
  sb_printf(p->b, "%*s}\n%*s}\n", (int)indent + 2, "", (int)indent, "");
  if (overlap) return;
  sb_printf(p->b, "%*sfor (; i%u < to; i%u++) {\n", (int)indent, "", c, c);
  expr_print_depth(one, p->b, c + 1, indent + 2);
  turns_store(p, one, t, place, indent + 2);
  sb_printf(p->b, "%*s}\n", (int)indent, "");
}

static void print_part_call(NestPrinter *p, ExprPrinter *part, const Turns *t, uint32_t load, unsigned indent) {
  int64_t lanes = 0;
  (void)dim_is_const(t->nest.extent[t->lane], &lanes);
  if (load < t->nest.n_loads) {
    sb_printf(p->b, "%*scn_transpose_f32(tile%u, %d, ", (int)indent, "", load, PITCH);
    print_part(p, part, p->load_pointers[load], &t->nest.loads[load], t);
    sb_printf(p->b, ", (size_t)(to - from), %d);\n", (int)lanes);
  } else {
    sb_printf(p->b, "%*scn_transpose_f32(", (int)indent, "");
    print_part(p, part, p->store_pointer, &t->nest.store, t);
    sb_printf(p->b, ", tile, %d, %d, (size_t)(to - from));\n", PITCH, (int)lanes);
  }
}

bool nest_turns(NestPrinter *whole) {
  Turns t;
  if (!find_turns(whole, &t)) return false;
  NestPrinter q = *whole, *p = &q;
  const uint32_t c = t.column;
  const char *type = nest_index_type(p);
  const char *places = arena_printf(p->c->arena, "(i%u - from + l)", c).ptr, *place = arena_printf(p->c->arena, "(i%u - from)", c).ptr;
  int64_t lanes = 0;
  unsigned indent = 2;
  p->n = &t.nest;
  if (p->parted != NOT_PARTED) p->parted = t.parted;
  ExprPrinter part = turns_printer(p, &t, STR("from"), place), one = turns_printer(p, &t, p->coords[c], place);
  ExprPrinter vector = turns_printer(p, &t, arena_printf(p->c->arena, "(i%u + l)", c), places);
  StrBuf declared = sb_new(p->c->arena);
  (void)dim_is_const(t.nest.extent[t.lane], &lanes);
  for (uint32_t k = 0; k <= t.nest.n_loads; k++)
    if (k < t.nest.n_loads ? t.loads[k] : t.store)
      sb_printf(p->b, "  CN_ALIGN(64) float tile%s[%d];\n", k < t.nest.n_loads ? arena_printf(p->c->arena, "%u", k).ptr : "", (int)lanes * PITCH);
  for (uint32_t j = 0; j <= t.lane; j++, indent += 2) {
    expr_print_depth(&vector, p->b, j, indent);
    expr_print_depth(&one, &declared, j, indent);
    if (j == t.lane) break;
    nest_open_loop(p, j, indent);
  }
  const Str end = nest_axis_end(p, c);
  sb_printf(p->b, "%*sfor (%s from = %s, to; from < %s; from = to) {\n", (int)indent, "", type, nest_axis_begin(p, c), end.ptr);
  sb_printf(p->b, "%*sto = %s - from < %d ? %s : from + %d;\n", (int)indent + 2, "", end.ptr, PITCH, end.ptr, PART);
  for (uint32_t k = 0; k < t.nest.n_loads; k++)
    if (t.loads[k]) print_part_call(p, &part, &t, k, indent + 2);
  nest_open_loop(p, t.lane, indent + 2);
  expr_print_depth(&vector, p->b, c, indent + 4);
  expr_print_depth(&one, &declared, c, indent + 4);
  print_turned_row(p, &t, &vector, &one, places, place, indent + 4);
  nest_close_loop(p, indent + 2);
  if (t.store) print_part_call(p, &part, &t, t.nest.n_loads, indent + 2);
  for (; indent >= 2; indent -= 2) nest_close_loop(p, indent);
  whole->may_fail |= vector.may_fail;
  return true;
}
