/* Feeds damaged copies of ONNX files to the reader: any verdict is right, a crash or ten seconds is not. Build with
 * sanitizers to see more (meson setup -Db_sanitize=address,undefined).
 * Usage: mutate SEED COUNT FILE...   A copy that ends the program is left in $TMPDIR/castnet-mutate.onnx. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "frontend/model.h"

static uint64_t rng; /* xorshift64* */

static size_t below(size_t n) {
  rng ^= rng >> 12;
  rng ^= rng << 25;
  rng ^= rng >> 27;
  return n ? (size_t)((rng * 0x2545f4914f6cdd1du) >> 16) % n : 0;
}

typedef struct Bytes {
  unsigned char *p;
  size_t n, cap;
} Bytes;

static void move_range(Bytes *b, size_t to, size_t from, size_t n) {
  if (to + n > b->cap) return;
  memmove(b->p + to, b->p + from, n);
}

static void mutate_once(Bytes *b) {
  static const unsigned char edges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
  if (!b->n) return;
  size_t at = below(b->n), n = below(below(2) ? 8 : 200);
  if (n > b->n - at) n = b->n - at;
  switch (below(7)) {
    case 0: b->p[at] ^= (unsigned char)(1u << below(8)); break;
    case 1: b->p[at] = edges[below(sizeof edges)]; break;
    case 2: memset(b->p + at, edges[below(sizeof edges)], n); break;
    case 3: b->n = at; break;
    case 4: /* a range goes */
      move_range(b, at, at + n, b->n - at - n);
      b->n -= n;
      break;
    case 5: /* a range comes twice */
      if (b->n + n > b->cap) break;
      move_range(b, at + n, at, b->n - at);
      b->n += n;
      break;
    default: move_range(b, below(b->n - n + 1), at, n); break;
  }
}

static bool write_file(const char *path, const Bytes *b) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(b->p, 1, b->n, f) == b->n;
  return f && fclose(f) == 0 && ok;
}

/* Whether the file was taken. */
static bool load(const char *path) {
  Door door;
  Arena *volatile a = NULL;
  bool volatile taken = false;
  if (setjmp(door.env) == 0) {
    a = arena_new(&door, 0);
    Diags d = {.arena = a};
    const OnnxModel *m = onnx_load_model(a, &d, path, NULL);
    for (OnnxTypeKind k = ONNX_TYPE_TENSOR; !m && k <= ONNX_TYPE_OPTIONAL; k++) (void)onnx_load_value(a, &d, path, k);
    StrBuf text = sb_new(a);
    for (size_t i = 0; i < d.list.n; i++) diag_print(&text, &d.list.data[i], false);
    taken = m != NULL;
    if (!m && !diags_any(&d)) door_leave(&door, DOOR_BUG, "refused without a diagnostic");
  } else {
    (void)fprintf(stderr, "%s: %s\n", path, door.text);
    abort();
  }
  arena_free(a);
  return taken;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    (void)fprintf(stderr, "usage: mutate SEED COUNT FILE...\n");
    return 2;
  }
  rng = strtoull(argv[1], NULL, 10) * 2 + 1;
  size_t count = strtoull(argv[2], NULL, 10), n_taken = 0;
  const char *tmp = getenv("TMPDIR");
  char path[512];
  (void)snprintf(path, sizeof path, "%s/castnet-mutate.onnx", tmp && *tmp ? tmp : "/tmp");
  Arena *a = arena_new(NULL, 0);
  Diags d = {.arena = a};
  for (size_t i = 0; i < count; i++) {
    Str file;
    if (!file_map(a, &d, argv[3 + below((size_t)argc - 3)], &file)) return 2;
    Bytes b = {.p = malloc(file.len + 4096), .n = file.len, .cap = file.len + 4096};
    if (!b.p) return 2;
    memcpy(b.p, file.ptr, file.len);
    for (size_t k = 1 + below(3); k > 0; k--) mutate_once(&b);
    if (!write_file(path, &b)) return 2;
    free(b.p);
    (void)alarm(10);
    n_taken += load(path);
  }
  (void)unlink(path);
  printf("%zu damaged files: %zu taken, %zu refused\n", count, n_taken, count - n_taken);
  arena_free(a);
  return 0;
}
