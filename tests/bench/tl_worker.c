/*
 * tl_worker.c - times code that tl2cgen made of a tree ensemble.
 *
 * usage: tl_worker LIBRARY INPUTS OUTPUTS
 *
 * The library is the generated code built as a shared one (tests/bench/tree_peer.py); rows are handed over as its
 * own predictor does, which copies their features into the entries that the code reads.
 *
 * build: cc -O2 tl_worker.c -o tl_worker -ldl -lm
 */
#include "worker.h"

#include <dlfcn.h>

union entry { /* as the generated header has it, for thresholds of f32 */
  int missing;
  float fvalue;
  int qvalue;
};

static struct worker_input in;
static size_t rows, features;
static union entry *entries;
static float *out;
static void (*predict)(union entry *, int, float *);

static void run(void) {
  const float *x = in.data;
  for (size_t r = 0; r < rows; r++, x += features) {
    for (size_t f = 0; f < features; f++) entries[f].fvalue = x[f];
    out[r] = 0;
    predict(entries, 1, &out[r]);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) worker_die("tl2cgen", "usage", "tl_worker LIBRARY INPUTS OUTPUTS");
  const double start = worker_now();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) worker_die("tl2cgen", argv[1], dlerror());
  *(void **)&predict = dlsym(library, "predict");
  if (!predict) worker_die("tl2cgen", argv[1], "predict is missing");

  struct worker_file f = worker_open("tl2cgen", argv[2], "rb");
  if (worker_take(&f) != 1) worker_die("tl2cgen", argv[2], "not one input");
  in = worker_read_input(&f);
  fclose(f.file);
  if (in.rank != 2 || in.type != 1) worker_die("tl2cgen", in.name, "not rows of floats");
  rows = (size_t)in.dims[0];
  features = (size_t)in.dims[1];
  f = worker_open("tl2cgen", argv[3], "wb");
  entries = worker_allocate(&f, features * sizeof *entries);
  out = worker_allocate(&f, rows * sizeof *out);
  run();
  const int64_t dims[2] = {in.dims[0], 1};
  worker_put_shape(&f, dims, 2);
  worker_put_bytes(&f, out, rows * sizeof *out);
  worker_close(&f);
  return worker_serve(run, worker_now() - start);
}
