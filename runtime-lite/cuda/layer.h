/* SPDX-License-Identifier: MIT-0 */
/* What generated CUDA stands on: launches, the status word, the weights' upload. Functions of the rest of runtime-lite become
 * `__host__ __device__` when they are bundled.
 *
 * All kernels have blocks of one dimension and CN_CUDA_THREADS threads. Nothing but what stands here touches the runtime API. */
#ifndef CN_CUDA_LAYER_H
#define CN_CUDA_LAYER_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "base.h"
#include "castnet_abi.h"

#define CN_INLINE static inline __host__ __device__

#define CN_UNROLL(n) CN_PRAGMA(unroll)

#define CN_CUDA_THREADS 256

/* The thread's number in its launch. */
static inline __device__ int64_t cn_cuda_thread(void) { return (int64_t)blockIdx.x * CN_CUDA_THREADS + (int64_t)threadIdx.x; }

/* The error that N_status tells; of several the greatest, whatever the order. */
static inline __device__ void cn_cuda_fail(int *status, int error) { (void)atomicMax(status, error); }

/* Blocks for n threads. */
static inline int64_t cn_cuda_blocks(int64_t n) { return n / CN_CUDA_THREADS + (n % CN_CUDA_THREADS != 0); }

/* Puts a kernel into the stream. A launch of no blocks is none. */
template <class... P, class... A>
static inline int cn_cuda_launch(cudaStream_t stream, void (*kernel)(P...), int64_t blocks, A... args) {
  cudaLaunchConfig_t config = {};
  if (blocks <= 0) return CASTNET_OK;
  if (blocks > INT32_MAX) return CASTNET_ERR_DIM;
  config.gridDim = dim3((unsigned)blocks, 1, 1);
  config.blockDim = dim3(CN_CUDA_THREADS, 1, 1);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...) == cudaSuccess ? CASTNET_OK : CASTNET_ERR_DEVICE;
}

/* Clears the status word, in the stream. */
static inline int cn_cuda_begin(int *status, cudaStream_t stream) {
  return cudaMemsetAsync(status, 0, sizeof *status, stream) == cudaSuccess ? CASTNET_OK : CASTNET_ERR_DEVICE;
}

/* The status word at the head of a workspace, once the call's work is done. */
static inline int cn_cuda_status(const void *ws) {
  int status = CASTNET_OK;
  return cudaMemcpy(&status, ws, sizeof status, cudaMemcpyDeviceToHost) == cudaSuccess ? status : CASTNET_ERR_DEVICE;
}

/* Whether device memory may hold the weights. */
static inline int cn_cuda_check_weights(const void *p, size_t given, size_t size) {
  if (p == NULL || given < size) return CASTNET_ERR_WEIGHTS;
  return (uintptr_t)p % 64 == 0 ? CASTNET_OK : CASTNET_ERR_ALIGN;
}

/* Copies `size` bytes of weights to the device, in the stream. */
static inline int cn_cuda_upload(void *to, size_t given, const void *from, size_t size, void *stream) {
  const int error = cn_cuda_check_weights(to, given, size);
  if (error != CASTNET_OK) return error;
  return cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, (cudaStream_t)stream) == cudaSuccess ? CASTNET_OK : CASTNET_ERR_DEVICE;
}

#endif
