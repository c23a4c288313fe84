/* kernels [TARGET [KERNEL [CASE]]]: runs all cases, or those named. A failure prints the command that repeats it. */
#define _GNU_SOURCE
#include "simd/scalar.h"

#include "check.h"
#include "cpu.h"
#ifndef KERNEL_SETS
#include "kernel_sets.h"
#endif

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define X(word) extern const KernelSet kernel_set_##word;
KERNEL_SETS
#undef X

static const KernelSet *const sets[] = {
#define X(word) &kernel_set_##word,
    KERNEL_SETS
#undef X
};

static const struct {
  const char *name, *dtype;
  void (*test)(Case *c);
} kernels[] = {
#define WINDOW(...)
#define KERNEL(function, family, dtype, tile, file) {#function, #dtype, test_##function},
#include "kernels.def"
};

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])

#ifndef N_CASES
#define N_CASES 600
#endif

enum { MAX_BUFFERS = 64 };

/* ---- random choices: xorshift64*, seeded by the case's number alone ---- */
uint32_t pick(Case *c, uint32_t n) {
  c->seed ^= c->seed >> 12;
  c->seed ^= c->seed << 25;
  c->seed ^= c->seed >> 27;
  return (uint32_t)((c->seed * 0x2545f4914f6cdd1du) >> 33) % n;
}

float pick_value(Case *c) {
  switch (pick(c, 64)) {
    case 0: return 0.0f;
    case 1: return 1e-41f;
    default: return (float)pick(c, 1u << 24) / (float)(1 << 23) - 1.0f;
  }
}

void fail(Case *c, const char *fmt, ...) {
  if (c->failed++) return; /* the first is enough: the case can be repeated */
  va_list ap;
  va_start(ap, fmt);
  (void)printf("FAIL ");
  (void)vprintf(fmt, ap);
  (void)printf("\n  again: kernels %s %s %u\n", c->set->name, c->kernel, c->index);
  va_end(ap);
}

int run_backwards(void *user, size_t n, void (*fn)(void *arg, size_t i), void *arg) {
  (void)user;
  while (n-- > 0) fn(arg, n);
  return 0;
}

int close_enough(float got, double want, double bound) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return got == want;
  return fabs((double)got - want) <= bound;
}

/* ---- buffers between guard pages ---- */
static struct {
  unsigned char *map, *data;
  size_t mapped, size;
} buffers[MAX_BUFFERS];
static size_t n_buffers;

void *guarded_bytes(Case *c, size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t inside = (size + page) / page * page; /* at least one byte of canary */
  unsigned char *map = mmap(NULL, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED || n_buffers == MAX_BUFFERS || mprotect(map + page, inside, PROT_READ | PROT_WRITE)) abort();
  memset(map + page, 0xa5, inside);
  unsigned char *data = c->index % 2 ? map + page : map + page + inside - size;
  buffers[n_buffers].map = map;
  buffers[n_buffers].data = data;
  buffers[n_buffers].mapped = inside + 2 * page;
  buffers[n_buffers++].size = size;
  return data;
}

float *guarded(Case *c, size_t n) { return guarded_bytes(c, n * sizeof(float)); }

float *guarded_values(Case *c, size_t n) {
  float *p = guarded(c, n);
  for (size_t i = 0; i < n; i++) p[i] = pick_value(c);
  return p;
}

void checks_end(Case *c) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t b = 0; b < n_buffers; b++) {
    for (unsigned char *p = buffers[b].map + page; p < buffers[b].map + buffers[b].mapped - page; p++) {
      if (p >= buffers[b].data && p < buffers[b].data + buffers[b].size) continue;
      if (*p != 0xa5) {
        fail(c, "%s: wrote outside of its buffer (%td bytes from its start)", c->kernel, p - buffers[b].data);
        break;
      }
    }
    (void)munmap(buffers[b].map, buffers[b].mapped);
  }
  n_buffers = 0;
}

/* ---- traps: the guard pages turn an access outside of a buffer into one ---- */
static const Case *volatile running;

static void trapped(int signal_number) {
  char text[256]; /* snprintf is not promised to be safe here; in these tests it only formats words and a number */
  int n = snprintf(text, sizeof text, "FAIL signal %d: an access outside of a buffer\n  again: kernels %s %s %u\n", signal_number,
                   running->set->name, running->kernel, running->index);
  if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0) _exit(3);
  _exit(1);
}

/* ---- sets ---- */
static int cpu_runs(const KernelSet *s) {
  for (const char *p = s->cpu; *p;) {
    size_t n = strcspn(p, " ");
    if (!cpu_has(p, n)) return 0;
    p += n + (p[n] == ' ');
  }
  return 1;
}

static int run_set(const KernelSet *s, const char *kernel, const char *only) {
  int failed = 0;
  size_t n_run = 0;
  if (!cpu_runs(s)) {
    (void)printf("%s: skipped, this CPU lacks one of: %s\n", s->name, s->cpu);
    return 0;
  }
  if (!kernel && s->layer_selftest()) {
    (void)printf("FAIL %s: %zu wrong lanes in the layer's own functions\n", s->name, s->layer_selftest());
    failed++;
  }
  for (size_t k = 0; k < LENGTH(kernels); k++) {
    if ((kernel && strcmp(kernel, kernels[k].name)) || (s->own && !strstr(kernels[k].name, s->own))) continue;
    for (unsigned i = 0; i < N_CASES; i++) {
      if (only && i != (unsigned)atoi(only)) continue;
      Case c = {.set = s, .kernel = kernels[k].name, .index = i, .seed = 0x9e3779b97f4a7c15u * (i + 1)};
      running = &c;
      kernels[k].test(&c);
      checks_end(&c);
      failed += c.failed != 0;
      n_run++;
    }
  }
  (void)printf("%s: %zu cases, %d failed\n", s->name, n_run, failed);
  return failed;
}

int main(int argc, char **argv) {
  int failed = 0;
  (void)signal(SIGSEGV, trapped);
  (void)signal(SIGBUS, trapped);
  for (size_t s = 0; s < LENGTH(sets); s++)
    if (argc < 2 || !strcmp(argv[1], sets[s]->name))
      failed += run_set(sets[s], argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
  return failed != 0;
}
