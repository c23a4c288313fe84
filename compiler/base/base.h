/* Foundations shared by every stage: strings, checked integers, arenas, vectors, maps.
 *
 * Memory: everything lives in an Arena named by its lifetime (one a compile, one scratch a pass). Allocation never
 * returns NULL: memory exhaustion and I/O failure leave through the Door that the arena was opened with. */
#ifndef CASTNET_BASE_H
#define CASTNET_BASE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define BASE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define BASE_NORETURN __attribute__((noreturn))
#else
#define BASE_PRINTF(f, a)
#define BASE_NORETURN
#endif

/* ---- Door: the one way out for what no caller can mend ---------------------------------------------------------- */
typedef enum { DOOR_NONE, DOOR_MEMORY, DOOR_IO, DOOR_BUG } DoorReason;

typedef struct Door {
  jmp_buf env;
  DoorReason reason;
  char text[512];
} Door;

/* Jumps to door->env with value 1; reason and text say why. A NULL door prints the text and aborts. */
BASE_NORETURN void door_leave(Door *door, DoorReason reason, const char *fmt, ...) BASE_PRINTF(3, 4);

/* ---- Str: a slice. Model strings may hold any byte, NUL included, so lengths are explicit everywhere. ------------ */
typedef struct Str {
  const char *ptr;
  size_t len;
} Str;

#define STR(lit) ((Str){(lit), sizeof(lit) - 1})
/* For %.*s. Of what a file says, no more than a reader wants to see; of code that castnet prints, everything. */
#define STR_ARG(s) (int)((s).len > 1000 ? 1000 : (s).len), ((s).ptr ? (s).ptr : "")
#define STR_WHOLE(s) (int)((s).len > INT_MAX ? INT_MAX : (s).len), ((s).ptr ? (s).ptr : "")

static inline Str str_c(const char *s) { return (Str){s, s ? strlen(s) : 0}; }
static inline bool str_eq(Str a, Str b) { return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0); }
static inline bool str_is(Str a, const char *c) { return str_eq(a, str_c(c)); }
static inline bool str_starts(Str a, const char *c) { return a.len >= strlen(c) && memcmp(a.ptr, c, strlen(c)) == 0; }
int str_cmp(Str a, Str b); /* bytewise order, shorter first */

/* ---- Checked integers: sizes that come from a model pass through these at the border ----------------------------- */
static inline bool size_mul(size_t a, size_t b, size_t *ret) { return !__builtin_mul_overflow(a, b, ret); }
static inline bool size_add(size_t a, size_t b, size_t *ret) { return !__builtin_add_overflow(a, b, ret); }
static inline bool i64_mul(int64_t a, int64_t b, int64_t *ret) { return !__builtin_mul_overflow(a, b, ret); }
static inline bool i64_add(int64_t a, int64_t b, int64_t *ret) { return !__builtin_add_overflow(a, b, ret); }
static inline bool i64_sub(int64_t a, int64_t b, int64_t *ret) { return !__builtin_sub_overflow(a, b, ret); }
int64_t i64_floordiv(int64_t a, int64_t b); /* b != 0; INT64_MIN / -1 saturates */
int64_t i64_floormod(int64_t a, int64_t b);

/* ---- Arena -------------------------------------------------------------------------------------------------------- */
typedef struct Arena Arena;

/* limit: the most bytes it may hold, 0 for none. */
Arena *arena_new(Door *door, size_t limit);
void arena_free(Arena *a);
Door *arena_door(const Arena *a);
size_t arena_used(const Arena *a);
void arena_on_free(Arena *a, void (*fn)(void *), void *p); /* calls fn(p) before the memory goes, last one first */
void *arena_alloc(Arena *a, size_t size);                /* zeroed, aligned to 16 */
void *arena_array(Arena *a, size_t n, size_t size);      /* n * size checked */
void *arena_dup(Arena *a, const void *p, size_t size);
char *arena_cstr(Arena *a, Str s);                       /* NUL-terminated copy */
Str arena_str(Arena *a, Str s);                          /* copy */
Str arena_printf(Arena *a, const char *fmt, ...) BASE_PRINTF(2, 3); /* NUL-terminated too */

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEW_ARRAY(a, T, n) ((T *)arena_array((a), (size_t)(n), sizeof(T)))

/* ---- Vec: `VEC(int) v = {0}; vec_push(arena, v, 3);` growth leaves the old block to the arena ---------------------- */
#define VEC(T) \
  struct { \
    T *data; \
    size_t n, cap; \
  }
#define vec_push(a, v, x) \
  do { \
    if ((v).n == (v).cap) (v).data = vec_grow((a), (v).data, &(v).cap, sizeof *(v).data); \
    (v).data[(v).n++] = (x); \
  } while (0)
void *vec_grow(Arena *a, void *data, size_t *cap, size_t size);

/* ---- Map: insertion-ordered, bytes -> pointer. Iteration order is insertion order, never hash order. --------------- */
typedef struct MapEntry {
  Str key;
  void *value;
} MapEntry;
typedef struct Map {
  Arena *arena;
  VEC(MapEntry) entries;
  uint32_t *slots;
  size_t n_slots;
} Map;
Map map_new(Arena *a);
void *map_get(const Map *m, Str key);            /* NULL when absent */
bool map_has(const Map *m, Str key);
void map_put(Map *m, Str key, void *value);      /* key is not copied; replaces */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* ---- StrBuf: text being built ------------------------------------------------------------------------------------- */
typedef struct StrBuf {
  Arena *arena;
  char *data; /* always NUL-terminated once anything was put */
  size_t len, cap;
} StrBuf;
StrBuf sb_new(Arena *a);
void sb_put(StrBuf *b, const char *p, size_t n);
void sb_puts(StrBuf *b, const char *s);
void sb_putc(StrBuf *b, char c);
void sb_str(StrBuf *b, Str s);
void sb_printf(StrBuf *b, const char *fmt, ...) BASE_PRINTF(2, 3);
void sb_vprintf(StrBuf *b, const char *fmt, va_list ap) BASE_PRINTF(2, 0);
Str sb_view(const StrBuf *b);
/* Any bytes as one printable line: control characters, quotes, backslashes and invalid UTF-8 escaped, cut at max bytes. */
void sb_escaped(StrBuf *b, Str s, size_t max);
/* The reverse: text up to a closing quote, which *ret_used counts in. False without one, or at an unknown escape. */
bool str_unescape(Arena *a, Str text, Str *ret, size_t *ret_used);

#endif
