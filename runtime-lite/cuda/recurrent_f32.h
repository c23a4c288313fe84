/* SPDX-License-Identifier: MIT-0 */
/* Recurrent layers, f32, on a GPU: a block runs one sequence of one direction through all its steps, a thread some of the hidden
 * units. The arithmetic is that of kernels/recurrent_f32.h. */
#ifndef CN_CUDA_RECURRENT_F32_H
#define CN_CUDA_RECURRENT_F32_H

#include "cuda/layer.h"

/* Gates in ONNX's order: RNN h; GRU z r h; LSTM i o f c. Pointers may be NULL but for x and r. */
typedef struct cn_cuda_recurrent_f32_args {
  size_t steps, batch, hidden, gates, dirs; /* gates: 1 RNN, 3 GRU, 4 LSTM */
  int reverse, linear_before_reset, input_forget;
  float clip;                 /* of the gates, 0: none */
  const float *x;             /* [steps][batch][dirs][gates * hidden]: the gates' input part, biases included */
  const float *r;             /* [dirs][gates * hidden][hidden] */
  const float *r_bias;        /* GRU with linear_before_reset: [dirs][hidden], of gate h */
  const int32_t *lengths;     /* [batch] */
  const float *h0, *c0;       /* [dirs][batch][hidden] */
  const float *peephole;      /* LSTM: [dirs][3][hidden] i o f */
  float *y;                   /* [steps][dirs][batch][hidden] */
  float *y_h, *y_c;           /* [dirs][batch][hidden] */
} cn_cuda_recurrent_f32_args;

/* One sequence: its operands, and its part of the scratch. */
typedef struct cn_cuda_sequence_f32 {
  const float *x, *r, *r_bias, *peephole;
  float *v, *reset, *h, *c; /* [gates * hidden], [hidden] each */
} cn_cuda_sequence_f32;

static inline __device__ float cn_cuda_dot_f32(const float *a, const float *b, size_t n) {
  float sum = 0.0f;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static inline __device__ float cn_cuda_clip_f32(float clip, float v) {
  return clip > 0.0f ? (v > clip ? clip : v < -clip ? -clip : v) : v;
}

/* defines: cn_cuda_lstm_f32
 * Unit i, its gates complete in v but for the peepholes. */
template <float (*F)(float), float (*G)(float), float (*A)(float)>
static inline __device__ void cn_cuda_lstm_f32(const cn_cuda_recurrent_f32_args *a, const cn_cuda_sequence_f32 *q, size_t i) {
  const size_t n = a->hidden;
  const float *p = q->peephole, c = q->c[i];
  const float in = F(cn_cuda_clip_f32(a->clip, q->v[i] + (p ? p[i] * c : 0.0f)));
  const float gate = F(cn_cuda_clip_f32(a->clip, q->v[2 * n + i] + (p ? p[2 * n + i] * c : 0.0f)));
  const float cell = G(cn_cuda_clip_f32(a->clip, q->v[3 * n + i]));
  const float next = (a->input_forget ? 1.0f - in : gate) * c + in * cell;
  const float out = F(cn_cuda_clip_f32(a->clip, q->v[n + i] + (p ? p[n + i] * next : 0.0f)));
  q->c[i] = next;
  q->h[i] = A(next) * out;
}

/* defines: cn_cuda_gru_f32
 * All units of a step, gates z and r complete in v but for their activation. */
template <float (*F)(float), float (*G)(float)>
static inline __device__ void cn_cuda_gru_f32(const cn_cuda_recurrent_f32_args *a, const cn_cuda_sequence_f32 *q, const float *x) {
  const size_t n = a->hidden;
  for (size_t i = threadIdx.x; i < n; i += CN_CUDA_THREADS) {
    const float inner = a->linear_before_reset ? cn_cuda_dot_f32(q->h, q->r + (2 * n + i) * n, n) + (q->r_bias ? q->r_bias[i] : 0.0f) : q->h[i];
    q->reset[i] = F(cn_cuda_clip_f32(a->clip, q->v[n + i])) * inner;
  }
  __syncthreads();
  for (size_t i = threadIdx.x; i < n; i += CN_CUDA_THREADS) {
    const float z = F(cn_cuda_clip_f32(a->clip, q->v[i]));
    const float inner = a->linear_before_reset ? q->reset[i] : cn_cuda_dot_f32(q->reset, q->r + (2 * n + i) * n, n);
    const float next = G(cn_cuda_clip_f32(a->clip, x[2 * n + i] + inner));
    q->h[i] = (1.0f - z) * next + z * q->h[i];
  }
}

/* defines: cn_cuda_recurrent_step_f32
 * One step of a sequence. All threads of the block call it; none is ahead when it returns. */
template <float (*F)(float), float (*G)(float), float (*A)(float)>
static inline __device__ void cn_cuda_recurrent_step_f32(const cn_cuda_recurrent_f32_args *a, const cn_cuda_sequence_f32 *q, const float *x) {
  const size_t n = a->hidden, ready = a->gates == 3 ? 2 * n : a->gates * n;
  for (size_t j = threadIdx.x; j < ready; j += CN_CUDA_THREADS) q->v[j] = cn_cuda_dot_f32(q->h, q->r + j * n, n) + x[j];
  __syncthreads();
  if (a->gates == 3) {
    cn_cuda_gru_f32<F, G>(a, q, x);
  } else {
    for (size_t i = threadIdx.x; i < n; i += CN_CUDA_THREADS) {
      if (a->gates == 4) cn_cuda_lstm_f32<F, G, A>(a, q, i);
      else q->h[i] = F(cn_cuda_clip_f32(a->clip, q->v[i]));
    }
  }
  __syncthreads();
}

/* defines: cn_cuda_recurrent_f32
 * Sequence b of direction d; scratch: (gates + 3) * hidden floats a sequence and direction. */
template <float (*F)(float), float (*G)(float), float (*A)(float)>
static inline __device__ void cn_cuda_recurrent_f32(const cn_cuda_recurrent_f32_args *a, size_t b, size_t d, float *scratch) {
  const size_t n = a->hidden, gn = a->gates * n, state = (d * a->batch + b) * n;
  float *v = scratch + (d * a->batch + b) * (gn + 3 * n);
  const cn_cuda_sequence_f32 q = {a->x + d * gn, a->r + d * gn * n, a->r_bias ? a->r_bias + d * n : NULL,
                                  a->peephole ? a->peephole + d * 3 * n : NULL, v, v + gn, v + gn + n, v + gn + 2 * n};
  for (size_t i = threadIdx.x; i < n; i += CN_CUDA_THREADS) {
    q.h[i] = a->h0 ? a->h0[state + i] : 0.0f;
    q.c[i] = a->c0 ? a->c0[state + i] : 0.0f;
  }
  __syncthreads();
  for (size_t s = 0; s < a->steps; s++) {
    const size_t t = a->reverse || d == 1 ? a->steps - 1 - s : s;
    const int active = !a->lengths || (int64_t)t < (int64_t)a->lengths[b];
    if (active) cn_cuda_recurrent_step_f32<F, G, A>(a, &q, q.x + (t * a->batch + b) * a->dirs * gn);
    for (size_t i = threadIdx.x; a->y && i < n; i += CN_CUDA_THREADS) a->y[((t * a->dirs + d) * a->batch + b) * n + i] = active ? q.h[i] : 0.0f;
  }
  for (size_t i = threadIdx.x; i < n; i += CN_CUDA_THREADS) {
    if (a->y_h) a->y_h[state + i] = q.h[i];
    if (a->y_c) a->y_c[state + i] = q.c[i];
  }
}

#endif
