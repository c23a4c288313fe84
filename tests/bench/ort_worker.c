/*
 * ort_worker.c - times ONNX Runtime through its C interface.
 *
 * usage: ort_worker LIBRARY MODEL THREADS
 *
 * The Python wheel holds the shared library but no header. The interface is a
 * table of function pointers whose order never changes, so the few functions
 * needed are declared here and taken by their place in that table.
 *
 * build: cc -O2 ort_worker.c -o ort_worker -ldl -lm
 */
#include "worker.h"

#include <dlfcn.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtOptions OrtOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorInfo OrtTensorInfo;
typedef struct OrtValue OrtValue;

/* Place in the table, name, result, arguments. All belong to API version 1. */
#define ORT_FUNCTIONS(X)                                                                                               \
  X(2, GetErrorMessage, const char *, (const OrtStatus *))                                                             \
  X(3, CreateEnv, OrtStatus *, (int log_level, const char *log_id, OrtEnv **))                                         \
  X(7, CreateSession, OrtStatus *, (const OrtEnv *, const char *, const OrtOptions *, OrtSession **))                  \
  X(9, Run, OrtStatus *,                                                                                               \
    (OrtSession *, const OrtRunOptions *, const char *const *, const OrtValue *const *, size_t, const char *const *,   \
     size_t, OrtValue **))                                                                                             \
  X(10, CreateSessionOptions, OrtStatus *, (OrtOptions **))                                                            \
  X(23, SetSessionGraphOptimizationLevel, OrtStatus *, (OrtOptions *, int))                                            \
  X(24, SetIntraOpNumThreads, OrtStatus *, (OrtOptions *, int))                                                        \
  X(25, SetInterOpNumThreads, OrtStatus *, (OrtOptions *, int))                                                        \
  X(30, SessionGetInputCount, OrtStatus *, (const OrtSession *, size_t *))                                             \
  X(31, SessionGetOutputCount, OrtStatus *, (const OrtSession *, size_t *))                                            \
  X(33, SessionGetInputTypeInfo, OrtStatus *, (const OrtSession *, size_t, OrtTypeInfo **))                            \
  X(36, SessionGetInputName, OrtStatus *, (const OrtSession *, size_t, OrtAllocator *, char **))                       \
  X(37, SessionGetOutputName, OrtStatus *, (const OrtSession *, size_t, OrtAllocator *, char **))                      \
  X(49, CreateTensorWithDataAsOrtValue, OrtStatus *,                                                                   \
    (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))                                \
  X(51, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))                                                      \
  X(55, CastTypeInfoToTensorInfo, OrtStatus *, (const OrtTypeInfo *, const OrtTensorInfo **))                          \
  X(60, GetTensorElementType, OrtStatus *, (const OrtTensorInfo *, int *))                                             \
  X(61, GetDimensionsCount, OrtStatus *, (const OrtTensorInfo *, size_t *))                                            \
  X(62, GetDimensions, OrtStatus *, (const OrtTensorInfo *, int64_t *, size_t))                                        \
  X(64, GetTensorShapeElementCount, OrtStatus *, (const OrtTensorInfo *, size_t *))                                    \
  X(65, GetTensorTypeAndShape, OrtStatus *, (const OrtValue *, OrtTensorInfo **))                                      \
  X(69, CreateCpuMemoryInfo, OrtStatus *, (int allocator, int memory, OrtMemoryInfo **))                               \
  X(78, GetAllocatorWithDefaultOptions, OrtStatus *, (OrtAllocator **))

#define FIELD(slot, name, result, arguments) result(*name) arguments;
static struct { ORT_FUNCTIONS(FIELD) } ort;

typedef void (*AnyFunction)(void);

struct OrtApiBase {
  const AnyFunction *(*get_api)(uint32_t version);
  const char *(*get_version)(void);
};

enum {
  API_VERSION = 1, /* later libraries still grant it */
  LOG_ERRORS = 3,
  OPTIMIZE_ALL = 99,
  DEVICE_ALLOCATOR = 0,
  DEFAULT_MEMORY = 0,
  MAX_TENSORS = 128,
  MAX_RANK = 16
};

static OrtSession *session;
static size_t n_inputs, n_outputs;
static char *input_names[MAX_TENSORS], *output_names[MAX_TENSORS];
static OrtValue *inputs[MAX_TENSORS], *outputs[MAX_TENSORS];

static void check(OrtStatus *status, const char *what) {
  if (status) worker_die("onnxruntime", what, ort.GetErrorMessage(status));
}
#define CHECK(call) check((call), #call)

static void load_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) worker_die("onnxruntime", path, dlerror());

  /* POSIX's way to turn dlsym's object pointer into a function pointer. */
  const struct OrtApiBase *(*get_base)(void);
  *(void **)&get_base = dlsym(library, "OrtGetApiBase");
  if (!get_base) worker_die("onnxruntime", path, "OrtGetApiBase is missing");

  const AnyFunction *table = get_base()->get_api(API_VERSION);
  if (!table) worker_die("onnxruntime", path, "API version refused");
#define LOAD(slot, name, result, arguments) ort.name = (result(*) arguments)table[slot];
  ORT_FUNCTIONS(LOAD)
}

/* ONNX's TensorProto.DataType codes. */
static enum worker_type type_of_onnx(int code) {
  switch (code) {
  case 1: return WORKER_F32;
  case 2: return WORKER_U8;
  case 3: return WORKER_I8;
  case 6: return WORKER_I32;
  case 7: return WORKER_I64;
  case 9: return WORKER_BOOL;
  case 11: return WORKER_F64;
  default: return WORKER_UNSUPPORTED;
  }
}

static void open_session(const char *model, int threads) {
  OrtEnv *env;
  OrtOptions *options;
  CHECK(ort.CreateEnv(LOG_ERRORS, "bench", &env));
  CHECK(ort.CreateSessionOptions(&options));
  CHECK(ort.SetIntraOpNumThreads(options, threads));
  CHECK(ort.SetInterOpNumThreads(options, 1));
  CHECK(ort.SetSessionGraphOptimizationLevel(options, OPTIMIZE_ALL));
  CHECK(ort.CreateSession(env, model, options, &session));
  CHECK(ort.SessionGetInputCount(session, &n_inputs));
  CHECK(ort.SessionGetOutputCount(session, &n_outputs));
  if (n_inputs > MAX_TENSORS || n_outputs > MAX_TENSORS) worker_die("onnxruntime", model, "too many inputs or outputs");
}

/* Shape of one input with free dimensions set to 1; returns the element count. */
static size_t input_shape(const OrtTensorInfo *info, int64_t *shape, size_t *rank) {
  size_t count = 1;
  CHECK(ort.GetDimensionsCount(info, rank));
  if (*rank > MAX_RANK) worker_die("onnxruntime", "input", "rank too high");
  CHECK(ort.GetDimensions(info, shape, *rank));
  for (size_t i = 0; i < *rank; i++) {
    if (shape[i] < 1) shape[i] = 1;
    count *= (size_t)shape[i];
  }
  return count;
}

static void make_input(size_t index, OrtAllocator *allocator, const OrtMemoryInfo *memory) {
  OrtTypeInfo *type_info;
  const OrtTensorInfo *info;
  int64_t shape[MAX_RANK];
  size_t rank;
  int code;

  CHECK(ort.SessionGetInputName(session, index, allocator, &input_names[index]));
  CHECK(ort.SessionGetInputTypeInfo(session, index, &type_info));
  CHECK(ort.CastTypeInfoToTensorInfo(type_info, &info));
  CHECK(ort.GetTensorElementType(info, &code));

  enum worker_type type = type_of_onnx(code);
  size_t count = input_shape(info, shape, &rank);
  size_t bytes = count * worker_type_size(type);
  void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!data) worker_die("onnxruntime", "input", "out of memory");
  worker_fill(type, data, count);
  CHECK(ort.CreateTensorWithDataAsOrtValue(memory, data, bytes, shape, rank, code, &inputs[index]));
}

static void make_tensors(void) {
  OrtAllocator *allocator;
  OrtMemoryInfo *memory;
  CHECK(ort.GetAllocatorWithDefaultOptions(&allocator));
  CHECK(ort.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &memory));
  for (size_t i = 0; i < n_inputs; i++) make_input(i, allocator, memory);
  for (size_t i = 0; i < n_outputs; i++) CHECK(ort.SessionGetOutputName(session, i, allocator, &output_names[i]));
}

/* The first run allocates the outputs, later runs write into them. */
static void run(void) {
  CHECK(ort.Run(session, NULL, (const char *const *)input_names, (const OrtValue *const *)inputs, n_inputs,
                (const char *const *)output_names, n_outputs, outputs));
}

static double sum_outputs(void) {
  double sum = 0.0;
  for (size_t i = 0; i < n_outputs; i++) {
    OrtTensorInfo *info;
    size_t count;
    void *data;
    int code;
    CHECK(ort.GetTensorTypeAndShape(outputs[i], &info));
    CHECK(ort.GetTensorShapeElementCount(info, &count));
    CHECK(ort.GetTensorElementType(info, &code));
    CHECK(ort.GetTensorMutableData(outputs[i], &data));
    sum += worker_checksum(type_of_onnx(code), data, count);
  }
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s LIBRARY MODEL THREADS\n", argv[0]);
    return 2;
  }
  load_library(argv[1]);

  double start = worker_now();
  open_session(argv[2], atoi(argv[3]));
  double load_seconds = worker_now() - start;

  make_tensors();
  run();
  return worker_serve(run, load_seconds, sum_outputs());
}
