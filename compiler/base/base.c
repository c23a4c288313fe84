#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Door ---- */
void door_leave(Door *door, DoorReason reason, const char *fmt, ...) {
  char text[sizeof door->text];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!door) {
    (void)fprintf(stderr, "castnet: %s\n", text);
    abort();
  }
  door->reason = reason;
  memcpy(door->text, text, sizeof text);
  longjmp(door->env, 1);
}

/* ---- Str, integers ---- */
int str_cmp(Str a, Str b) {
  size_t n = a.len < b.len ? a.len : b.len;
  int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
  return c ? c : (a.len > b.len) - (a.len < b.len);
}

int64_t i64_floordiv(int64_t a, int64_t b) {
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t i64_floormod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

/* ---- Arena ---- */
typedef struct Block {
  struct Block *next;
  size_t size, used;
  max_align_t data[];
} Block;

typedef struct Cleanup {
  struct Cleanup *next;
  void (*fn)(void *);
  void *p;
} Cleanup;

struct Arena {
  Door *door;
  Block *blocks;
  Cleanup *cleanups;
  size_t used, limit;
};

enum { BLOCK_SIZE = 64 * 1024, ALIGN = 16 };

Arena *arena_new(Door *door, size_t limit) {
  Arena *a = calloc(1, sizeof *a);
  if (!a) door_leave(door, DOOR_MEMORY, "out of memory");
  a->door = door;
  a->limit = limit;
  return a;
}

void arena_free(Arena *a) {
  if (!a) return;
  for (Cleanup *c = a->cleanups; c; c = c->next) c->fn(c->p);
  for (Block *b = a->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  free(a);
}

Door *arena_door(const Arena *a) { return a->door; }
size_t arena_used(const Arena *a) { return a->used; }

void arena_on_free(Arena *a, void (*fn)(void *), void *p) {
  Cleanup *c = NEW(a, Cleanup);
  *c = (Cleanup){a->cleanups, fn, p};
  a->cleanups = c;
}

static Block *arena_block(Arena *a, size_t size) {
  size_t total;
  if (!size_add(size, sizeof(Block), &total)) door_leave(a->door, DOOR_MEMORY, "out of memory (%zu bytes asked)", size);
  if (a->limit && (size > a->limit || a->used > a->limit - size))
    door_leave(a->door, DOOR_MEMORY, "the memory limit of %zu bytes is reached", a->limit);
  Block *b = calloc(1, total);
  if (!b) door_leave(a->door, DOOR_MEMORY, "out of memory (%zu bytes asked)", size);
  b->size = size;
  a->used += size;
  return b;
}

void *arena_alloc(Arena *a, size_t size) {
  if (size > SIZE_MAX - ALIGN) door_leave(a->door, DOOR_MEMORY, "out of memory (%zu bytes asked)", size);
  size = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
  Block *b = a->blocks;
  if (!b || b->size - b->used < size) {
    if (size > BLOCK_SIZE / 4) { /* a block of its own, behind the current one, which stays open */
      Block *own = arena_block(a, size);
      own->used = size;
      if (b) {
        own->next = b->next;
        b->next = own;
      } else {
        a->blocks = own;
      }
      return own->data;
    }
    b = arena_block(a, BLOCK_SIZE);
    b->next = a->blocks;
    a->blocks = b;
  }
  void *p = (char *)b->data + b->used;
  b->used += size;
  return p;
}

void *arena_array(Arena *a, size_t n, size_t size) {
  size_t total;
  if (!size_mul(n, size, &total)) door_leave(a->door, DOOR_MEMORY, "out of memory (%zu x %zu bytes asked)", n, size);
  return arena_alloc(a, total);
}

void *arena_dup(Arena *a, const void *p, size_t size) {
  void *q = arena_alloc(a, size);
  if (size) memcpy(q, p, size);
  return q;
}

char *arena_cstr(Arena *a, Str s) {
  char *p = arena_array(a, s.len + 1, 1);
  if (s.len) memcpy(p, s.ptr, s.len);
  return p;
}

Str arena_str(Arena *a, Str s) { return (Str){arena_cstr(a, s), s.len}; }

Str arena_printf(Arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(a);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  return sb_view(&b);
}

void *vec_grow(Arena *a, void *data, size_t *cap, size_t size) {
  size_t n = *cap ? *cap * 2 : 8;
  void *p = arena_array(a, n, size);
  if (*cap) memcpy(p, data, *cap * size);
  *cap = n;
  return p;
}

/* ---- Map: open addressing over an ordered entry vector; slot 0 is empty, else entry index + 1 ---- */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) { /* FNV-1a with a final mix (Murmur3's fmix64) */
  const unsigned char *c = p;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < n; i++) h = (h ^ c[i]) * 0x100000001b3u;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  return h;
}

Map map_new(Arena *a) { return (Map){.arena = a}; }

static uint32_t *map_slot(const Map *m, Str key) {
  size_t mask = m->n_slots - 1;
  for (size_t i = (size_t)hash_bytes(key.ptr, key.len, 0) & mask;; i = (i + 1) & mask) {
    uint32_t s = m->slots[i];
    if (s == 0 || str_eq(m->entries.data[s - 1].key, key)) return &m->slots[i];
  }
}

void *map_get(const Map *m, Str key) {
  if (!m->n_slots) return NULL;
  uint32_t s = *map_slot(m, key);
  return s ? m->entries.data[s - 1].value : NULL;
}

bool map_has(const Map *m, Str key) { return m->n_slots && *map_slot(m, key) != 0; }

void map_put(Map *m, Str key, void *value) {
  if (m->entries.n * 2 >= m->n_slots) {
    m->n_slots = m->n_slots ? m->n_slots * 2 : 16;
    m->slots = NEW_ARRAY(m->arena, uint32_t, m->n_slots);
    for (size_t i = 0; i < m->entries.n; i++) *map_slot(m, m->entries.data[i].key) = (uint32_t)i + 1;
  }
  uint32_t *s = map_slot(m, key);
  if (*s) {
    m->entries.data[*s - 1].value = value;
    return;
  }
  vec_push(m->arena, m->entries, ((MapEntry){key, value}));
  *s = (uint32_t)m->entries.n;
}

/* ---- StrBuf ---- */
StrBuf sb_new(Arena *a) { return (StrBuf){.arena = a}; }

static void sb_reserve(StrBuf *b, size_t n) {
  if (n < b->cap - b->len) return;
  size_t cap = b->cap ? b->cap : 32;
  while (cap - b->len <= n) {
    if (!size_mul(cap, 2, &cap)) door_leave(arena_door(b->arena), DOOR_MEMORY, "out of memory (text)");
  }
  char *p = arena_array(b->arena, cap, 1);
  if (b->len) memcpy(p, b->data, b->len);
  b->data = p;
  b->cap = cap;
}

void sb_put(StrBuf *b, const char *p, size_t n) {
  sb_reserve(b, n);
  if (n) memcpy(b->data + b->len, p, n);
  b->len += n;
  b->data[b->len] = 0;
}

void sb_puts(StrBuf *b, const char *s) { sb_put(b, s, strlen(s)); }
void sb_putc(StrBuf *b, char c) { sb_put(b, &c, 1); }
void sb_str(StrBuf *b, Str s) { sb_put(b, s.ptr, s.len); }

void sb_vprintf(StrBuf *b, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0) return;
  sb_reserve(b, (size_t)n);
  (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
  b->len += (size_t)n;
}

void sb_printf(StrBuf *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  sb_vprintf(b, fmt, ap);
  va_end(ap);
}

Str sb_view(const StrBuf *b) { return (Str){b->data ? b->data : "", b->len}; }

/* Length of the valid UTF-8 sequence of more than one byte at p (RFC 3629), 0 if there is none. */
static size_t utf8_multibyte(const unsigned char *p, size_t n) {
  size_t len = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
  if (!len || len > n) return 0;
  for (size_t i = 1; i < len; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (p[0] == 0xc2 && p[1] < 0xa0) return 0; /* C1 control characters */
  if (p[0] == 0xe0 && p[1] < 0xa0) return 0;
  if (p[0] == 0xed && p[1] > 0x9f) return 0;
  if (p[0] == 0xe2 && p[1] == 0x80 && ((p[2] >= 0x8b && p[2] <= 0x8f) || (p[2] >= 0xa8 && p[2] <= 0xae))) return 0;
  if (p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9) return 0; /* these and the above turn text around */
  if (p[0] == 0xf0 && p[1] < 0x90) return 0;
  if (p[0] == 0xf4 && p[1] > 0x8f) return 0;
  return len;
}

void sb_escaped(StrBuf *b, Str s, size_t max) {
  const unsigned char *p = (const unsigned char *)s.ptr;
  for (size_t i = 0; i < s.len;) {
    if (i >= max) {
      sb_puts(b, "...");
      return;
    }
    size_t multi = utf8_multibyte(p + i, s.len - i);
    if (multi) {
      sb_put(b, s.ptr + i, multi);
      i += multi;
      continue;
    }
    unsigned char c = p[i++];
    if (c == '"' || c == '\\') sb_printf(b, "\\%c", c);
    else if (c == '\n') sb_puts(b, "\\n");
    else if (c < 0x20 || c >= 0x7f) sb_printf(b, "\\x%02x", c);
    else sb_putc(b, (char)c);
  }
}

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool str_unescape(Arena *a, Str text, Str *ret, size_t *ret_used) {
  StrBuf b = sb_new(a);
  for (size_t i = 0; i < text.len; i++) {
    char c = text.ptr[i];
    if (c == '"') {
      *ret = b.len ? sb_view(&b) : (Str){"", 0};
      *ret_used = i + 1;
      return true;
    }
    if (c == '\\') {
      if (++i == text.len) return false;
      c = text.ptr[i];
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x') {
        const int high = i + 2 < text.len ? hex_digit(text.ptr[i + 1]) : -1, low = high >= 0 ? hex_digit(text.ptr[i + 2]) : -1;
        if (low < 0) return false;
        c = (char)(high * 16 + low);
        i += 2;
      } else if (c != '"' && c != '\\') {
        return false;
      }
    }
    sb_putc(&b, c);
  }
  return false;
}
