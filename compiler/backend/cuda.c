/* CUDA C++ as a language: the frame of N.cu where it is not that of N.c. */
#include "backend/language.h"

#include <inttypes.h>

enum { STATUS_BYTES = WEIGHTS_ALIGN }; /* the status word at the workspace's head, and what keeps the rest aligned */

/* Functions that N_run alone calls stay on the host; cuda/ says it itself. */
static bool is_qualified(const char *file) {
  return strcmp(file, "call.h") == 0 || strcmp(file, "weights.h") == 0 || strncmp(file, "cuda/", 5) == 0;
}

/* Items of runtime-lite begin their functions and tables with `static` at a line's start. */
static void cuda_item(StrBuf *b, const BundleChunk *item) {
  static const char function[] = "static inline ", table[] = "static const ";
  const char *at = item->text;
  if (is_qualified(item->file)) {
    sb_puts(b, at);
    return;
  }
  for (const char *end; *at; at = end) {
    end = strchr(at, '\n');
    end = end ? end + 1 : at + strlen(at);
    if (strncmp(at, function, sizeof function - 1) == 0) {
      sb_puts(b, "static inline __host__ __device__ ");
      at += sizeof function - 1;
    } else if (strncmp(at, table, sizeof table - 1) == 0) {
      sb_puts(b, "static __device__ const ");
      at += sizeof table - 1;
    }
    sb_put(b, at, (size_t)(end - at));
  }
}

static void cuda_header(const Frame *f, StrBuf *b) {
  int n = (int)f->name.len;
  const char *s = f->name.ptr;
  sb_printf(b, "\n/* Bytes of the weights in device memory; 0: none. */\n#define %.*s_WEIGHTS_SIZE %zu\n\n", n, s, f->common->weights.n ? f->common->weights_size : 0);
  sb_printf(b, "/* Copies the weights to device memory of that size, aligned to 64 bytes, in env->stream; once, for any number of calls, for\n"
               " * which env->weights is that memory, and env->weights_size its size. */\n");
  sb_printf(b, "int %.*s_init(void *weights, size_t size, const castnet_env *env);\n\n", n, s);
  sb_printf(b, "/* Of the last call with this workspace, once the device has finished it: CASTNET_OK, or CASTNET_ERR_INDEX, which no call\n"
               " * can return itself. */\n");
  sb_printf(b, "int %.*s_status(const void *ws);\n\n", n, s);
  sb_printf(b, "/* All pointers of inputs, outputs and workspace are to device memory. %.*s_run puts its work into env->stream (cudaStream_t) and\n"
               " * returns: it neither waits nor allocates. */\n", n, s);
}

static void cuda_weights(Frame *f, StrBuf *b) {
  if (f->common->weights.n == 0) return;
  sb_puts(b, "extern \"C\" {\n");
  language_c_declare_weights(f, b);
  sb_puts(b, "}\n");
}

static void print_init(const Frame *f, StrBuf *b) {
  if (f->common->weights.n == 0) {
    sb_puts(b, "  (void)weights;\n  (void)size;\n  (void)env;\n  return CASTNET_OK;\n");
    return;
  }
  sb_puts(b, "  castnet_env e;\n  cn_env_read(&e, env);\n");
  language_c_check_weights(f, b);
  sb_puts(b, "  return cn_cuda_upload(weights, size, ");
  if (f->opt->weights == WEIGHTS_BIN) sb_puts(b, "e.weights");
  else sb_printf(b, "%.*s_WEIGHTS", STR_WHOLE(f->name));
  sb_printf(b, ", %zu, e.stream);\n", f->common->weights_size);
}

static void cuda_functions(const Frame *f, StrBuf *b) {
  int n = (int)f->name.len;
  const char *s = f->name.ptr;
  sb_printf(b, "int %.*s_init(void *weights, size_t size, const castnet_env *env) {\n", n, s);
  print_init(f, b);
  sb_printf(b, "}\n\nint %.*s_status(const void *ws) { return cn_cuda_status(ws); }\n", n, s);
}

static void cuda_run_head(const Frame *f, StrBuf *b) {
  if (f->common->weights.n == 0) return;
  sb_printf(b, "  const int error = cn_cuda_check_weights(e.weights, e.weights_size, %.*s_WEIGHTS_SIZE);\n", STR_WHOLE(f->name));
  sb_puts(b, "  if (error != CASTNET_OK) return error;\n");
}

static void cuda_run_weights(const Frame *f, StrBuf *b) {
  (void)f;
  sb_puts(b, "  const unsigned char *const w = (const unsigned char *)e.weights;\n");
}

static void cuda_run_places(const Frame *f, StrBuf *b) {
  (void)f;
  sb_puts(b, "  int *const status = (int *)ws;\n  cudaStream_t stream = (cudaStream_t)e.stream;\n");
  sb_puts(b, "  const int begun = cn_cuda_begin(status, stream);\n  if (begun != CASTNET_OK) return begun;\n");
}

const Language language_cuda = {
    .name = "cuda", .suffix = ".cu", .skeleton = "model.cu.in", .restrict_word = "__restrict__ ", .device = "cuda",
    .bad_index = "{ cn_cuda_fail(status, CASTNET_ERR_INDEX); return; }", .head = STATUS_BYTES, .steps = cuda_steps, .item = cuda_item,
    .header = cuda_header, .weights = cuda_weights, .functions = cuda_functions, .run_head = cuda_run_head, .run_weights = cuda_run_weights,
    .run_places = cuda_run_places,
};
