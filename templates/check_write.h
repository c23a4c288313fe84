/* SPDX-License-Identifier: MIT-0 */
/* Outputs of a call as a file, in the form that templates/check_call.h describes. */
#ifndef CASTNET_CHECK_WRITE_H
#define CASTNET_CHECK_WRITE_H

#include "castnet_check_call.h"

static FILE *out_file;

static void write_begin(const char *path) {
  out_file = fopen(path, "wb");
  if (!out_file) die("cannot write the outputs");
}

static void write_end(void) {
  if (fclose(out_file) != 0) die("cannot write the outputs");
}

static void put_bytes(const void *p, size_t n) {
  if (n && fwrite(p, 1, n, out_file) != n) die("cannot write the outputs");
}
static void put(uint64_t v) { put_bytes(&v, sizeof v); }

static void write_tensor(const struct check_type *t, const void *data, const int64_t *dims, size_t rank) {
  size_t n = 1;
  put(rank);
  for (size_t i = 0; i < rank; i++) {
    put((uint64_t)dims[i]);
    n *= (size_t)dims[i];
  }
  if (t->string) {
    const castnet_string *s = (const castnet_string *)data;
    for (size_t i = 0; i < n; i++) {
      put(s[i].length);
      put_bytes(s[i].ptr, s[i].length);
    }
  } else {
    put_bytes(data, bytes_of(t, n));
  }
}

static void write_value(const struct check_type *t, const unsigned char *from) {
  if (t->kind == CHECK_TENSOR) {
    struct seq_tensor v;
    memcpy(&v, from, sizeof v);
    write_tensor(t, v.data, v.dims, v.rank);
  } else if (t->kind == CHECK_MAP) {
    struct map v;
    memcpy(&v, from, sizeof v);
    const int64_t n = (int64_t)v.count;
    put(v.count);
    write_tensor(t->key, v.keys, &n, 1);
    write_tensor(t->elem, v.values, &n, 1);
  } else if (t->kind == CHECK_SEQUENCE) {
    struct seq v;
    memcpy(&v, from, sizeof v);
    put(v.count);
    for (size_t i = 0; i < v.count; i++) write_value(t->elem, (const unsigned char *)v.items + i * size_of(t->elem));
  } else {
    put(from[0]);
    if (from[0]) write_value(t->elem, from + sizeof(void *));
  }
}

static void write_output(const struct check_field *f, const unsigned char *out) {
  const void *p;
  if (f->type->kind != CHECK_TENSOR) {
    write_value(f->type, out + f->value);
    return;
  }
  memcpy(&p, out + f->value, sizeof p);
  write_tensor(f->type, p, output_dims(f, out), f->type->rank);
}

static void write_outputs(const struct call *c) {
  for (size_t k = 0; k < c->m->n_out; k++) write_output(&c->m->out[k], c->out);
}

#endif
