/* The nodes Loop and Scan, as loops. */
#include "ops/import_loop.h"

/* ---- Loop -------------------------------------------------------------------------------------------------------------------- */
static bool give(OpContext *c, Value *const *found, size_t n) {
  if (!found) return false;
  if (n < c->n_out) return op_fail(c, DIAG_E0305, "the body has %zu outputs, the node %zu", n, c->n_out);
  for (size_t k = 0; k < c->n_out; k++) c->out[k] = found[k];
  return true;
}

static bool are_tensors(OpContext *c, Value *const *v, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!v[k] || v[k]->type.kind != TYPE_TENSOR) return v[k] ? op_unsupported(c, "state or input %zu is no tensor", k) : op_fail(c, DIAG_E0305, "state or input %zu is left out", k);
  return true;
}

/* How often at most: never less than 0 times. */
static const Dim *trip_count(OpContext *c) {
  DimCtx *d = c->b.ir->dims;
  size_t n;
  if (!op_in(c, 0)) return dim_const(d, INT64_MAX);
  const Dim *const *read = build_read_dims(&c->b, op_in(c, 0), "trips", INT64_MIN, INT64_MAX, NULL, &n);
  if (!read) return NULL;
  if (n != 1) return (void)op_fail(c, DIAG_E0402, "the trip count has %zu elements", n), NULL;
  return dim_max(d, read[0], d->zero);
}

bool import_loop(OpContext *c) {
  const size_t n = c->n_in > 2 ? c->n_in - 2 : 0;
  Loop l = {.c = c, .body = op_graph(c, "body"), .counted = true, .n_states = n, .init = c->in + 2, .import = loop_import_body};
  Value *cond = op_in(c, 1);
  size_t found;
  l.trips = trip_count(c);
  if (!l.trips || !are_tensors(c, l.init, n)) return false;
  const int first = cond ? control_truth(&c->b, cond) : 1;
  if (first == 0) l.trips = c->b.ir->dims->zero;
  if (first < 0) l.cond = control_scalar(&c->b, cond);
  if (first < 0 && !l.cond) return false;
  Value **made = loop_run(&l, &found);
  return give(c, made, made ? found : 0);
}

/* ---- Scan -------------------------------------------------------------------------------------------------------------------- */
/* Element k of a list with one entry a scanned input or output; 0 where the node has none. False when its length is another. */
static bool list_entry(OpContext *c, const char *name, size_t n, size_t k, int64_t *ret) {
  size_t given;
  const int64_t *v = op_ints(c, name, &given);
  *ret = 0;
  if (!v || !given) return true;
  if (given != n) return op_fail(c, DIAG_E0304, "%s has %zu entries, not %zu", name, given, n);
  *ret = v[k];
  return true;
}

static bool direction(OpContext *c, const char *name, size_t n, size_t k, bool *ret) {
  int64_t v;
  if (!list_entry(c, name, n, k, &v)) return false;
  if (v != 0 && v != 1) return op_fail(c, DIAG_E0304, "%s holds %lld; 0 is forwards, 1 backwards", name, (long long)v);
  *ret = v == 1;
  return true;
}

static bool same_length(OpContext *c, size_t k, const Dim *d, const Dim **trips) {
  if (!*trips) *trips = d;
  return ir_require_eq(c->b.ir, *trips, d) || op_fail(c, DIAG_E0402, "scanned input %zu has another length than the first", k);
}

/* What is stacked along axis 0, at the axis and in the direction that the node asks for. */
static Value *placed(OpContext *c, Value *v, size_t n, size_t k) {
  Builder *b = &c->b;
  int64_t want;
  uint32_t axis, perm[MAX_RANK];
  bool reverse = false;
  if (!v || !list_entry(c, "scan_output_axes", n, k, &want) || !op_axis(c, want, v->type.rank, &axis) || !direction(c, "scan_output_directions", n, k, &reverse)) return NULL;
  DimCtx *d = b->ir->dims;
  if (reverse) v = build_slice(b, v, 0, dim_addc(d, v->type.dims[0], -1), v->type.dims[0], dim_const(d, -1));
  for (uint32_t i = 0; v && i < v->type.rank; i++) perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  return v ? build_transpose(b, v, perm) : NULL;
}

static bool count_scanned(OpContext *c, size_t operands, size_t *ret) {
  const int64_t n = op_int(c, "num_scan_inputs", 0);
  if (n < 1 || (uint64_t)n > operands) return op_fail(c, DIAG_E0304, "num_scan_inputs is %lld, of %zu inputs", (long long)n, operands);
  *ret = (size_t)n;
  return true;
}

bool import_scan(OpContext *c) {
  Loop l = {.c = c, .body = op_graph(c, "body"), .init = c->in, .import = loop_import_body};
  if (!count_scanned(c, c->n_in, &l.n_scanned) || !are_tensors(c, c->in, c->n_in)) return false;
  l.n_states = c->n_in - l.n_scanned;
  l.scanned = NEW_ARRAY(c->b.ir->arena, Scanned, l.n_scanned);
  for (size_t k = 0; k < l.n_scanned; k++) {
    Scanned *s = &l.scanned[k];
    int64_t axis;
    s->x = c->in[l.n_states + k];
    if (!list_entry(c, "scan_input_axes", l.n_scanned, k, &axis) || !op_axis(c, axis, s->x->type.rank, &s->axis) ||
        !direction(c, "scan_input_directions", l.n_scanned, k, &s->reverse) || !same_length(c, k, s->x->type.dims[s->axis], &l.trips))
      return false;
  }
  size_t n;
  Value **made = loop_make(&l, &n);
  for (size_t k = l.n_states; made && k < n; k++)
    if (!(made[k] = placed(c, made[k], n - l.n_states, k - l.n_states))) return false;
  return give(c, made, made ? n : 0);
}

/* ---- Scan of version 8: every operand has a batch axis ahead, each row of it a length of its own ---- */
typedef struct Batch {
  const Dim *length;
  Value *lengths; /* or NULL */
  size_t n_states, n_scanned;
  Value **in;     /* [n_states + n_scanned] */
} Batch;

/* Zeros behind the iterations that there were. */
static Value *padded(Builder *b, Value *v, const Dim *length) {
  if (v->type.dims[0] == length) return v;
  const Dim *lo[MAX_RANK], *hi[MAX_RANK];
  for (uint32_t i = 0; i < v->type.rank; i++) lo[i] = hi[i] = b->ir->dims->zero;
  hi[0] = dim_sub(b->ir->dims, length, v->type.dims[0]);
  return build_pad(b, v, PAD_CONSTANT, lo, hi, NULL);
}

/* The body of the loop over the batch: a scan of one row. */
static Graph *import_row(Loop *outer) {
  const Batch *batch = outer->user;
  OpContext c = *outer->c;
  Ir *ir = c.b.ir;
  Graph *g = graph_new(ir, c.b.graph);
  c.b.graph = g;
  Loop l = {.c = &c, .body = outer->body, .trips = batch->length, .n_states = batch->n_states, .n_scanned = batch->n_scanned, .import = loop_import_body};
  l.init = NEW_ARRAY(ir->arena, Value *, l.n_states);
  l.scanned = NEW_ARRAY(ir->arena, Scanned, l.n_scanned);
  Graph *importing = op_enter(&c, g);
  size_t n = 1;
  if (batch->lengths) {
    const Dim *const *read = build_read_dims(&c.b, loop_place(&c.b, batch->lengths, 0, outer->iteration), "length", 0, INT32_MAX, (const Dim *[]){batch->length}, &n);
    l.trips = read ? read[0] : NULL;
  }
  for (size_t k = 0; k < l.n_states; k++) l.init[k] = loop_place(&c.b, batch->in[k], 0, outer->iteration);
  for (size_t k = 0; k < l.n_scanned; k++) {
    l.scanned[k] = (Scanned){.x = loop_place(&c.b, batch->in[l.n_states + k], 0, outer->iteration)};
    if (!direction(&c, "directions", l.n_scanned, k, &l.scanned[k].reverse)) l.trips = NULL;
  }
  Value **made = l.trips ? loop_make(&l, &n) : NULL;
  for (size_t k = 0; made && k < n; k++) {
    Value *v = k < l.n_states ? made[k] : padded(&c.b, made[k], batch->length);
    if (v) vec_push(ir->arena, g->outputs, v);
    if (v) vec_push(ir->arena, g->output_names, v->name);
  }
  (void)op_enter(&c, importing);
  return made && g->outputs.n == n ? g : NULL;
}

bool import_scan_batch(OpContext *c) {
  Batch batch = {.lengths = op_in(c, 0), .in = c->in + 1};
  const size_t operands = c->n_in ? c->n_in - 1 : 0;
  Loop l = {.c = c, .body = op_graph(c, "body"), .import = import_row, .user = &batch};
  if (!count_scanned(c, operands, &batch.n_scanned) || !are_tensors(c, batch.in, operands)) return false;
  batch.n_states = operands - batch.n_scanned;
  for (size_t k = 0; k < operands; k++) {
    const Type *t = &batch.in[k]->type;
    const bool scanned = k >= batch.n_states;
    if (t->rank < 1 + (uint32_t)scanned) return op_fail(c, DIAG_E0402, "input %zu has rank %u", k + 1, t->rank);
    if (!same_length(c, k, t->dims[0], &l.trips) || (scanned && !same_length(c, k, t->dims[1], &batch.length))) return false;
  }
  if (batch.lengths && batch.lengths->type.rank != 1) return op_fail(c, DIAG_E0402, "the lengths have rank %u", batch.lengths->type.rank);
  size_t n;
  Value **made = loop_make(&l, &n);
  return give(c, made, made ? n : 0);
}
