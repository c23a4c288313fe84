/* The type of every length-delimited field in the structs that nanopb generates (onnx.options): where its content goes.
 * A zero field is skipped. */
#ifndef CASTNET_FRONTEND_FIELD_H
#define CASTNET_FRONTEND_FIELD_H

#include "base/base.h"

struct Reader;

/* Decodes the submessage in bytes into *ret; false after a diagnostic. */
typedef bool FieldRead(struct Reader *r, Str bytes, void *ret);

typedef enum FieldFlags {
  FIELD_INLINE = 1,   /* submessage: read into dst itself, which the enclosing struct holds */
  FIELD_POINTERS = 2, /* submessages: dst is an array of pointers */
  FIELD_DATA = 4      /* numbers: tensor data, kept little-endian and unaligned; else host order and aligned */
} FieldFlags;

typedef struct OnnxField {
  struct Reader *reader; /* set by message_count */
  /* string: Str *; strings: Str **; submessage: T ** or, inline, T *; submessages: T ** or T ***; numbers: void ** */
  void *dst;
  size_t *n_dst;   /* repeated fields: where the count goes */
  FieldRead *read; /* submessages */
  uint32_t size;   /* sizeof T, or the bytes of one number in memory (integers keep the low ones) */
  uint32_t flags;
  size_t count;  /* first pass: strings, submessages or numbers seen */
  size_t done;   /* second pass: stored so far */
  Str packed;    /* numbers: the last packed run */
  size_t n_runs; /* numbers: packed runs, and numbers outside of one */
} OnnxField;

#define FIELD_STR(lvalue) ((OnnxField){.dst = &(lvalue)})
#define FIELD_STRS(list, n) ((OnnxField){.dst = (void *)&(list), .n_dst = &(n)})
#define FIELD_ONE(T, pointer, fn) ((OnnxField){.dst = (void *)&(pointer), .read = (fn), .size = sizeof(T)})
#define FIELD_HERE(target, fn) ((OnnxField){.dst = (target), .read = (fn), .flags = FIELD_INLINE})
#define FIELD_MANY(T, list, n, fn) \
  ((OnnxField){.dst = (void *)&(list), .n_dst = &(n), .read = (fn), .size = sizeof(T)})
#define FIELD_MANY_POINTERS(T, list, n, fn) \
  ((OnnxField){.dst = (void *)&(list), .n_dst = &(n), .read = (fn), .size = sizeof(T), .flags = FIELD_POINTERS})
#define FIELD_NUMBERS(T, list, n) ((OnnxField){.dst = (void *)&(list), .n_dst = &(n), .size = sizeof(T)})

#endif
