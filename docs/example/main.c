/* Says what kind of file each argument is: a program around the code that castnet made of filetype.onnx. */
#include <stdio.h>
#include <stdlib.h>

#include "filetype.h"
#include "labels.h"

enum { HALF = 1024, BLOCK = 4096, PAD = 256, CLASSES = 214 };

static int is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The model's input: the first kilobyte without leading blanks, padded at its end, then the last one without trailing
 * blanks, padded at its front. */
static void features(const unsigned char *first, size_t n_first, const unsigned char *last, size_t n_last, int32_t *x) {
  size_t skip = 0;
  while (skip < n_first && is_blank(first[skip])) skip++;
  while (n_last > 0 && is_blank(last[n_last - 1])) n_last--;
  for (size_t i = 0; i < HALF; i++) x[i] = skip + i < n_first ? first[skip + i] : PAD;
  for (size_t i = 0; i < HALF; i++) x[2 * HALF - 1 - i] = i < n_last ? last[n_last - 1 - i] : PAD;
}

static int read_features(const char *path, int32_t *x) {
  static unsigned char first[BLOCK], last[BLOCK];
  FILE *f = fopen(path, "rb");
  if (f == NULL) return 0;
  size_t n_first = fread(first, 1, BLOCK, f);
  long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  long from = size > BLOCK ? size - BLOCK : 0;
  int ok = size >= 0 && fseek(f, from, SEEK_SET) == 0;
  size_t n_last = ok ? fread(last, 1, BLOCK, f) : 0;
  (void)fclose(f);
  features(first, n_first, last, n_last, x);
  return ok;
}

int main(int argc, char **argv) {
  static int32_t x[2 * HALF];
  static float scores[CLASSES];
  void *ws = aligned_alloc(filetype_WORKSPACE_ALIGN, (filetype_WORKSPACE_SIZE + 63) / 64 * 64);
  int status = ws == NULL;
  for (int i = 1; i < argc && ws != NULL; i++) {
    filetype_inputs in = {x};
    filetype_outputs out = {scores, 0};
    int best = 0, err = read_features(argv[i], x) ? filetype_run(&in, &out, ws, filetype_WORKSPACE_SIZE, NULL) : -1;
    if (err != CASTNET_OK) {
      (void)fprintf(stderr, err < 0 ? "%s: cannot be read\n" : "%s: error %d\n", argv[i], err);
      status = 1;
      continue;
    }
    for (int k = 1; k < CLASSES; k++)
      if (scores[k] > scores[best]) best = k;
    (void)printf("%s: %s (%.1f %%)\n", argv[i], labels[best][1], 100.0 * (double)scores[best]);
  }
  free(ws);
  return status;
}
