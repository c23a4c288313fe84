/* Loops over strips, compiled for speed: castnet's functions, their references in `double`, the comparison of both. */
#include "accuracy/strips.h"

#include <math.h>
#include <string.h>

#include "scalar_all.h"

/* The same code for machines with AVX2 too, chosen at run time. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define FAST __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FAST
#endif

static double exact_neg(double x) { return -x; }
static double exact_sign(double x) { return isnan(x) ? x : (double)((x > 0) - (x < 0)); }
static double exact_rsqrt(double x) { return 1 / sqrt(x); }
static double exact_reciprocal(double x) { return 1 / x; }
static double exact_sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double exact_silu(double x) { return isinf(x) ? (x > 0 ? x : -0.0) : x * exact_sigmoid(x); }
static double exact_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double exact_softsign(double x) { return isinf(x) ? copysign(1, x) : x / (1 + fabs(x)); }
static double exact_mish(double x) {
  if (isinf(x)) return x > 0 ? x : -0.0;
  const double e = exp(x < 100 ? x : 100), n = e * (e + 2);
  return x * (n / (n + 2));
}
static double exact_erf_sqrt2(double x) { return erf(x * 0.70710678118654752440); }
static double exact_gelu(double x) { return isinf(x) ? (x > 0 ? x : -0.0) : x * erfc(-x * 0.70710678118654752440) / 2; }
static double exact_gelu_tanh(double x) {
  return isinf(x) ? (x > 0 ? x : -0.0) : x * exact_sigmoid(1.5957691216057307118 * (x + 0.044715 * x * x * x));
}

#define ACCURACY(name, parity, c, mpfr, f32, f64) \
  void screen_##name(const float *x, double *want, size_t n) { \
    for (size_t i = 0; i < n; i++) want[i] = c((double)x[i]); \
  } \
  FAST void judged_##name(const float *x, float *got, size_t n) { \
    for (size_t i = 0; i < n; i++) got[i] = cn_##name##_f32(x[i]); \
  }
#include "accuracy/functions.def"
#undef ACCURACY

/* Results of a strip that are neither surely less than `limit` ULP off nor right as special values are: both NaN, or both beyond the largest number.
 * The unit is that of the smaller binade where the exact result may lie on either side of a power of two. */
FAST size_t strip_open(const StripFormat *f, const float *got, const double *want, double limit, size_t n) {
  const double least = f->least, most = f->most, beyond = 2 * most, scale = f->scale, inf = INFINITY;
  int64_t settled = 0;
  for (size_t i = 0; i < n; i++) {
    const double g = (double)got[i], w = want[i], size = cn_abs_f64(w) * (1 - 0x1p-42);
    const double in = cn_pick_f64(size < least, least, cn_pick_f64(size > most, most, size));
    const double over_unit = cn_from_bits_f64(UINT64_C(0x7fe0000000000000) - (cn_bits_f64(in) & UINT64_C(0x7ff0000000000000)));
    const double error = cn_abs_f64(g - w) * over_unit * scale;
    const int opposite = cn_copysign_f64(1, g) * cn_copysign_f64(1, w) < 0, zero = (g == 0) | (w == 0);
    const int close = (error < limit) & !(opposite & zero);
    const int both_nan = (g != g) & (w != w), overflow = (cn_abs_f64(g) == inf) & (g * w > 0) & (cn_abs_f64(w) >= beyond);
    settled += close | both_nan | overflow;
  }
  return n - (size_t)settled;
}

/* Results at -x that are not those at x with the sign that `odd` says. */
FAST size_t strip_asymmetric(const float *got, const float *mirrored, uint32_t flip, size_t n) {
  int32_t good = 0;
  for (size_t i = 0; i < n; i++) {
    good += (cn_bits_f32(got[i]) == (cn_bits_f32(mirrored[i]) ^ flip)) | ((got[i] != got[i]) & (mirrored[i] != mirrored[i]));
  }
  return n - (size_t)good;
}
