/* SPDX-License-Identifier: MIT-0 */
/* Discrete Fourier transforms of any length. */
#ifndef CN_OPS_FOURIER_H
#define CN_OPS_FOURIER_H

#include "base.h"
#include "ops/real.h"
#include "scalar_trig.h"

typedef struct cn_complex { double re, im; } cn_complex;

CN_INLINE cn_complex cn_complex_mul(cn_complex a, cn_complex b) {
  cn_complex r;
  r.re = a.re * b.re - a.im * b.im;
  r.im = a.re * b.im + a.im * b.re;
  return r;
}

/* exp(-2 pi i k / n) for k below n. */
CN_INLINE cn_complex cn_complex_root(size_t k, size_t n) {
  const double angle = 6.283185307179586477 * (double)k / (double)n;
  cn_complex r;
  r.re = cn_cos_f64(angle);
  r.im = -cn_sin_f64(angle);
  return r;
}

/* Forward transform in place of x [n], n a power of two; roots: exp(-2 pi i k / n) for k < n / 2 (Cooley and Tukey 1965). */
CN_INLINE void cn_fft_pow2(cn_complex *x, size_t n, const cn_complex *roots) {
  for (size_t i = 1, j = 0; i < n; i++) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const cn_complex t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
  }
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t at = 0; at < n; at += 2 * half) {
      for (size_t k = 0; k < half; k++) {
        const cn_complex a = x[at + k], b = cn_complex_mul(x[at + half + k], roots[k * (n / (2 * half))]);
        x[at + k].re = a.re + b.re;
        x[at + k].im = a.im + b.im;
        x[at + half + k].re = a.re - b.re;
        x[at + half + k].im = a.im - b.im;
      }
    }
  }
}

/* A transform of length n; work of a padded power of two where n is none (Bluestein 1970): products of chirps, convolved. */
typedef struct cn_fft {
  size_t n, padded;
  cn_complex *x;      /* [padded] the signal, then its transform in the first n */
  cn_complex *roots;  /* [padded / 2] */
  cn_complex *chirp;  /* [n] exp(-pi i k k / n); where n is no power of two */
  cn_complex *kernel; /* [padded] the transform of its conjugate */
} cn_fft;

/* Bytes of scratch that are enough for any n. */
CN_INLINE size_t cn_fft_scratch(size_t n) { return (n + 1) * 12 * sizeof(cn_complex); }

CN_INLINE void cn_fft_init(cn_fft *f, size_t n, void *scratch) {
  const int pow2 = (n & (n - 1)) == 0;
  f->n = n;
  f->padded = 1;
  while (f->padded < (pow2 ? n : 2 * n - 1)) f->padded *= 2;
  f->x = (cn_complex *)scratch;
  f->roots = f->x + f->padded;
  f->chirp = f->roots + f->padded / 2 + 1;
  f->kernel = f->chirp + n;
  for (size_t k = 0; k < f->padded / 2; k++) f->roots[k] = cn_complex_root(k, f->padded);
  if (pow2) {
    f->chirp = NULL;
    return;
  }
  memset(f->kernel, 0, f->padded * sizeof *f->kernel);
  for (size_t k = 0; k < n; k++) {
    f->chirp[k] = cn_complex_root((size_t)((uint64_t)k * k % (2 * (uint64_t)n)), 2 * n);
    f->kernel[k].re = f->kernel[(f->padded - k) % f->padded].re = f->chirp[k].re;
    f->kernel[k].im = f->kernel[(f->padded - k) % f->padded].im = -f->chirp[k].im;
  }
  cn_fft_pow2(f->kernel, f->padded, f->roots);
}

/* Transforms the first n of x. */
CN_NOINLINE void cn_fft_run(cn_fft *f) {
  if (!f->chirp) {
    cn_fft_pow2(f->x, f->n, f->roots);
    return;
  }
  for (size_t k = 0; k < f->n; k++) f->x[k] = cn_complex_mul(f->x[k], f->chirp[k]);
  memset(f->x + f->n, 0, (f->padded - f->n) * sizeof *f->x);
  cn_fft_pow2(f->x, f->padded, f->roots);
  for (size_t k = 0; k < f->padded; k++) {
    f->x[k] = cn_complex_mul(f->x[k], f->kernel[k]);
    f->x[k].im = -f->x[k].im; /* the inverse transform is the conjugate of the conjugate's */
  }
  cn_fft_pow2(f->x, f->padded, f->roots);
  for (size_t k = 0; k < f->n; k++) {
    cn_complex t;
    t.re = f->x[k].re / (double)f->padded;
    t.im = -f->x[k].im / (double)f->padded;
    f->x[k] = cn_complex_mul(t, f->chirp[k]);
  }
}

/* Row `row` of in [rows][m][parts] to f->x: cut or padded with zeros to n; conjugated for an inverse transform; where only the first
 * half of a spectrum is given, the other follows from it. */
CN_INLINE void cn_fft_load(cn_fft *f, const castnet_tensor *in, size_t row, int inverse, int half) {
  const size_t m = (size_t)in->dims[1], parts = (size_t)in->dims[2], given = half ? cn_min(m, f->n / 2 + 1) : cn_min(m, f->n);
  memset(f->x, 0, f->n * sizeof *f->x);
  for (size_t k = 0; k < given; k++) {
    const size_t at = (row * m + k) * parts;
    const double im = parts > 1 ? cn_real_load(in, at + 1) : 0.0;
    f->x[k].re = cn_real_load(in, at);
    f->x[k].im = inverse ? -im : im;
    if (half && k > 0 && f->n - k > k) {
      f->x[f->n - k].re = f->x[k].re;
      f->x[f->n - k].im = -f->x[k].im;
    }
  }
  if (half && given > 0) f->x[0].im = 0.0;
  if (half && f->n % 2 == 0 && given > f->n / 2) f->x[f->n / 2].im = 0.0;
}

/* in: [rows][m][1 or 2] f32 or f64 (real, or real and imaginary parts), the length n s64 []; out: [rows][bins][2], or [rows][n][1] from
 * half a spectrum; attrs: inverse, half (the input is half a spectrum); scratch: cn_fft_scratch(n). */
CN_NOINLINE int cn_op_dft(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                          size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  const size_t rows = (size_t)in[0].dims[0], bins = (size_t)out[0].dims[1], parts = (size_t)out[0].dims[2], n = (size_t)((const int64_t *)in[1].data)[0];
  const int inverse = attrs[0].value.i != 0, half = attrs[1].value.i != 0;
  cn_fft f;
  (void)n_in, (void)n_out, (void)n_attrs, (void)env;
  if (rows == 0 || bins == 0) return CASTNET_OK;
  if (n == 0 || bins > n || scratch_size < cn_fft_scratch(n)) return CASTNET_ERR_DIM;
  cn_fft_init(&f, n, scratch);
  for (size_t row = 0; row < rows; row++) {
    cn_fft_load(&f, &in[0], row, inverse, half);
    cn_fft_run(&f);
    for (size_t k = 0; k < bins; k++) {
      const size_t at = (row * bins + k) * parts;
      const double scale = inverse ? 1.0 / (double)n : 1.0;
      cn_real_store(&out[0], at, f.x[k].re * scale);
      if (parts > 1) cn_real_store(&out[0], at + 1, (inverse ? -f.x[k].im : f.x[k].im) * scale);
    }
  }
  return CASTNET_OK;
}

#endif
