#include "cli/quantum.h"

enum { MAX_LEVELS = 256, MIN_LEVELS = 4 };

static double magnitude(double x) { return x < 0 ? -x : x; }

/* Puts x into the ascending levels; false when it is no number or they grow too many. */
static bool insert_level(double *levels, size_t *n, double x) {
  size_t lo = 0, hi = *n;
  if (!(x - x == 0)) return false;
  while (lo < hi) {
    const size_t mid = (lo + hi) / 2;
    if (levels[mid] < x) lo = mid + 1;
    else hi = mid;
  }
  if (lo < *n && levels[lo] == x) return true;
  if (*n == MAX_LEVELS) return false;
  memmove(levels + lo + 1, levels + lo, (*n - lo) * sizeof *levels);
  levels[lo] = x;
  ++*n;
  return true;
}

/* x is k steps up to the rounding of f32. */
static bool is_whole(double x, double step) {
  const double k = x / step;
  return k < 1e6 && magnitude(k - (double)(int64_t)(k + 0.5)) < 1e-3;
}

double quantum_of(const double *x, size_t n) {
  double levels[MAX_LEVELS], step = 0;
  size_t n_levels = 0;
  for (size_t i = 0; i < n; i++)
    if (!insert_level(levels, &n_levels, x[i])) return 0;
  if (n_levels < MIN_LEVELS || n_levels == n) return 0;
  for (size_t i = 1; i < n_levels; i++)
    if (i == 1 || levels[i] - levels[i - 1] < step) step = levels[i] - levels[i - 1];
  for (size_t i = 1; i < n_levels; i++)
    if (!is_whole(levels[i] - levels[i - 1], step)) return 0;
  return step;
}

QuantumCount quantum_count(const double *got, const double *recorded, size_t n, double quantum) {
  QuantumCount c = {0, 0};
  for (size_t i = 0; i < n; i++) {
    const double off = magnitude(got[i] - recorded[i]);
    if (off > 1.5 * quantum) c.by_more++;
    else if (off > 0.5 * quantum) c.by_one++;
  }
  return c;
}
