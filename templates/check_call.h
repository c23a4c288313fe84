/* SPDX-License-Identifier: MIT-0 */
/* A call of a model compiled by castnet, on inputs from a file, its outputs to another: for templates/check.c, templates/bench.c.
 *
 * Both files hold host numbers of 64 bits and bytes. Inputs: the members of N_dims, then each input. A value is
 * tensor: rank, dims, then bytes (each string: its length, its bytes); sequence: count, values; map: count, keys as a
 * tensor, values as a tensor; optional: 0, or 1 and a value. Outputs: what the call returned, a fault (below), the output
 * concerned, ws_needed, then each output where neither error nor fault stands. */
#ifndef CASTNET_CHECK_CALL_H
#define CASTNET_CHECK_CALL_H

#include "castnet_check_tables.h"

#ifdef CHECK_THREADS
#include "castnet_pool.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_NONE, FAULT_WORKSPACE, FAULT_OUTPUT, FAULT_WS_NEEDED, FAULT_WS_BOUND, FAULT_CAPACITY, FAULT_DIMS };
enum { GUARD = 256, GUARD_BYTE = 0xA5, DIRTY_BYTE = 0xFF, DIRTY_MAX = 1 << 28 };
/* Generated code's own layouts, whatever the types are that they point to. */
struct seq_tensor { const void *data; const int64_t *dims; size_t rank; };
struct seq { const void *items; size_t count; };
struct map { const void *keys, *values; size_t count; };

/* Made for the models at hand: static const struct check_model *const models[]. */
#include "castnet_check_models.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CHECK_ASAN 1
#endif

/* Under AddressSanitizer a read of a guard is found, too. */
#ifdef CHECK_ASAN
void __asan_poison_memory_region(void const volatile *p, size_t n);
void __asan_unpoison_memory_region(void const volatile *p, size_t n);
static void guard_close(const unsigned char *p, size_t n) { __asan_poison_memory_region(p, n); }
static void guard_open(const unsigned char *p, size_t n) { __asan_unpoison_memory_region(p, n); }
#else
static void guard_close(const unsigned char *p, size_t n) { (void)p, (void)n; }
static void guard_open(const unsigned char *p, size_t n) { (void)p, (void)n; }
#endif

/* ---- memory ---- */
#ifndef CHECK_DEVICE /* else made for the device */
static void *memory_new(size_t n) { return malloc(n); }
static void memory_free(void *p) { free(p); }
#endif

static void die(const char *why) {
  (void)fprintf(stderr, "check: %s\n", why);
  exit(99);
}

static void *allocate(size_t n) {
  void *p = memory_new(n ? n : 1);
  if (!p) die("out of memory");
  return p;
}

/* Bytes between two guards. */
struct block {
  unsigned char *base, *at;
  size_t size;
};

static void guards_close(const struct block *b) {
  guard_close(b->at - GUARD, GUARD);
  guard_close(b->at + b->size, GUARD);
}

static void guards_open(const struct block *b) {
  guard_open(b->at - GUARD, GUARD);
  guard_open(b->at + b->size, GUARD);
}

static struct block block_new(size_t size, size_t align) {
  struct block b;
  if (align < 64) align = 64;
  if (size > (size_t)-1 - 2 * GUARD - align) die("a size overflows");
  b.base = (unsigned char *)allocate(size + 2 * GUARD + align);
  b.at = b.base + GUARD;
  b.at += (align - (uintptr_t)b.at % align) % align;
  b.size = size;
  memset(b.at - GUARD, GUARD_BYTE, GUARD);
  memset(b.at, DIRTY_BYTE, size < DIRTY_MAX ? size : DIRTY_MAX); /* floats: NaN */
  memset(b.at + size, GUARD_BYTE, GUARD);
  guards_close(&b);
  return b;
}

static int block_whole(const struct block *b) {
  if (!b->base) return 1;
  guards_open(b);
  for (size_t i = 0; i < GUARD; i++)
    if (b->at[-1 - (ptrdiff_t)i] != GUARD_BYTE || b->at[b->size + i] != GUARD_BYTE) return 0;
  return 1;
}

/* ---- reading ---- */
static unsigned char *read_file(const char *path, size_t *ret_size) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END) != 0) die("cannot read a file");
  long n = ftell(f);
  if (n < 0 || fseek(f, 0, SEEK_SET) != 0) die("cannot read a file");
  struct block b = block_new((size_t)n, 64);
  if (fread(b.at, 1, (size_t)n, f) != (size_t)n) die("cannot read a file");
  (void)fclose(f);
  *ret_size = (size_t)n;
  return b.at;
}

struct cursor {
  const unsigned char *at, *end;
};

static uint64_t take(struct cursor *c) {
  uint64_t v;
  if ((size_t)(c->end - c->at) < sizeof v) die("inputs are cut off");
  memcpy(&v, c->at, sizeof v);
  c->at += sizeof v;
  return v;
}

static const void *take_bytes(struct cursor *c, size_t n) {
  const unsigned char *p = c->at;
  if ((size_t)(c->end - p) < n) die("inputs are cut off");
  c->at += n;
  return p;
}

static size_t bytes_of(const struct check_type *t, size_t n) {
  if (t->string) return n * sizeof(castnet_string);
  return t->bits < 8 ? (n * t->bits + 7) / 8 : n * (t->bits / 8);
}

/* In memory of its own, so that a read or write beyond it is one beyond an allocation. */
static void *read_tensor(struct cursor *c, const struct check_type *t, int64_t **ret_dims, size_t *ret_rank, size_t *ret_n) {
  size_t rank = (size_t)take(c), n = 1;
  int64_t *dims = (int64_t *)allocate(rank * sizeof *dims);
  for (size_t i = 0; i < rank; i++) {
    dims[i] = (int64_t)take(c);
    n *= (size_t)dims[i];
  }
  if (ret_dims) *ret_dims = dims;
  if (ret_rank) *ret_rank = rank;
  *ret_n = n;
  void *data = allocate(bytes_of(t, n));
  if (t->string) {
    castnet_string *s = (castnet_string *)data;
    for (size_t i = 0; i < n; i++) {
      s[i].length = (size_t)take(c);
      char *p = (char *)allocate(s[i].length);
      if (s[i].length) memcpy(p, take_bytes(c, s[i].length), s[i].length);
      s[i].ptr = p;
    }
  } else if (n) {
    memcpy(data, take_bytes(c, bytes_of(t, n)), bytes_of(t, n));
  }
  return data;
}

/* Bytes of a value inside a sequence, an optional or N_inputs (a tensor in N_inputs is a pointer instead). */
static size_t size_of(const struct check_type *t) {
  if (t->kind == CHECK_TENSOR) return sizeof(struct seq_tensor);
  if (t->kind == CHECK_MAP) return sizeof(struct map);
  if (t->kind == CHECK_SEQUENCE) return sizeof(struct seq);
  return sizeof(void *) + size_of(t->elem); /* `has`, padded to the alignment of pointers */
}

static void read_value(struct cursor *c, const struct check_type *t, unsigned char *to) {
  if (t->kind == CHECK_TENSOR) {
    struct seq_tensor v;
    int64_t *dims;
    size_t n;
    v.data = read_tensor(c, t, &dims, &v.rank, &n);
    v.dims = dims;
    memcpy(to, &v, sizeof v);
  } else if (t->kind == CHECK_MAP) {
    struct map v;
    (void)take(c);
    v.keys = read_tensor(c, t->key, NULL, NULL, &v.count);
    v.values = read_tensor(c, t->elem, NULL, NULL, &v.count);
    memcpy(to, &v, sizeof v);
  } else if (t->kind == CHECK_SEQUENCE) {
    struct seq v;
    v.count = (size_t)take(c);
    unsigned char *items = (unsigned char *)allocate(v.count * size_of(t->elem));
    for (size_t i = 0; i < v.count; i++) read_value(c, t->elem, items + i * size_of(t->elem));
    v.items = items;
    memcpy(to, &v, sizeof v);
  } else {
    memset(to, 0, size_of(t));
    to[0] = (unsigned char)take(c);
    if (to[0]) read_value(c, t->elem, to + sizeof(void *));
  }
}

static void read_input(struct cursor *c, const struct check_field *f, unsigned char *in) {
  size_t n;
  if (f->type->kind != CHECK_TENSOR) {
    read_value(c, f->type, in + f->value);
    return;
  }
  const void *p = read_tensor(c, f->type, NULL, NULL, &n);
  memcpy(in + f->value, &p, sizeof p);
}

/* dims of an output: in N_outputs, or constants */
static const int64_t *output_dims(const struct check_field *f, const unsigned char *out) {
  return f->dims == CHECK_NONE ? f->type->dims : (const int64_t *)(const void *)(out + f->dims);
}

/* ---- a call ---- */
struct call {
  const struct check_model *m;
  unsigned char *in, *out;
  struct block ws, *blocks; /* [n_out] of the caller's outputs */
  size_t *capacity;         /* [n_out] elements */
  int fault;
  size_t fault_output;
};

static void set_fault(struct call *c, int fault, size_t output) {
  if (c->fault == FAULT_NONE) {
    c->fault = fault;
    c->fault_output = output;
  }
}

static int count_elements(const struct check_field *f, const unsigned char *out, size_t *ret) {
  const int64_t *dims = output_dims(f, out);
  size_t n = 1;
  for (size_t i = 0; i < f->type->rank; i++) {
    if (dims[i] < 0 || (dims[i] && n > ((size_t)1 << 48) / (size_t)dims[i])) return 0;
    n *= (size_t)dims[i];
  }
  *ret = n;
  return 1;
}

static void give_room(struct call *c, size_t k, size_t n) {
  const struct check_field *f = &c->m->out[k];
  if (!block_whole(&c->blocks[k])) set_fault(c, FAULT_OUTPUT, k);
  memory_free(c->blocks[k].base);
  c->blocks[k] = block_new(bytes_of(f->type, n), 64);
  c->capacity[k] = n;
  memcpy(c->out + f->value, &c->blocks[k].at, sizeof(void *));
  if (f->capacity != CHECK_NONE) memcpy(c->out + f->capacity, &n, sizeof n);
}

/* Outputs of known size get their memory at once, the others after a call that filled their dims. */
static int give_rooms(struct call *c, int first) {
  int more = 0;
  for (size_t k = 0; k < c->m->n_out; k++) {
    const struct check_field *f = &c->m->out[k];
    size_t n;
    if (f->owned || f->type->kind != CHECK_TENSOR || (first != (f->dims == CHECK_NONE))) continue;
    if (!count_elements(f, c->out, &n)) {
      set_fault(c, FAULT_DIMS, k);
      return 0;
    }
    if (!first && n <= c->capacity[k] && c->blocks[k].base) continue;
    give_room(c, k, n);
    more = 1;
  }
  return more;
}

static size_t ws_needed(const struct call *c) {
  size_t n;
  memcpy(&n, c->out + c->m->ws_needed, sizeof n);
  return n;
}

static int grow_workspace(struct call *c) {
  size_t n = ws_needed(c);
  if (n <= c->ws.size && c->ws.base) {
    set_fault(c, FAULT_WS_NEEDED, 0);
    return 0;
  }
  if (c->m->ws_bound && n > c->m->ws_bound) set_fault(c, FAULT_WS_BOUND, 0);
  if (!block_whole(&c->ws)) set_fault(c, FAULT_WORKSPACE, 0);
  memory_free(c->ws.base);
  c->ws = block_new(n, c->m->ws_align);
  return 1;
}

static int call_model(struct call *c, const castnet_env *env) {
  int status = CASTNET_OK;
  c->ws = block_new(0, c->m->ws_align);
  for (int round = 0; round < 1000 && c->fault == FAULT_NONE; round++) {
    status = c->m->run(c->in, c->out, c->ws.at, c->ws.size, env);
    if (status == CASTNET_ERR_WORKSPACE) {
      if (!grow_workspace(c)) break;
    } else if (status == CASTNET_ERR_CAPACITY) {
      if (!give_rooms(c, 0)) {
        set_fault(c, FAULT_CAPACITY, 0);
        break;
      }
    } else {
      break;
    }
  }
  if (!block_whole(&c->ws)) set_fault(c, FAULT_WORKSPACE, 0);
  for (size_t k = 0; k < c->m->n_out; k++)
    if (!block_whole(&c->blocks[k])) set_fault(c, FAULT_OUTPUT, k);
  return status;
}

/* The call of models[which], its inputs read; main's second half is call_model. */
static struct call call_open(size_t which, const char *inputs) {
  size_t n_file;
  if (which >= sizeof models / sizeof *models) die("no such model");
  const struct check_model *m = models[which];
  const unsigned char *file = read_file(inputs, &n_file);
  struct cursor cursor = {file, file + n_file};
  struct call c = {m, NULL, NULL, {NULL, NULL, 0}, NULL, NULL, FAULT_NONE, 0};
  c.in = (unsigned char *)calloc(1, m->in_size);
  c.out = (unsigned char *)calloc(1, m->out_size);
  c.blocks = (struct block *)calloc(m->n_out + 1, sizeof *c.blocks);
  c.capacity = (size_t *)calloc(m->n_out + 1, sizeof *c.capacity);
  if (!c.in || !c.out || !c.blocks || !c.capacity) die("out of memory");
  for (size_t i = 0; i < m->n_dims; i++) {
    const int64_t v = (int64_t)take(&cursor);
    memcpy(c.in + m->dim + i * sizeof v, &v, sizeof v);
  }
  for (size_t i = 0; i < m->n_in; i++) read_input(&cursor, &m->in[i], c.in);
  (void)give_rooms(&c, 1);
  return c;
}

/* weights: N_weights.bin, or NULL */
static castnet_env env_new(const struct check_model *m, const char *weights) {
  castnet_env env;
  memset(&env, 0, sizeof env);
  env.size = sizeof env;
#ifdef CHECK_THREADS
  env.parallel_for = castnet_pool_run;
  env.parallel_ranges = castnet_pool_ranges;
  env.parallel_user = castnet_pool_new(CHECK_THREADS);
  if (!env.parallel_user) die("threads cannot be made");
  env.threads = (uint32_t)castnet_pool_threads((const castnet_pool *)env.parallel_user);
#endif
#ifdef CHECK_ISA
  env.isa = m->detect();
  if (env.isa > CHECK_ISA) env.isa = CHECK_ISA;
#else
  (void)m;
#endif
  if (weights) env.weights = read_file(weights, &env.weights_size);
  return env;
}

#endif
