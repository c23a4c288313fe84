/* Inputs made up where no data set is at hand: the same numbers on every machine. */
#include "cli/made_inputs.h"

#include "cli/host_value.h"
#include "interp/scalar_table.h"

enum { UNKNOWN_EXTENT = 3 }; /* what a dimension without a value is set to, within its range */

/* SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

/* In [-1, 1) for floats, 0 to 7 for integers (small, since they may be indices), 0 or 1 for booleans. */
static void *fill(Arena *a, DType t, size_t n, uint64_t *state) {
  double *x = NEW_ARRAY(a, double, n);
  for (size_t i = 0; i < n; i++) {
    uint64_t r = next_random(state);
    if (dtype_is_float(t)) x[i] = (double)(r >> 11) * 0x1p-52 - 1.0;
    else x[i] = (double)(dtype_rows[t].kind == KIND_B ? r & 1 : r & 7);
  }
  void *ret = arena_array(a, n, dtype_host_size(t));
  cast_eval_strip(DT_f64, t, true, x, ret, n);
  return ret;
}

static int64_t extent_of(const castnet_interface *m, const castnet_extent *e) {
  if (e->value >= 0) return e->value;
  if (e->symbol < 0) return UNKNOWN_EXTENT;
  const castnet_dim_field *d = &m->dims[e->symbol];
  return UNKNOWN_EXTENT < d->lo ? d->lo : UNKNOWN_EXTENT > d->hi ? d->hi : UNKNOWN_EXTENT;
}

static bool make_input(Arena *a, Diags *d, const castnet_interface *m, const castnet_field *f, uint64_t *state, HostTensor *ret) {
  DType t = dtype_from_onnx(f->type.dtype);
  size_t n = 1;
  if (f->type.kind != CASTNET_KIND_TENSOR || dtype_rows[t].kind == KIND_X || dtype_rows[t].kind == KIND_C) {
    (void)diag_add(d, DIAG_E0601, (DiagPlace){0}, "no inputs can be made up for %s: give a data set",
                   diag_quote(d, (Str){f->name.ptr, f->name.length}));
    return false;
  }
  *ret = (HostTensor){.dtype = t, .rank = (uint32_t)f->type.rank};
  for (size_t i = 0; i < f->type.rank; i++) {
    ret->dims[i] = extent_of(m, &f->type.dims[i]);
    if (!size_mul(n, (size_t)ret->dims[i], &n)) return false;
  }
  ret->data = fill(a, t, n, state);
  return true;
}

bool made_inputs(Arena *a, Diags *d, const castnet_interface *m, uint64_t seed, const OnnxValue **ret) {
  for (size_t i = 0; i < m->n_inputs; i++) {
    HostTensor in;
    if (!make_input(a, d, m, &m->inputs[i], &seed, &in)) return false;
    ret[i] = host_to_value(a, &in, NULL);
  }
  return true;
}
