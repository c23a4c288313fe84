/* SPDX-License-Identifier: MIT-0 */
/* What castnet_check.c does otherwise where the models run on a GPU: its memory is managed memory, which both sides reach; a
 * call gets its weights first, and is waited for. */
#include <cuda_runtime.h>

#define CHECK_DEVICE 1

static void *memory_new(size_t n) {
  void *p = NULL;
  return cudaMallocManaged(&p, n, cudaMemAttachGlobal) == cudaSuccess ? p : NULL;
}

static void memory_free(void *p) {
  if (p != NULL) (void)cudaFree(p);
}

struct check_device {
  int (*init)(void *weights, size_t size, const castnet_env *env);
  int (*run)(const void *in, void *out, void *ws, size_t ws_size, const castnet_env *env);
  int (*status)(const void *ws);
  size_t weights;
};

static int check_device_run(const struct check_device *d, const void *in, void *out, void *ws, size_t ws_size, const castnet_env *env) {
  castnet_env e = *env;
  void *weights = memory_new(d->weights + 64);
  int status = weights == NULL ? CASTNET_ERR_DEVICE : d->init(weights, d->weights, env);
  e.weights = weights;
  e.weights_size = d->weights;
  if (status == CASTNET_OK) status = d->run(in, out, ws, ws_size, &e);
  if (cudaDeviceSynchronize() != cudaSuccess) status = CASTNET_ERR_DEVICE;
  if (status == CASTNET_OK) status = d->status(ws);
  memory_free(weights);
  return status;
}
