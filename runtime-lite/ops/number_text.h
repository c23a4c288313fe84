/* SPDX-License-Identifier: MIT-0 */
/* Numbers as text and back: Cast to and from strings. Exact both ways: the shortest decimal that reads back as the same number (G. Steele
 * and J. White, PLDI 1990), the nearest number to a decimal of any length. */
#ifndef CN_OPS_NUMBER_TEXT_H
#define CN_OPS_NUMBER_TEXT_H

#include "base.h"
#include "ops/big.h"
#include "ops/find.h"
#include "ops/text.h"
#include "text_space.h"

enum { CN_NUMBER_TEXT = 32, CN_DIGITS = 17, CN_DIGITS_READ = 800 };

/* ---- to text ---- */
/* Shortest digits of f * 2^e, f > 0; `even`: the lower neighbour is half as far. Where the decimal point stands: 0.DIGITS * 10^k. */
CN_NOINLINE int cn_shortest(uint64_t f, int e, int half, int even, char digits[CN_DIGITS + 1], int *ret_k) {
  cn_big r, s, up, down;
  int n = 0, bits = 0;
  for (uint64_t x = f; x; x >>= 1) bits++;
  const int top = e + bits - 1;
  int k = top >= 0 ? top * 1233 / 4096 : -((-top * 1233 + 4095) / 4096);
  cn_big_set(&r, f);
  cn_big_set(&s, 1);
  cn_big_set(&up, 1);
  cn_big_shift(&r, (unsigned)(1 + half + (e > 0 ? e : 0)));
  cn_big_shift(&s, (unsigned)(1 + half + (e < 0 ? -e : 0)));
  cn_big_shift(&up, (unsigned)(e > 0 ? e : 0));
  if (k >= 0) cn_big_power10(&s, (unsigned)k);
  else cn_big_power10(&r, (unsigned)-k), cn_big_power10(&up, (unsigned)-k);
  down = up;
  if (half) cn_big_shift(&up, 1);
  for (;; k++) {
    cn_big sum = r;
    cn_big_add(&sum, &up);
    const int c = cn_big_compare(&sum, &s);
    if (c < 0 || (c == 0 && !even)) break;
    cn_big_multiply(&s, 10, 0);
  }
  *ret_k = k;
  for (;;) {
    char d = '0';
    cn_big_multiply(&r, 10, 0);
    cn_big_multiply(&up, 10, 0);
    cn_big_multiply(&down, 10, 0);
    while (cn_big_compare(&r, &s) >= 0) cn_big_subtract(&r, &s), d++;
    cn_big sum = r;
    cn_big_add(&sum, &up);
    const int low = cn_big_compare(&r, &down), high = cn_big_compare(&sum, &s);
    const int stop_low = low < 0 || (low == 0 && even), stop_high = high > 0 || (high == 0 && even);
    digits[n++] = d;
    if (!stop_low && !stop_high && n < CN_DIGITS) continue;
    cn_big_multiply(&r, 2, 0);
    const int middle = cn_big_compare(&r, &s); /* both ends will do: the nearer one, the even one of two as near */
    if (stop_high && (!stop_low || middle > 0 || (middle == 0 && (d & 1)))) digits[n - 1]++;
    return n;
  }
}

/* 0.DIGITS * 10^k: plain from 1e-4 to 1e16, else with an exponent. Its length. */
CN_NOINLINE size_t cn_decimal_text(const char *digits, int n, int k, char *p) {
  char *const begin = p;
  int e = k - 1;
  if (k > -4 && k <= 16) {
    if (k <= 0) {
      *p++ = '0', *p++ = '.';
      for (int i = k; i < 0; i++) *p++ = '0';
    }
    for (int i = 0; i < n || i < k; i++) {
      if (i == k && k > 0) *p++ = '.';
      *p++ = i < n ? digits[i] : '0';
    }
    if (n <= k) *p++ = '.', *p++ = '0';
    return (size_t)(p - begin);
  }
  for (int i = 0; i < n; i++) {
    if (i == 1) *p++ = '.';
    *p++ = digits[i];
  }
  *p++ = 'e';
  *p++ = e < 0 ? '-' : '+';
  if (e < 0) e = -e;
  if (e >= 100) *p++ = (char)('0' + e / 100);
  *p++ = (char)('0' + e / 10 % 10);
  *p++ = (char)('0' + e % 10);
  return (size_t)(p - begin);
}

CN_NOINLINE size_t cn_integer_text(uint64_t v, int minus, char *p) {
  char reversed[20];
  size_t n = 0, at = 0;
  do reversed[n++] = (char)('0' + v % 10);
  while (v /= 10);
  if (minus) p[at++] = '-';
  while (n) p[at++] = reversed[--n];
  return at;
}

/* Text of an f64 that is a number of a type of `precision` bits whose least normal exponent is `least`. */
CN_NOINLINE size_t cn_float_text(double v, int precision, int least, char p[CN_NUMBER_TEXT]) {
  char digits[CN_DIGITS + 1];
  uint64_t u;
  memcpy(&u, &v, sizeof u);
  const int minus = (int)(u >> 63), field = (int)(u >> 52 & 0x7ff);
  uint64_t f = u & UINT64_C(0xfffffffffffff);
  int e = (field ? field : 1) - 1075, k;
  size_t at = 0;
  if (field == 0x7ff && f) return memcpy(p, "NaN", 3), 3;
  if (minus) p[at++] = '-';
  if (field == 0x7ff) return memcpy(p + at, "INF", 3), at + 3;
  if (field) f |= UINT64_C(1) << 52;
  if (f == 0) return memcpy(p + at, "0.0", 3), at + 3;
  while (f >> precision || e < least - precision + 1) f >>= 1, e++;              /* only zeros go */
  while (f >> (precision - 1) == 0 && e > least - precision + 1) f <<= 1, e--; /* subnormal in f64 only */
  const int half = f == UINT64_C(1) << (precision - 1) && e > least - precision + 1;
  const int n = cn_shortest(f, e, half, (f & 1) == 0, digits, &k);
  return at + cn_decimal_text(digits, n, k, p + at);
}

CN_INLINE size_t cn_element_text(const castnet_tensor *t, size_t i, const castnet_attr *attrs, char p[CN_NUMBER_TEXT]) {
  if (t->dtype == 7) {
    const int64_t v = ((const int64_t *)t->data)[i];
    return cn_integer_text(v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0, p);
  }
  if (t->dtype == 13) return cn_integer_text(((const uint64_t *)t->data)[i], 0, p);
  return cn_float_text(((const double *)t->data)[i], (int)attrs[0].value.i, (int)attrs[1].value.i, p);
}

/* in: s64, u64 or f64. out: strings. Attributes: precision and least exponent of the type that f64 stands for. */
CN_NOINLINE int cn_op_to_text(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                              void *scratch, size_t scratch_size, const castnet_env *env) {
  castnet_string *y = (castnet_string *)out[0].data;
  const size_t n = cn_elements(&in[0]);
  char text[CN_NUMBER_TEXT], *p = NULL;
  size_t total = 0;
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size;
  for (size_t i = 0; i < n; i++) total += y[i].length = cn_element_text(&in[0], i, attrs, text);
  const int error = cn_text_new(env, total, &p);
  if (error != CASTNET_OK) return error;
  for (size_t i = 0; i < n; i++) {
    (void)cn_element_text(&in[0], i, attrs, text);
    memcpy(p, text, y[i].length);
    y[i].ptr = p;
    p += y[i].length;
  }
  return CASTNET_OK;
}

/* ---- from text ---- */
/* A decimal as it is written: DIGITS * 10^exponent; digits beyond those kept only count for rounding. */
typedef struct cn_decimal {
  int minus, special, more, integer; /* special: 'i', 'n' or 0; more: digits beyond; integer: neither point nor exponent */
  cn_big digits;
  uint64_t low; /* the digits modulo 2^64 */
  int wide;     /* they do not fit 64 bits */
  int64_t exponent;
} cn_decimal;

CN_INLINE int cn_same_word(const char *p, size_t n, const char *lower, size_t n_lower) {
  if (n != n_lower) return 0;
  for (size_t i = 0; i < n; i++)
    if ((p[i] | 0x20) != lower[i]) return 0;
  return 1;
}

CN_INLINE void cn_decimal_digit(cn_decimal *d, unsigned digit, int *kept) {
  if (*kept == CN_DIGITS_READ) {
    d->more |= digit != 0;
    d->exponent++;
    return;
  }
  if (d->low > (UINT64_MAX - digit) / 10) d->wide = 1;
  d->low = d->low * 10 + digit;
  cn_big_multiply(&d->digits, 10, d->digits.n ? digit : 0);
  if (d->digits.n == 0 && digit) cn_big_set(&d->digits, digit);
  *kept += d->digits.n > 0;
}

/* An exponent behind "e". 0 where there is none. */
CN_INLINE int cn_decimal_exponent(cn_decimal *d, const char *p, size_t n) {
  int64_t v = 0;
  size_t i = 0;
  const int minus = n > 0 && p[0] == '-';
  if (n > 0 && (p[0] == '-' || p[0] == '+')) i++;
  if (i == n) return 0;
  for (; i < n; i++) {
    if (p[i] < '0' || p[i] > '9') return 0;
    if (v < INT64_C(1000000000000)) v = v * 10 + (p[i] - '0');
  }
  d->exponent += minus ? -v : v;
  d->integer = 0;
  return 1;
}

/* [+-] digits [. digits] [e exponent], inf, nan; blanks around it. 0 where it is no number. */
CN_NOINLINE int cn_decimal_read(castnet_string s, cn_decimal *d) {
  const char *p = s.ptr;
  size_t n = s.length, i = 0, seen = 0;
  int kept = 0, point = 0;
  while (n && cn_is_blank(p[n - 1])) n--;
  while (n && cn_is_blank(*p)) p++, n--;
  d->minus = n > 0 && *p == '-';
  if (n && (*p == '-' || *p == '+')) p++, n--;
  d->special = cn_same_word(p, n, "inf", 3) ? 'i' : cn_same_word(p, n, "nan", 3) ? 'n' : 0;
  d->more = d->wide = 0;
  d->integer = 1;
  d->low = 0;
  d->exponent = 0;
  cn_big_set(&d->digits, 0);
  if (d->special) return 1;
  for (; i < n && (p[i] == '.' || (p[i] >= '0' && p[i] <= '9')); i++) {
    if (p[i] == '.') {
      if (point++) return 0;
      d->integer = 0;
      continue;
    }
    seen++;
    cn_decimal_digit(d, (unsigned)(p[i] - '0'), &kept);
    d->exponent -= point;
  }
  if (seen == 0) return 0;
  return i == n || ((p[i] | 0x20) == 'e' && cn_decimal_exponent(d, p + i + 1, n - i - 1));
}

/* q * 2^e (q of 64 or 65 bits' worth, `rest`: and something behind) as the nearest number of `precision` bits and exponents from `least` on. */
CN_INLINE double cn_nearest(uint64_t q, int e, int rest, int precision, int least) {
  int drop = 64 - precision;
  if (e + 63 < least) drop += least - e - 63;
  if (drop > 64) return 0;
  const uint64_t half = UINT64_C(1) << (drop - 1), tail = drop == 64 ? q : q & ((half << 1) - 1);
  uint64_t m = drop == 64 ? 0 : q >> drop;
  if (tail > half || (tail == half && (rest || (m & 1)))) m++;
  double v = (double)m;
  int k = e + drop;
  for (; k > 0; k--) v *= 2;
  for (; k <= -60; k += 60) v *= 1.0 / (double)(UINT64_C(1) << 60);
  return v * (1.0 / (double)(UINT64_C(1) << -k));
}

/* The nearest number to a decimal; infinity beyond the largest of a type with exponents up to `most`. */
CN_NOINLINE double cn_decimal_value(const cn_decimal *d, int precision, int least, int most) {
  cn_big x = d->digits, y;
  uint64_t q = 0;
  int e;
  const double inf = 1e300 * 1e300;
  if (x.n == 0) return 0;
  if (d->exponent > 400) return inf;
  if (d->exponent < -1200) return 0; /* at most 800 digits */
  cn_big_set(&y, 1);
  if (d->exponent > 0) cn_big_power10(&x, (unsigned)d->exponent);
  else cn_big_power10(&y, (unsigned)-d->exponent);
  e = (int)cn_big_bits(&x) - (int)cn_big_bits(&y); /* 2^(e-1) < x / y < 2^(e+1) */
  if (e < 0) cn_big_shift(&x, (unsigned)-e);
  else cn_big_shift(&y, (unsigned)e);
  if (cn_big_compare(&x, &y) < 0) cn_big_shift(&x, 1), e--; /* 1 <= x / y < 2 */
  for (int i = 0; i < 64; i++) {
    const int bit = cn_big_compare(&x, &y) >= 0;
    if (bit) cn_big_subtract(&x, &y);
    q = q << 1 | (uint64_t)bit;
    cn_big_shift(&x, 1);
  }
  if (e > most) return inf;
  const double v = cn_nearest(q, e - 63, x.n > 0 || d->more, precision, least);
  return most < 1023 && v > 0x1.fffffep127 ? inf : v;
}

/* in: strings. out: f32, f64, s64 or u64; integers of the other kind of number are truncated, and saturate. CASTNET_ERR_OP: no number. */
CN_NOINLINE int cn_op_from_text(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                                size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const castnet_string *x = (const castnet_string *)in[0].data;
  const size_t n = cn_elements(&in[0]);
  (void)n_in, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  for (size_t i = 0; i < n; i++) {
    cn_decimal d;
    if (!cn_decimal_read(x[i], &d)) return CASTNET_ERR_OP;
    const int narrow = out[0].dtype == 1;
    double v = d.special == 'i' ? 1e300 * 1e300 : d.special ? (1e300 * 1e300) * 0 : narrow ? cn_decimal_value(&d, 24, -126, 127) : cn_decimal_value(&d, 53, -1022, 1023);
    if (d.minus) v = -v;
    if (narrow) ((float *)out[0].data)[i] = (float)v;
    else if (out[0].dtype == 11) ((double *)out[0].data)[i] = v;
    else if (out[0].dtype == 13) ((uint64_t *)out[0].data)[i] = d.integer && !d.special && !d.wide ? (d.minus ? 0 : d.low) : cn_cast_f64_u64(v);
    else if (d.integer && !d.special && !d.wide && d.low <= INT64_MAX) ((int64_t *)out[0].data)[i] = d.minus ? -(int64_t)d.low : (int64_t)d.low;
    else ((int64_t *)out[0].data)[i] = cn_cast_f64_s64(v);
  }
  return CASTNET_OK;
}

#endif
