/*
 * ov_worker.c - times OpenVINO through its C interface.
 *
 * usage: ov_worker LIBRARY MODEL THREADS f32|bf16|default
 *
 * The few prototypes needed are declared here, so that building needs no header
 * of OpenVINO and one binary serves several versions. "default" leaves the
 * precision to OpenVINO, which takes bf16 on processors with AMX or AVX-512
 * BF16: faster, less exact.
 *
 * build: cc -O2 ov_worker.c -o ov_worker -ldl -lm
 */
#include "worker.h"

#include <dlfcn.h>

typedef struct OvCore OvCore;
typedef struct OvModel OvModel;
typedef struct OvCompiled OvCompiled;
typedef struct OvRequest OvRequest;
typedef struct OvTensor OvTensor;
typedef struct {
  const char *build_number; /* "2026.4.1-..." */
  const char *description;
} OvVersion;

/* Exported name without its "ov_", result, arguments. */
#define OV_FUNCTIONS(X)                                                                                                \
  X(get_openvino_version, int, (OvVersion *))                                                                          \
  X(get_error_info, const char *, (int))                                                                               \
  X(core_create, int, (OvCore **))                                                                                     \
  X(core_read_model, int, (const OvCore *, const char *, const char *, OvModel **))                                    \
  X(core_compile_model, int,                                                                                           \
    (const OvCore *, const OvModel *, const char *device, size_t n_strings, OvCompiled **, ...))                       \
  X(compiled_model_create_infer_request, int, (const OvCompiled *, OvRequest **))                                      \
  X(compiled_model_inputs_size, int, (const OvCompiled *, size_t *))                                                   \
  X(compiled_model_outputs_size, int, (const OvCompiled *, size_t *))                                                  \
  X(infer_request_get_input_tensor_by_index, int, (const OvRequest *, size_t, OvTensor **))                            \
  X(infer_request_get_output_tensor_by_index, int, (const OvRequest *, size_t, OvTensor **))                           \
  X(infer_request_infer, int, (OvRequest *))                                                                           \
  X(tensor_get_element_type, int, (const OvTensor *, int *))                                                           \
  X(tensor_get_size, int, (const OvTensor *, size_t *))                                                                \
  X(tensor_data, int, (const OvTensor *, void **))

#define FIELD(name, result, arguments) result(*name) arguments;
static struct { OV_FUNCTIONS(FIELD) } ov;

enum { OLDEST_YEAR = 2025 }; /* the codes of element types moved by one in that year */

static OvRequest *request;

static void check(int status, const char *what) {
  if (status) worker_die("openvino", what, ov.get_error_info(status));
}
#define CHECK(call) check((call), #call)

/* *ret_function points to a function pointer; POSIX's way around ISO C. */
static void load_function(void *library, const char *name, void *ret_function) {
  void *symbol = dlsym(library, name);
  if (!symbol) worker_die("openvino", name, "missing in the library");
  memcpy(ret_function, &symbol, sizeof symbol);
}

static void load_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) worker_die("openvino", path, dlerror());
#define LOAD(name, result, arguments) load_function(library, "ov_" #name, &ov.name);
  OV_FUNCTIONS(LOAD)

  OvVersion version;
  CHECK(ov.get_openvino_version(&version));
  if (atoi(version.build_number) < OLDEST_YEAR)
    worker_die("openvino", version.build_number, "too old, 2025.0 or newer is needed");
}

static enum worker_type type_of_openvino(int code) {
  switch (code) {
  case 1: return WORKER_BOOL;
  case 4: return WORKER_F32;
  case 5: return WORKER_F64;
  case 7: return WORKER_I8;
  case 9: return WORKER_I32;
  case 10: return WORKER_I64;
  case 16: return WORKER_U8;
  default: return WORKER_UNSUPPORTED;
  }
}

static OvCompiled *compile_model(const char *path, const char *threads, const char *precision) {
  OvCore *core;
  OvModel *model;
  OvCompiled *compiled;
  CHECK(ov.core_create(&core));
  CHECK(ov.core_read_model(core, path, NULL, &model));
  if (strcmp(precision, "default") == 0)
    CHECK(ov.core_compile_model(core, model, "CPU", 4, &compiled, "PERFORMANCE_HINT", "LATENCY",
                                "INFERENCE_NUM_THREADS", threads));
  else
    CHECK(ov.core_compile_model(core, model, "CPU", 6, &compiled, "PERFORMANCE_HINT", "LATENCY",
                                "INFERENCE_NUM_THREADS", threads, "INFERENCE_PRECISION_HINT", precision));
  CHECK(ov.compiled_model_create_infer_request(compiled, &request));
  return compiled;
}

static void describe(const OvTensor *tensor, enum worker_type *ret_type, void **ret_data, size_t *ret_count) {
  int code;
  CHECK(ov.tensor_get_element_type(tensor, &code));
  CHECK(ov.tensor_get_size(tensor, ret_count));
  CHECK(ov.tensor_data(tensor, ret_data));
  *ret_type = type_of_openvino(code);
}

static void fill_inputs(const OvCompiled *compiled) {
  size_t n_inputs;
  CHECK(ov.compiled_model_inputs_size(compiled, &n_inputs));
  for (size_t i = 0; i < n_inputs; i++) {
    OvTensor *tensor;
    enum worker_type type;
    void *data;
    size_t count;
    CHECK(ov.infer_request_get_input_tensor_by_index(request, i, &tensor));
    describe(tensor, &type, &data, &count);
    worker_fill(type, data, count);
  }
}

static double sum_outputs(const OvCompiled *compiled) {
  double sum = 0.0;
  size_t n_outputs;
  CHECK(ov.compiled_model_outputs_size(compiled, &n_outputs));
  for (size_t i = 0; i < n_outputs; i++) {
    OvTensor *tensor;
    enum worker_type type;
    void *data;
    size_t count;
    CHECK(ov.infer_request_get_output_tensor_by_index(request, i, &tensor));
    describe(tensor, &type, &data, &count);
    sum += worker_checksum(type, data, count);
  }
  return sum;
}

static void run(void) { CHECK(ov.infer_request_infer(request)); }

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s LIBRARY MODEL THREADS f32|bf16|default\n", argv[0]);
    return 2;
  }
  load_library(argv[1]);

  double start = worker_now();
  OvCompiled *compiled = compile_model(argv[2], argv[3], argv[4]);
  double load_seconds = worker_now() - start;

  fill_inputs(compiled);
  run();
  return worker_serve(run, load_seconds, sum_outputs(compiled));
}
