/*
 * ov_worker.c - times OpenVINO through its C interface.
 *
 * usage: ov_worker LIBRARY MODEL THREADS f32|bf16|default INPUTS OUTPUTS
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
  int64_t rank;
  int64_t *dims;
} OvShape;
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
  X(compiled_model_outputs_size, int, (const OvCompiled *, size_t *))                                                  \
  X(infer_request_get_tensor, int, (const OvRequest *, const char *, OvTensor **))                                     \
  X(infer_request_get_output_tensor_by_index, int, (const OvRequest *, size_t, OvTensor **))                           \
  X(infer_request_infer, int, (OvRequest *))                                                                           \
  X(tensor_get_element_type, int, (const OvTensor *, int *))                                                           \
  X(tensor_get_byte_size, int, (const OvTensor *, size_t *))                                                           \
  X(tensor_get_shape, int, (const OvTensor *, OvShape *))                                                              \
  X(tensor_set_shape, int, (OvTensor *, OvShape))                                                                      \
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

/* As TensorProto.DataType; 0: none of those that a worker takes. */
static int type_of_openvino(int code) {
  static const int types[] = {[1] = 9, [2] = 16, [3] = 10, [4] = 1, [5] = 11, [7] = 3, [8] = 5, [9] = 6, [10] = 7, [16] = 2, [17] = 4, [18] = 12, [19] = 13};
  return code >= 0 && (size_t)code < sizeof types / sizeof *types ? types[code] : 0;
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

static int element_type(const OvTensor *tensor) {
  int code;
  CHECK(ov.tensor_get_element_type(tensor, &code));
  return type_of_openvino(code);
}

static void fill_input(const struct worker_input *in) {
  OvTensor *tensor;
  void *data;
  CHECK(ov.infer_request_get_tensor(request, in->name, &tensor));
  if (element_type(tensor) != in->type) worker_die("openvino", in->name, "element type not supported");
  CHECK(ov.tensor_set_shape(tensor, (OvShape){(int64_t)in->rank, (int64_t *)in->dims}));
  CHECK(ov.tensor_data(tensor, &data));
  memcpy(data, in->data, in->bytes);
  if (worker_turns.to == in->data) worker_turns.to = data;
}

static void fill_inputs(const char *path) {
  const struct worker_file f = worker_open("openvino", path, "rb");
  for (uint64_t n = worker_take(&f); n > 0; n--) {
    const struct worker_input in = worker_read_input(&f);
    fill_input(&in);
  }
  worker_close(&f);
}

static void write_outputs(const OvCompiled *compiled, const char *path) {
  const struct worker_file f = worker_open("openvino", path, "wb");
  size_t n_outputs;
  CHECK(ov.compiled_model_outputs_size(compiled, &n_outputs));
  for (size_t i = 0; i < n_outputs; i++) {
    OvTensor *tensor;
    OvShape shape;
    size_t bytes;
    void *data;
    CHECK(ov.infer_request_get_output_tensor_by_index(request, i, &tensor));
    if (!element_type(tensor)) worker_die("openvino", "output", "element type not supported");
    CHECK(ov.tensor_get_shape(tensor, &shape));
    CHECK(ov.tensor_get_byte_size(tensor, &bytes));
    CHECK(ov.tensor_data(tensor, &data));
    worker_put_shape(&f, shape.dims, (size_t)shape.rank);
    worker_put_bytes(&f, data, bytes);
  }
  worker_close(&f);
}

static void run(void) { CHECK(ov.infer_request_infer(request)); }

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s LIBRARY MODEL THREADS f32|bf16|default INPUTS OUTPUTS\n", argv[0]);
    return 2;
  }
  load_library(argv[1]);

  double start = worker_now();
  OvCompiled *compiled = compile_model(argv[2], argv[3], argv[4]);
  double load_seconds = worker_now() - start;

  fill_inputs(argv[5]);
  run();
  write_outputs(compiled, argv[6]);
  return worker_serve(run, load_seconds);
}
