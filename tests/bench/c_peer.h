/* What tests/bench/c_peer.py writes for c_worker.c, around a model as another generator's C. */
#ifndef C_PEER_H
#define C_PEER_H

#include <stddef.h>
#include <stdint.h>

struct peer_shape {
  size_t rank;
  int64_t dims[16];
};

extern const size_t peer_inputs, peer_outputs;
extern const struct peer_shape peer_shapes[]; /* of the outputs */
void peer_run(void **in, void **out);

#endif
