/*
 * c_worker.c - times a model as another generator's C code, which is linked in (tests/bench/c_peer.py).
 *
 * usage: c_worker INPUTS OUTPUTS
 */
#include "worker.h"

#include "c_peer.h"

static void **in, **out;

static void run(void) { peer_run(in, out); }

static void read_inputs(const char *path) {
  const struct worker_file f = worker_open("peer", path, "rb");
  if (worker_take(&f) != peer_inputs) worker_die("peer", path, "another number of inputs");
  in = worker_allocate(&f, (peer_inputs + 1) * sizeof *in);
  for (size_t i = 0; i < peer_inputs; i++) in[i] = worker_read_input(&f).data;
  worker_close(&f);
}

static size_t output_bytes(const struct peer_shape *s) {
  size_t n = sizeof(float);
  for (size_t i = 0; i < s->rank; i++) n *= (size_t)s->dims[i];
  return n;
}

static void write_outputs(const char *path) {
  const struct worker_file f = worker_open("peer", path, "wb");
  for (size_t i = 0; i < peer_outputs; i++) {
    worker_put_shape(&f, peer_shapes[i].dims, peer_shapes[i].rank);
    worker_put_bytes(&f, out[i], output_bytes(&peer_shapes[i]));
  }
  worker_close(&f);
}

int main(int argc, char **argv) {
  if (argc != 3) worker_die("peer", "usage", "c_worker INPUTS OUTPUTS");
  const double start = worker_now();
  const struct worker_file memory = {"peer", NULL};
  read_inputs(argv[1]);
  out = worker_allocate(&memory, (peer_outputs + 1) * sizeof *out);
  for (size_t i = 0; i < peer_outputs; i++) out[i] = worker_allocate(&memory, output_bytes(&peer_shapes[i]));
  run();
  write_outputs(argv[2]);
  return worker_serve(run, worker_now() - start);
}
