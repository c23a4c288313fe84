/* The builder: shapes with symbolic dimensions, broadcasting, and shape arithmetic that vanishes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/build.h"

typedef struct Fixture {
  Arena *a;
  Diags diags;
  Builder b;
  const Dim *n, *m; /* symbols from inputs */
} Fixture;

static int setup(void **state) {
  Arena *a = arena_new(NULL, 0);
  Fixture *f = NEW(a, Fixture);
  f->a = a;
  f->diags.arena = a;
  f->b.ir = ir_new(a, &f->diags);
  f->b.graph = f->b.ir->main;
  f->n = dim_symbol(f->b.ir->dims, STR("n"), 1, INT32_MAX, DIM_FROM_INPUT);
  f->m = dim_symbol(f->b.ir->dims, STR("m"), 1, INT32_MAX, DIM_FROM_INPUT);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  arena_free(((Fixture *)*state)->a);
  return 0;
}

static Value *input(Fixture *f, DType t, uint32_t rank, const Dim *const *dims) {
  return graph_add_value(f->b.graph, type_tensor(f->b.ir, t, rank, dims), STR("x"));
}

static const Dim *k(Fixture *f, int64_t v) { return dim_const(f->b.ir->dims, v); }

static void assert_shape(Fixture *f, const Value *v, const char *want) {
  assert_non_null(v);
  assert_string_equal(build_shape_text(&f->b, v), want);
}

static void assert_content(Fixture *f, Value *v, const char *want) {
  size_t n;
  const Dim *const *c = build_content(&f->b, v, &n);
  assert_non_null(c);
  assert_string_equal(build_dims_text(&f->b, c, (uint32_t)n), want);
}

static const char *last_error(const Fixture *f) { return f->diags.list.n ? f->diags.list.data[f->diags.list.n - 1].text.ptr : ""; }

static void broadcasts_symbols(void **state) {
  Fixture *f = *state;
  const Dim *const a[] = {f->n, k(f, 1), k(f, 3)}, *const b[] = {k(f, 5), k(f, 1)};
  Value *v = build_fn2(&f->b, SC_add, input(f, DT_f32, 3, a), input(f, DT_f32, 2, b));
  assert_shape(f, v, "[n, 5, 3]");
  assert_int_equal(f->b.ir->n_checks, 0);
}

/* n against m: either may be 1, which only run time tells. n against a size made of n: taken as equal, and checked. */
static void broadcasts_at_run_time(void **state) {
  Fixture *f = *state;
  DimCtx *c = f->b.ir->dims;
  const Dim *const x[] = {f->n}, *const y[] = {f->m}, *const z[] = {dim_min(c, f->n, k(f, 9))}, *const four[] = {k(f, 4)};
  Value *v = build_fn2(&f->b, SC_add, input(f, DT_f32, 1, x), input(f, DT_f32, 1, y));
  assert_shape(f, v, "[max(n, m)]");
  assert_int_equal(v->def->in[0]->def->op, OP_VIEW);
  assert_int_equal(f->b.ir->n_checks, 2);
  v = build_fn2(&f->b, SC_add, input(f, DT_f32, 1, x), input(f, DT_f32, 1, z));
  assert_shape(f, v, "[n]");
  assert_null(v->def->in[0]->def);
  assert_int_equal(f->b.ir->n_checks, 3);
  assert_shape(f, build_fn2(&f->b, SC_add, input(f, DT_f32, 1, x), input(f, DT_f32, 1, four)), "[4]");
}

static void refuses_what_does_not_broadcast(void **state) {
  Fixture *f = *state;
  const Dim *const a[] = {k(f, 2), k(f, 3)}, *const b[] = {k(f, 4)};
  assert_null(build_fn2(&f->b, SC_add, input(f, DT_f32, 2, a), input(f, DT_f32, 1, b)));
  assert_string_equal(last_error(f), "shapes [2, 3] and [4] do not broadcast together");
  assert_null(build_fn2(&f->b, SC_add, input(f, DT_f32, 2, a), input(f, DT_f64, 2, a)));
  assert_string_equal(last_error(f), "types f32 and f64 must agree");
  assert_null(build_fn1(&f->b, SC_exp, input(f, DT_s32, 2, a)));
}

/* Shape -> Gather -> Mul -> Concat, as exporters write it, leaves no node but the last one's dimensions. */
static void shape_arithmetic_vanishes(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n, k(f, 12), f->m};
  Value *shape = build_dims(b, x, 3);
  Value *batch = build_slice(b, shape, 0, k(f, 0), k(f, 1), k(f, 1)), *len = build_slice(b, shape, 0, k(f, 2), k(f, 1), k(f, 1));
  const int64_t two[] = {2}, minus[] = {-1};
  Value *twice = build_fn2(b, SC_mul, len, build_ints(b, two, 1));
  Value *const parts[] = {batch, twice, build_ints(b, minus, 1)};
  assert_content(f, build_concat(b, parts, 3, 0), "[n, 2*m, -1]");
  Value *narrow = build_cast(b, twice, DT_s32, true);
  assert_content(f, build_cast(b, narrow, DT_s64, true), "[2*m]");
  assert_content(f, build_reduce(b, REDUCE_PROD, shape, 1, false), "[12*n*m]");
  assert_content(f, build_fn2(b, SC_div, twice, build_ints(b, two, 1)), "[m]");
}

static void folds_small_constants_as_scalars_do(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const int64_t v[] = {INT64_MAX, -7};
  const int64_t w[] = {1, 2};
  assert_content(f, build_fn2(b, SC_add, build_ints(b, v, 2), build_ints(b, w, 2)), "[-9223372036854775808, -5]");
  assert_content(f, build_fn2(b, SC_div, build_ints(b, v, 2), build_ints(b, w, 2)), "[9223372036854775807, -3]");
  assert_content(f, build_cast(b, build_ints(b, v, 2), DT_u8, true), "[255, 249]");
  Value *half = build_fn2(b, SC_mul, build_cast(b, build_ints(b, w, 2), DT_f32, true), build_scalar_f(b, DT_f32, 2.5));
  assert_content(f, build_cast(b, build_fn1(b, SC_floor, half), DT_s64, true), "[2, 5]");
  const double *real;
  size_t n;
  assert_true(build_const_floats(b, build_scalar_f(b, DT_f16, 0.1), &real, &n));
  assert_true(real[0] == 0.0999755859375);
}

/* As detectors pad a batch to the largest of its images: in f32, constants too. */
static void extremes_pass_through_floats(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n, f->m, f->n};
  const int64_t w[] = {30, -41, 12};
  Value *sizes = build_cast(b, build_dims(b, x, 3), DT_f32, true), *whole = build_cast(b, build_ints(b, w, 3), DT_f32, true);
  assert_content(f, build_cast(b, build_reduce(b, REDUCE_MAX, sizes, 1, false), DT_s64, true), "[max(n, m)]");
  assert_content(f, build_cast(b, build_reduce(b, REDUCE_SUM, sizes, 1, true), DT_s64, true), "[2*n + m]");
  assert_content(f, build_cast(b, build_reduce(b, REDUCE_MIN, whole, 1, false), DT_s64, true), "[-41]");
  const double halves[] = {1.5, 3}, zeros[] = {-0.0, 0};
  for (int i = 0; i < 2; i++) {
    Value *const parts[] = {build_reshape(b, build_scalar_f(b, DT_f32, (i ? zeros : halves)[0]), 1, &b->ir->dims->one), build_reshape(b, build_scalar_f(b, DT_f32, (i ? zeros : halves)[1]), 1, &b->ir->dims->one)};
    size_t n;
    assert_null(build_content(b, build_reduce(b, REDUCE_MAX, build_concat(b, parts, 2, 0), 1, false), &n));
  }
  size_t n;
  assert_null(build_content(b, build_reduce(b, REDUCE_PROD, whole, 1, false), &n));
}

/* As exporters compute sizes: in f32, through floor, minimum and back. */
static void sizes_pass_through_floats(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n};
  Value *n = build_cast(b, build_dims(b, x, 1), DT_f32, true);
  Value *half = build_fn2(b, SC_mul, n, build_scalar_f(b, DT_f32, 0.5));
  assert_content(f, build_cast(b, build_fn1(b, SC_floor, half), DT_s64, true), "[floordiv(n, 2)]");
  assert_content(f, build_cast(b, half, DT_s64, true), "[floordiv(n, 2)]");
  assert_content(f, build_cast(b, build_fn2(b, SC_min, n, build_scalar_f(b, DT_f32, 512)), DT_s64, true), "[min(n, 512)]");
  assert_content(f, build_cast(b, build_fn2(b, SC_div, n, build_scalar_f(b, DT_f32, 4)), DT_s32, true), "[floordiv(n, 4)]");
  size_t count;
  assert_null(build_content(b, build_cast(b, build_fn2(b, SC_mul, n, build_scalar_f(b, DT_f32, 0.3)), DT_s64, true), &count));
}

static void comparisons_decide_where_they_can(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n};
  Value *n = build_dims(b, x, 1), *zero = build_scalar_i(b, DT_s64, 0), *five = build_scalar_i(b, DT_s64, 5);
  assert_content(f, build_fn3(b, SC_select, build_fn2(b, SC_gt, n, zero), n, five), "[n]");
  size_t count;
  assert_null(build_content(b, build_fn3(b, SC_select, build_fn2(b, SC_gt, n, five), n, five), &count));
}

static void reshapes(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n, k(f, 1), k(f, 6)};
  Value *v = input(f, DT_f32, 3, x);
  const Dim *const flat[] = {f->n, k(f, 6)}, *const split[] = {f->n, k(f, 2), k(f, 3)}, *const bad[] = {f->n, k(f, 5)};
  Value *view = build_reshape(b, v, 2, flat);
  assert_int_equal(view->def->op, OP_VIEW);
  assert_int_equal(build_reshape(b, v, 3, split)->def->op, OP_RESHAPE);
  assert_ptr_equal(build_reshape(b, v, 3, x), v);
  assert_null(build_reshape(b, v, 2, bad));
  assert_string_equal(last_error(f), "shape [n, 1, 6] cannot be reshaped to [n, 5]: the numbers of elements differ");
}

static void matrix_products(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {f->n, k(f, 1), k(f, 4), k(f, 8)}, *const y[] = {k(f, 7), k(f, 8), f->m}, *const vec[] = {k(f, 8)};
  assert_shape(f, build_matmul(b, input(f, DT_f32, 4, x), input(f, DT_f32, 3, y)), "[n, 7, 4, m]");
  assert_shape(f, build_matmul(b, input(f, DT_f32, 1, vec), input(f, DT_f32, 3, y)), "[7, m]");
  assert_shape(f, build_matmul(b, input(f, DT_f32, 1, vec), input(f, DT_f32, 1, vec)), "[]");
  assert_null(build_matmul(b, input(f, DT_f32, 4, x), input(f, DT_f32, 4, x)));
  assert_string_equal(last_error(f), "shapes [n, 1, 4, 8] and [n, 1, 4, 8] cannot be multiplied: inner dimensions differ");
}

static void windows(void **state) {
  Fixture *f = *state;
  Builder *b = &f->b;
  const Dim *const x[] = {k(f, 1), k(f, 3), f->n, k(f, 9)}, *const w[] = {k(f, 8), k(f, 3), k(f, 3), k(f, 3)};
  const Dim *const pad[] = {k(f, 1), k(f, 1)}, *const none[] = {k(f, 0), k(f, 0)};
  const int64_t one[] = {1, 1}, two[] = {2, 2}, three[] = {3, 3};
  const ConvAttr conv = {2, 1, two, one, one, pad, pad, DT_NONE};
  assert_shape(f, build_conv(b, input(f, DT_f32, 4, x), input(f, DT_f32, 4, w), NULL, NULL, NULL, conv), "[1, 8, floordiv(n + 1, 2), 5]");
  const Dim *const y[] = {k(f, 1), k(f, 1), k(f, 6), k(f, 6)};
  const PoolAttr pool = {.kind = POOL_MAX, .n_spatial = 2, .kernel = three, .stride = two, .dilation = one, .pad_lo = none, .pad_hi = none};
  Value *indices = NULL;
  assert_shape(f, build_pool(b, input(f, DT_f32, 4, y), pool, false, NULL), "[1, 1, 2, 2]");
  assert_shape(f, build_pool(b, input(f, DT_f32, 4, y), pool, true, &indices), "[1, 1, 3, 3]");
  assert_int_equal(indices->type.dtype, DT_s64);
}

static void refuses_sizes_beyond_the_address_space(void **state) {
  Fixture *f = *state;
  const Dim *const x[] = {k(f, 1)}, *const huge[] = {k(f, INT64_C(1) << 31), k(f, INT64_C(1) << 31)};
  assert_null(build_expand(&f->b, input(f, DT_f32, 1, x), 2, huge));
  assert_int_equal(f->diags.list.data[0].code, DIAG_E0501);
}

static void sizes_from_data_become_symbols(void **state) {
  Fixture *f = *state;
  const Dim *const x[] = {k(f, 2)};
  Value *v = input(f, DT_s64, 1, x);
  size_t n;
  const Dim *const *d = build_read(&f->b, v, (ReadDims){.what = "shape", .hi = 100}, &n);
  assert_int_equal(n, 2);
  assert_int_equal(d[0]->hi, 100);
  assert_int_equal(f->b.graph->nodes.data[0]->op, OP_SYMBOLS);
  assert_ptr_equal(build_read(&f->b, v, (ReadDims){.what = "shape", .hi = 100}, &n), d);
}

/* Sums of more terms than a polynomial has, and products of more factors, are put together of parts; beyond all bounds they overflow. */
static void sums_of_hundreds_of_sizes(void **state) {
  Fixture *f = *state;
  DimCtx *c = f->b.ir->dims;
  enum { N = 300, LARGE = 5000 };
  int64_t *values = NEW_ARRAY(f->b.ir->arena, int64_t, 2 + LARGE), want = 7, got;
  const Dim *sum = k(f, 7), *product = k(f, 1), *again = k(f, 7);
  const uint32_t before = c->n_dims;
  for (int i = 0; i < LARGE; i++) {
    const Dim *s = dim_symbol(c, arena_printf(f->b.ir->arena, "s%d", i), 0, 1000, DIM_FROM_INPUT);
    values[s->symbol.index] = i < 9 || i >= 40 ? i % 3 : 1 + i % 2;
    if (i == N) {
      assert_true(dim_eval(sum, values, &got));
      assert_int_equal(got, want);
      assert_int_equal(sum->lo, 7);
      assert_int_equal(sum->hi, 7 + N * 1000);
      assert_true(dim_eval(dim_mul(c, sum, dim_addc(c, sum, 1)), values, &got));
      assert_int_equal(got, want * (want + 1));
      assert_true(c->n_dims - before < 8 * N);
      StrBuf text = sb_new(f->b.ir->arena);
      dim_print(&text, sum);
      Str read = sb_view(&text);
      assert_ptr_equal(dim_parse(c, &read), sum);
      for (int j = 0; j < N; j++) again = dim_add(c, again, dim_symbol_find(c, arena_printf(f->b.ir->arena, "s%d", j)));
      assert_ptr_equal(again, sum);
      assert_ptr_equal(dim_sub(c, sum, again), c->zero);
    }
    if (i < 40) product = dim_mul(c, product, i < 9 ? dim_addc(c, s, 1) : s);
    sum = dim_add(c, sum, s);
    want += values[s->symbol.index];
    if (i == 39) assert_true(dim_eval(product, values, &got) && got == 216 << 16); /* (1 2 3)^3, then 2 for 16 others */
  }
  assert_true(dim_is_bad(sum));
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(broadcasts_symbols),
      T(broadcasts_at_run_time),
      T(refuses_what_does_not_broadcast),
      T(shape_arithmetic_vanishes),
      T(folds_small_constants_as_scalars_do),
      T(extremes_pass_through_floats),
      T(sizes_pass_through_floats),
      T(comparisons_decide_where_they_can),
      T(reshapes),
      T(matrix_products),
      T(windows),
      T(refuses_sizes_beyond_the_address_space),
      T(sizes_from_data_become_symbols),
      T(sums_of_hundreds_of_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
