#include "backend/emit_tile.h"

enum { LANES = 16, ROW = 0, COLUMN, LANE, N_AXES }; /* LANES: columns a turn, a trip count that compilers know, so that they make vector code at -O2 */

typedef struct TilePrinter {
  EmitCtx *c;
  const Epilogue *e;
  Expr expr;
  Access *accesses;    /* by operand, over (row, column, column modulo lanes); [0]: the tile */
  int64_t lanes;       /* columns a turn: LANES, or a block of channels if an operand has a value for each channel */
  Str *pointers;
  TileOperand *operands;
  const Dim *(*stride)[1 + N_AXES]; /* by pointer: of the matrix's number, row, column, lane */
  uint32_t n_operands;
  uint32_t *of;        /* by operand of the expression: which pointer */
  const Dim **sizes;   /* strides that only a run knows */
  uint32_t n_sizes;
  bool row_place, column_place; /* whether it computes with a row's or a column's coordinate */
  bool narrow;                  /* in 32 bits */
} TilePrinter;

/* Number of an open stride among the sizes; once. */
static uint32_t size_of(TilePrinter *p, const Dim *stride) {
  uint32_t k = 0;
  while (k < p->n_sizes && p->sizes[k] != stride) k++;
  if (k == p->n_sizes) p->sizes[p->n_sizes++] = stride;
  return k;
}

static bool is_open(const Dim *stride) { return !dim_is_const(stride, NULL); }

/* One stride for axes [from, to) walked as one; NULL where there is none. */
static const Dim *joint_stride(DimCtx *c, const Access *a, const PTensor *out, uint32_t from, uint32_t to) {
  const Dim *stride = c->zero, *next = NULL;
  for (uint32_t j = to; j-- > from;) {
    if (dim_is(out->dims[j], 1)) continue;
    if (!next) stride = a->stride[j];
    else if (a->stride[j] != next) return NULL;
    next = dim_mul(c, a->stride[j], out->dims[j]);
  }
  return stride->lo >= 0 ? stride : NULL;
}

/* The stride of a matrix's number: of all its axes as one, or of a group's rows. */
static const Dim *matrix_stride(DimCtx *c, const Access *a, const PTensor *out, const TileAxes *t, const Dim *row) {
  if (t->batched) return c->zero;
  if (!t->group_rows) return joint_stride(c, a, out, 0, t->rows);
  const Dim *all = joint_stride(c, a, out, 0, t->columns); /* groups are part of the rows */
  return all && all == row ? dim_mul(c, row, t->group_rows) : NULL;
}

static uint32_t pointer_of(TilePrinter *p, const Access *a, const Dim *const *stride) {
  for (uint32_t k = 0; k < p->n_operands; k++)
    if (p->operands[k].tensor == a->tensor && p->operands[k].batch == a->stride && memcmp(p->stride[k], stride, sizeof p->stride[k]) == 0) return k;
  p->operands[p->n_operands] = (TileOperand){a->tensor, a->stride};
  memcpy(p->stride[p->n_operands], stride, sizeof *p->stride);
  return p->n_operands++;
}

/* An operand that has a value for each place of the last axis and is the same elsewhere along a row. */
static const Dim *lane_stride(TilePrinter *p, const Access *a, const PTensor *out, const TileAxes *t) {
  const uint32_t last = out->rank - 1;
  int64_t lanes, stride;
  if (!t->whole_blocks || t->columns > last || !dim_is_const(out->dims[last], &lanes) || lanes > LANES || !dim_is_const(a->stride[last], &stride) || stride < 0) return NULL;
  for (uint32_t j = t->columns; j < last; j++)
    if (!dim_is(out->dims[j], 1) && !dim_is(a->stride[j], 0)) return NULL;
  p->lanes = lanes;
  return a->stride[last];
}

/* Operand k of the expression over rows and columns; false where its strides do not allow it. */
static bool place_operand(TilePrinter *p, uint32_t k, const Access *a, const PTensor *out, const TileAxes *t) {
  DimCtx *c = p->c->program->dims;
  const PTensor *x = &p->c->program->tensors.data[a->tensor];
  const Dim *row = joint_stride(c, a, out, t->rows, t->columns), *column = joint_stride(c, a, out, t->columns, out->rank);
  const Dim *lane = column ? c->zero : lane_stride(p, a, out, t);
  if (!row || !lane || a->n_indirect || !dim_is(a->offset, 0) || dtype_rows[x->dtype].bits < 8) return false;
  const Dim *index = matrix_stride(c, a, out, t, row);
  if (!index || (column && is_open(column)) || (is_open(row) && dim_is(column ? column : lane, 0))) return false;
  const Dim *const strides[1 + N_AXES] = {index, row, column ? column : c->zero, lane};
  const Dim **within = arena_dup(p->c->arena, strides + 1, N_AXES * sizeof *within);
  if (is_open(row)) within[ROW] = c->zero; /* the pointer moves from row to row */
  p->accesses[k] = (Access){.tensor = a->tensor, .offset = c->zero, .stride = within};
  p->of[k] = pointer_of(p, a, strides);
  p->pointers[k] = arena_printf(p->c->arena, "x%u", p->of[k]);
  return true;
}

static bool is_read(const Expr *e, uint32_t operand) {
  for (uint32_t i = 0; i < e->n; i++)
    if (e->nodes[i].kind == EXPR_INPUT && e->nodes[i].operand == operand) return true;
  return false;
}

/* The nodes behind `done` alone: what led to it is in the tile already. */
static Expr rest_of(Arena *a, const Epilogue *e, uint32_t done, DType t, bool *live) {
  Expr r = {0};
  uint32_t *map = NEW_ARRAY(a, uint32_t, e->expr.n);
  live[e->expr.n - 1] = true;
  for (uint32_t i = e->expr.n; i-- > 0;)
    if (live[i] && i != done)
      for (unsigned k = 0; k < expr_node_arity(&e->expr.nodes[i]); k++) live[e->expr.nodes[i].args[k]] = true;
  for (uint32_t i = 0; i < e->expr.n; i++) {
    ExprNode n = e->expr.nodes[i];
    if (!live[i]) continue;
    if (i == done) n = (ExprNode){.kind = EXPR_INPUT, .type = t, .operand = 0};
    for (unsigned k = 0; k < expr_node_arity(&n); k++) n.args[k] = map[n.args[k]];
    map[i] = expr_push(a, &r, n);
  }
  expr_set_result(a, &r, map[e->expr.n - 1]);
  return r;
}

/* Coordinates, where an axis is the rows or the columns by itself: of the row, of the column. Sizes that only a run knows are not at hand. */
static bool place_indices(TilePrinter *p, const PTensor *out, const TileAxes *t) {
  for (uint32_t i = 0; i < p->expr.n; i++) {
    ExprNode *n = &p->expr.nodes[i];
    if (n->kind == EXPR_DIM && is_open(n->dim)) return false;
    if (n->kind != EXPR_INDEX) continue;
    const bool row = n->axis == t->rows && t->columns == t->rows + 1 && !t->group_rows, column = n->axis == t->columns && out->rank == t->columns + 1;
    if (!row && !column) return false;
    n->axis = row ? ROW : COLUMN;
    *(row ? &p->row_place : &p->column_place) = true;
  }
  if (p->row_place || p->column_place) {
    const int64_t most[N_AXES] = {p->row_place ? out->dims[t->rows]->hi - 1 : 0, p->column_place ? out->dims[t->columns]->hi - 1 : 0, 0};
    p->narrow = expr_narrow(p->c->arena, &p->expr, most);
  }
  return true;
}

static bool place_operands(TilePrinter *p, uint32_t out_tensor, uint32_t done, const TileAxes *t) {
  const PTensor *out = &p->c->program->tensors.data[out_tensor];
  Arena *a = p->c->arena;
  const uint32_t n = p->e->n_loads + 1;
  bool *live = NEW_ARRAY(a, bool, p->e->expr.n);
  p->expr = rest_of(a, p->e, done, out->dtype, live);
  if (!place_indices(p, out, t)) return false;
  p->accesses = NEW_ARRAY(a, Access, n);
  p->pointers = NEW_ARRAY(a, Str, n);
  p->operands = NEW_ARRAY(a, TileOperand, n);
  p->stride = arena_alloc(a, n * sizeof *p->stride);
  p->of = NEW_ARRAY(a, uint32_t, n);
  p->sizes = NEW_ARRAY(a, const Dim *, 2 * n);
  const Dim *const row[N_AXES] = {p->c->program->dims->zero, p->c->program->dims->one, p->c->program->dims->zero};
  p->accesses[0] = (Access){.tensor = out_tensor, .offset = p->c->program->dims->zero, .stride = arena_dup(a, row, sizeof row)};
  p->pointers[0] = STR("y");
  for (uint32_t k = 1; k < n; k++)
    if (is_read(&p->expr, k) && !place_operand(p, k, &p->e->loads[k - 1], out, t)) return false;
  return true;
}

/* `const float *restrict x0 = (const float *)x[0] + index * 100 + m0 * 10 + n0;` */
static void print_pointers(TilePrinter *p, StrBuf *b) {
  static const char *const at[3] = {"index", "m0", "n0"};
  bool *done = NEW_ARRAY(p->c->arena, bool, p->n_operands + 1), used[3] = {false, p->row_place, p->column_place};
  for (uint32_t k = 1; k <= p->e->n_loads; k++) {
    if (!p->pointers[k].len || done[p->of[k]]) continue;
    const Dim *const *stride = p->stride[p->of[k]];
    const char *type = emit_ctype(p->c, p->accesses[k].tensor);
    done[p->of[k]] = true;
    sb_printf(b, "  const %s *restrict %s = (const %s *)x[%u]", type, p->pointers[k].ptr, type, p->of[k]);
    for (int i = 0; i < 3; i++) {
      if (dim_is(stride[i], 0)) continue;
      used[i] = true;
      sb_printf(b, " + %s", at[i]);
      if (is_open(stride[i])) sb_printf(b, " * s[%u]", size_of(p, stride[i]));
      else if (!dim_is(stride[i], 1)) sb_printf(b, " * %lld", (long long)stride[i]->value);
    }
    sb_puts(b, ";\n");
  }
  for (int i = 0; i < 3; i++)
    if (!used[i]) sb_printf(b, "  (void)%s;\n", at[i]);
}

/* Of one of the lanes that a turn computes, or of a column behind them. */
static ExprPrinter columns_printer(const TilePrinter *p, bool lanes) {
  Str *coords = NEW_ARRAY(p->c->arena, Str, N_AXES), *places = NEW_ARRAY(p->c->arena, Str, N_AXES);
  coords[ROW] = STR("i");
  coords[COLUMN] = lanes ? STR("(j + l)") : STR("j");
  coords[LANE] = lanes ? STR("l") : arena_printf(p->c->arena, "(j %% %d)", (int)p->lanes);
  places[ROW] = p->narrow ? STR("(int32_t)(m0 + i)") : STR("(int64_t)(m0 + i)");
  places[COLUMN] = !lanes ? (p->narrow ? STR("(int32_t)(n0 + j)") : STR("(int64_t)(n0 + j)"))
                   : p->narrow ? STR("((int32_t)(n0 + j) + (int32_t)l)") : STR("(int64_t)(n0 + j + l)");
  uint32_t n_axes = LANE;
  for (uint32_t k = 0; k < p->n_operands; k++)
    if (!dim_is(p->stride[k][1 + LANE], 0)) n_axes = N_AXES;
  ExprPrinter e = expr_printer(p->c, &p->expr, n_axes, coords, p->accesses, p->pointers, NULL, "t", true);
  e.places = places;
  return e;
}

/* Columns by `lanes` a turn, as long as there are so many. */
static void print_turns(ExprPrinter *e, StrBuf *b, int lanes) {
  sb_printf(b, "    for (; j + %d <= n; j += %d) {\n", lanes, lanes);
  if (!expr_print_lane_calls(e, b, &(LaneLoop){1 + COLUMN, lanes, NULL, "size_t", "l", "j", "y + j"}, 6)) {
    sb_printf(b, "      CN_LANES\n      for (size_t l = 0; l < %d; l++) {\n", lanes);
    for (unsigned depth = 1 + COLUMN; depth <= N_AXES; depth++) expr_print_depth(e, b, depth, 8);
    sb_printf(b, "        y[j + l] = %.*s;\n      }\n", STR_WHOLE(expr_bare(expr_print_result(e))));
  }
  sb_puts(b, "    }\n");
}

/* Columns a turn ahead of those by `lanes`, or 0. Several functions of lanes wait for one another, by way of memory where scalar functions stand between them: a turn
 * then has the vectors of a product's panel, or of a convolution's rows of pixels four. */
static int more_lanes(const TilePrinter *p, const Step *s) {
  const Target *target = p->c->opt->target;
  const TargetTile *tile = target_tile(target, "gemm_f32");
  if (p->lanes != LANES || target->vector_bits < 128 || !tile || expr_lane_calls(&p->expr) < 2) return 0;
  const int lanes = s->kind == STEP_CONTRACT ? (int)tile->nr : 4 * (int)(target->vector_bits / 32);
  return lanes > LANES && lanes % LANES == 0 ? lanes : 0;
}

static void print_body(TilePrinter *p, const Step *s, StrBuf *b) {
  StrBuf again = sb_new(p->c->arena); /* names that others declare, too */
  const int more = more_lanes(p, s);
  ExprPrinter e = columns_printer(p, true), wide = columns_printer(p, true), rest = columns_printer(p, false);
  expr_print_depth(&e, b, 0, 2);
  expr_print_depth(&wide, &again, 0, 2);
  expr_print_depth(&rest, &again, 0, 2);
  sb_puts(b, "  for (size_t i = 0; i < m; i++, tile += ld");
  for (uint32_t k = 0; k < p->n_operands; k++)
    if (is_open(p->stride[k][1 + ROW])) sb_printf(b, ", x%u += s[%u]", k, size_of(p, p->stride[k][1 + ROW]));
  sb_puts(b, ") {\n    float *const y = tile;\n    size_t j = 0;\n");
  expr_print_depth(&e, b, 1, 4);
  expr_print_depth(&wide, &again, 1, 4);
  expr_print_depth(&rest, &again, 1, 4);
  if (more) print_turns(&wide, b, more);
  print_turns(&e, b, (int)p->lanes);
  sb_puts(b, "    for (; j < n; j++) {\n");
  for (unsigned depth = 1 + COLUMN; depth <= N_AXES; depth++) expr_print_depth(&rest, b, depth, 6);
  sb_printf(b, "      y[j] = %.*s;\n    }\n  }\n", STR_WHOLE(expr_bare(expr_print_result(&rest))));
}

TileFunction emit_tile(EmitCtx *c, const Step *s, uint32_t out_tensor, const Epilogue *e, uint32_t done, const TileAxes *axes) {
  TileFunction none = {0};
  TilePrinter p = {.c = c, .e = e, .lanes = LANES};
  const PTensor *out = &c->program->tensors.data[out_tensor];
  if (!e->expr.n || done + 1 == e->expr.n || out->dtype != DT_f32) return none;
  if (axes->columns > out->rank || !place_operands(&p, out_tensor, done, axes)) return none;
  StrBuf b = sb_new(c->arena);
  /* restrict: clang heeds that of parameters only, and compares pointers before each turn of the loop, or makes no vectors of it, where it has too many to compare */
  sb_puts(&b, "(void *ctx, float *restrict tile, size_t ld, size_t index, size_t m0, size_t m, size_t n0, size_t n) {\n");
  StrBuf body = sb_new(c->arena);
  print_pointers(&p, &body);
  print_body(&p, s, &body);
  if (p.n_operands) sb_puts(&b, "  const void *const *x = ctx;\n");
  else sb_puts(&b, "  (void)ctx;\n");
  if (p.n_sizes) sb_printf(&b, "  const size_t *s = x[%u];\n", p.n_operands);
  sb_str(&b, sb_view(&body));
  sb_puts(&b, "}\n");
  return (TileFunction){emit_function(c, s, "void", STR("what follows, a tile at a time"), sb_view(&b)), "tile", "ctx", p.operands, p.n_operands, p.sizes, p.n_sizes};
}

/* What the operands' array is called, and that of the open strides. */
static const char *array_name(const KernelPrinter *k, const TileFunction *t, const char *of) {
  return strcmp(t->member, "tile") == 0 ? of : arena_printf(k->c->arena, "%s_%s", t->member, of).ptr;
}

void emit_tile_context(KernelPrinter *k, const TileFunction *t) {
  if (!t->name.len || !t->n_operands) return;
  if (t->n_sizes) {
    sb_printf(&k->body, "  const size_t %s[] = {", array_name(k, t, "strides"));
    for (uint32_t i = 0; i < t->n_sizes; i++) sb_printf(&k->body, "%s%.*s", i ? ", " : "", STR_WHOLE(kernel_size(k, t->sizes[i])));
    sb_puts(&k->body, "};\n");
  }
  sb_printf(&k->body, "  const void *%s[%u] = {", array_name(k, t, "operands"), t->n_operands + (t->n_sizes > 0));
  for (uint32_t i = 0; i < t->n_operands; i++) sb_printf(&k->body, "%s%s", i ? ", " : "", emit_param(&k->params, t->operands[i].tensor).ptr);
  if (t->n_sizes) sb_printf(&k->body, ", %s", array_name(k, t, "strides"));
  sb_puts(&k->body, "};\n");
}

void emit_tile_args(KernelPrinter *k, const TileFunction *t) {
  if (!t->name.len) return;
  kernel_arg(k, ".%s = %.*s", t->member, STR_WHOLE(t->name));
  if (t->n_operands) kernel_arg(k, ".%s = %s", t->context, array_name(k, t, "operands"));
}

void emit_tile_move(KernelPrinter *k, const TileFunction *t, uint32_t n_batch, unsigned indent) {
  for (uint32_t i = 0; t->name.len && i < t->n_operands; i++) {
    StrBuf at = sb_new(k->c->arena);
    kernel_offset(k, &at, t->operands[i].batch, n_batch);
    if (at.len)
      sb_printf(&k->body, "%*s%s[%u] = %s%s;\n", (int)indent, "", array_name(k, t, "operands"), i, emit_param(&k->params, t->operands[i].tensor).ptr, at.data);
  }
}
