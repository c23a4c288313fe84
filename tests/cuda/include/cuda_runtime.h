/* The part of the CUDA runtime that generated code and check_cuda.h name, on the CPU: the same text of kernels is compiled as
 * plain C++ and run block after block.
 *
 * Threads of a block run one after the other on a stack of their own, from barrier to barrier: one that reaches __syncthreads()
 * is put aside, and goes on when all have reached it. Between barriers the order of threads is nobody's to rely on, so it can be
 * chosen (CASTNET_EMULATION_ORDER=forward, backward, shuffled): results that depend on it show a race. A barrier that some
 * threads of a block reach while others have ended stops the program, as does a launch of a size that no GPU takes.
 * Managed and device memory is malloc's, filled with a pattern; streams finish at once. */
#ifndef CASTNET_EMULATED_CUDA_RUNTIME_H
#define CASTNET_EMULATED_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9 } cudaError_t;
typedef enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 } cudaMemcpyKind;
typedef struct emulated_stream *cudaStream_t;
#define cudaMemAttachGlobal 1u

static inline cudaError_t cudaMallocManaged(void **p, size_t n, unsigned flags) {
  (void)flags;
  *p = aligned_alloc(256, (n + 255) / 256 * 256 + 256);
  if (*p != NULL) memset(*p, 0xCB, n);
  return *p != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *p) {
  free(p);
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) {
  (void)kind;
  memcpy(to, from, n);
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy(to, from, n, kind);
}

static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t stream) {
  (void)stream;
  memset(p, value, n);
  return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

#ifdef __cplusplus
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __host__
#define __device__
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
};

namespace emulated {

constexpr size_t stack_bytes = 256 * 1024;
enum order { forward, backward, shuffled };

struct fibre {
  ucontext_t context;
  std::vector<char> stack;
  dim3 thread;     /* the one that it runs, or ran last */
  bool waiting;    /* at the barrier, not done */
};

/* One block at a time. */
struct machine {
  ucontext_t scheduler;
  std::vector<fibre *> idle, parked, resumed;
  fibre *current = nullptr;
  std::function<void()> body;
  unsigned next = 0, threads = 0, ended = 0;
  order how = forward;
};

inline machine m;
inline dim3 block_index(0, 0, 0), thread_index(0, 0, 0);

[[noreturn]] inline void die(const char *why) {
  (void)fprintf(stderr, "error: emulated GPU: %s\n", why);
  abort();
}

/* Thread number of the i'th to run; 181 has no factor in common with a power of two. */
inline unsigned in_order(unsigned i, unsigned n) {
  if (m.how == backward) return n - 1 - i;
  return m.how == shuffled && (n & (n - 1)) == 0 ? (i * 181 + 77) % n : i;
}

/* A fibre runs thread after thread until one of them reaches a barrier. */
inline void work() {
  for (;;) {
    while (m.next < m.threads) {
      thread_index = m.current->thread = dim3(in_order(m.next++, m.threads), 0, 0);
      m.body();
      m.ended++;
    }
    fibre *self = m.current;
    self->waiting = false;
    swapcontext(&self->context, &m.scheduler);
  }
}

inline fibre *fibre_new() {
  fibre *f = new fibre;
  f->stack.resize(stack_bytes);
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack.data();
  f->context.uc_stack.ss_size = f->stack.size();
  f->context.uc_link = nullptr;
  makecontext(&f->context, work, 0);
  return f;
}

inline void resume(fibre *f) {
  m.current = f;
  f->waiting = true;
  swapcontext(&m.scheduler, &f->context);
  (f->waiting ? m.parked : m.idle).push_back(f);
}

inline void run_block() {
  m.next = m.ended = 0;
  while (m.next < m.threads) {
    if (m.idle.empty()) m.idle.push_back(fibre_new());
    fibre *f = m.idle.back();
    m.idle.pop_back();
    resume(f);
  }
  while (!m.parked.empty()) {
    if (m.ended != 0) die("some threads of a block wait at a barrier that others will not reach");
    m.resumed.swap(m.parked);
    for (fibre *f : m.resumed) {
      thread_index = f->thread;
      resume(f);
    }
    m.resumed.clear();
  }
}

inline void read_order() {
  const char *word = getenv("CASTNET_EMULATION_ORDER");
  m.how = word && strcmp(word, "backward") == 0 ? backward : word && strcmp(word, "shuffled") == 0 ? shuffled : forward;
}

} // namespace emulated

#define blockIdx emulated::block_index
#define threadIdx emulated::thread_index

/* Everything that waits goes on in the order in which it came: after a barrier that is the order chosen again. */
inline void __syncthreads() {
  emulated::fibre *self = emulated::m.current;
  swapcontext(&self->context, &emulated::m.scheduler);
}

inline int atomicMax(int *p, int v) {
  const int old = *p;
  if (v > old) *p = v;
  return old;
}

template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...args) {
  const dim3 g = config->gridDim, b = config->blockDim;
  if (g.x == 0 || g.x > 2147483647u || b.x == 0 || b.x > 1024) return cudaErrorInvalidConfiguration;
  emulated::read_order();
  emulated::m.threads = b.x;
  emulated::m.body = [&] { kernel(args...); };
  for (unsigned i = 0; i < g.x; i++) {
    emulated::block_index = dim3(emulated::m.how == emulated::forward ? i : g.x - 1 - i, 0, 0);
    emulated::run_block();
  }
  return cudaSuccess;
}

#endif
#endif
