/* Copies that turn a matrix over its diagonal, as into and out of blocks of channels: a call for the two axes that change places, loops for the
 * others. */
#include "backend/emit_nest.h"

/* Axes of the nest. x: one load; neighbours in x lie along `column`, neighbours in y along `row`. */
typedef struct Turned { uint32_t row, column; } Turned;

static uint32_t unit_axis(const Access *a, uint32_t n_axes) {
  for (uint32_t j = 0; j < n_axes; j++)
    if (dim_is(a->stride[j], 1)) return j;
  return n_axes;
}

/* Half a vector or more of elements, as usual where that is open. */
static bool is_long(const NestPrinter *p, uint32_t axis) {
  int64_t n;
  return dim_eval(p->n->extent[axis], NULL, &n) && n * 64 >= p->c->opt->target->vector_bits;
}

/* From row to row: more than nothing, or empty together with what is copied. */
static bool is_pitch(const Dim *stride) { return !dim_is(stride, 0) && stride->lo >= 0; }

static bool find_turned(const NestPrinter *p, Turned *ret) {
  const Nest *n = p->n;
  const Access *x = n->loads, *y = &n->store;
  if (p->c->opt->target->vector_bits <= 32 || n->map.n != 1 || n->n_loads != 1 || n->map.nodes[0].kind != EXPR_INPUT || x->n_indirect || y->n_indirect) return false;
  const PTensor *from = &p->p->tensors.data[x->tensor], *to = &p->p->tensors.data[y->tensor];
  if (from->dtype != DT_f32 || to->dtype != DT_f32 || emit_storage(p->p, from->buffer) == emit_storage(p->p, to->buffer)) return false;
  *ret = (Turned){unit_axis(y, n->n_axes), unit_axis(x, n->n_axes)};
  if (ret->row == n->n_axes || ret->column == n->n_axes || ret->row == ret->column) return false;
  return is_pitch(x->stride[ret->row]) && is_pitch(y->stride[ret->column]) && is_long(p, ret->row) && is_long(p, ret->column);
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
  sb_printf(p->b, "%*scn_transpose_f32(", (int)indent, "");
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
