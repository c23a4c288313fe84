/*
 * ort_worker.c - times ONNX Runtime through its C interface.
 *
 * usage: ort_worker LIBRARY MODEL THREADS INPUTS OUTPUTS
 *
 * The Python wheel holds the shared library but no header. The interface is a
 * table of function pointers whose order never changes, so the few functions
 * needed are declared here and taken by their place in that table.
 *
 * build: cc -O2 ort_worker.c -o ort_worker -ldl -lm
 */
#include "worker.h"

#include <dlfcn.h>
#include <stdbool.h>

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtOptions OrtOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtMemoryInfo OrtMemoryInfo;
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
  X(31, SessionGetOutputCount, OrtStatus *, (const OrtSession *, size_t *))                                            \
  X(37, SessionGetOutputName, OrtStatus *, (const OrtSession *, size_t, OrtAllocator *, char **))                      \
  X(48, CreateTensorAsOrtValue, OrtStatus *, (OrtAllocator *, const int64_t *, size_t, int, OrtValue **))              \
  X(49, CreateTensorWithDataAsOrtValue, OrtStatus *,                                                                   \
    (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, int, OrtValue **))                                \
  X(51, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))                                                      \
  X(52, FillStringTensor, OrtStatus *, (OrtValue *, const char *const *, size_t))                                      \
  X(53, GetStringTensorDataLength, OrtStatus *, (const OrtValue *, size_t *))                                          \
  X(54, GetStringTensorContent, OrtStatus *, (const OrtValue *, void *, size_t, size_t *, size_t))                     \
  X(60, GetTensorElementType, OrtStatus *, (const OrtTensorInfo *, int *))                                             \
  X(61, GetDimensionsCount, OrtStatus *, (const OrtTensorInfo *, size_t *))                                            \
  X(62, GetDimensions, OrtStatus *, (const OrtTensorInfo *, int64_t *, size_t))                                        \
  X(64, GetTensorShapeElementCount, OrtStatus *, (const OrtTensorInfo *, size_t *))                                    \
  X(65, GetTensorTypeAndShape, OrtStatus *, (const OrtValue *, OrtTensorInfo **))                                      \
  X(67, GetValueType, OrtStatus *, (const OrtValue *, int *))                                                          \
  X(69, CreateCpuMemoryInfo, OrtStatus *, (int allocator, int memory, OrtMemoryInfo **))                               \
  X(78, GetAllocatorWithDefaultOptions, OrtStatus *, (OrtAllocator **))                                                   \
  X(80, GetValue, OrtStatus *, (const OrtValue *, int, OrtAllocator *, OrtValue **))                                   \
  X(81, GetValueCount, OrtStatus *, (const OrtValue *, size_t *))                                                      \
  X(96, ReleaseValue, void, (OrtValue *))

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
  MAX_TENSORS = 1024,
  VALUE_TENSOR = 1, /* ONNXType */
  VALUE_SEQUENCE,
  VALUE_MAP
};

static OrtSession *session;
static OrtAllocator *allocator;
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

static void open_session(const char *model, int threads) {
  OrtEnv *env;
  OrtOptions *options;
  CHECK(ort.CreateEnv(LOG_ERRORS, "bench", &env));
  CHECK(ort.CreateSessionOptions(&options));
  CHECK(ort.SetIntraOpNumThreads(options, threads));
  CHECK(ort.SetInterOpNumThreads(options, 1));
  CHECK(ort.SetSessionGraphOptimizationLevel(options, OPTIMIZE_ALL));
  CHECK(ort.CreateSession(env, model, options, &session));
  CHECK(ort.SessionGetOutputCount(session, &n_outputs));
  if (n_outputs > MAX_TENSORS) worker_die("onnxruntime", model, "too many outputs");
}

static void make_input(const struct worker_file *f, size_t index, const OrtMemoryInfo *memory) {
  struct worker_input in = worker_read_input(f);
  input_names[index] = in.name;
  if (in.type == WORKER_STRING) {
    CHECK(ort.CreateTensorAsOrtValue(allocator, in.dims, in.rank, in.type, &inputs[index]));
    CHECK(ort.FillStringTensor(inputs[index], in.data, in.count));
  } else {
    CHECK(ort.CreateTensorWithDataAsOrtValue(memory, in.data, in.bytes, in.dims, in.rank, in.type, &inputs[index]));
  }
}

static void make_tensors(const char *path) {
  OrtMemoryInfo *memory;
  CHECK(ort.GetAllocatorWithDefaultOptions(&allocator));
  CHECK(ort.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, &memory));
  const struct worker_file f = worker_open("onnxruntime", path, "rb");
  n_inputs = (size_t)worker_take(&f);
  if (n_inputs > MAX_TENSORS) worker_die("onnxruntime", path, "too many inputs");
  for (size_t i = 0; i < n_inputs; i++) make_input(&f, i, memory);
  worker_close(&f);
  for (size_t i = 0; i < n_outputs; i++) CHECK(ort.SessionGetOutputName(session, i, allocator, &output_names[i]));
}

/* The first run allocates the outputs, later runs write into those that are tensors. */
static void run(void) {
  CHECK(ort.Run(session, NULL, (const char *const *)input_names, (const OrtValue *const *)inputs, n_inputs,
                (const char *const *)output_names, n_outputs, outputs));
}

/* Sequences and maps are made anew by each run. */
static bool output_is_new[MAX_TENSORS];

static void run_anew(void) {
  for (size_t i = 0; i < n_outputs; i++) {
    if (!output_is_new[i]) continue;
    ort.ReleaseValue(outputs[i]);
    outputs[i] = NULL;
  }
  run();
}

/* ---- outputs ---- */
static void put_strings(const struct worker_file *f, const OrtValue *v, size_t count) {
  size_t bytes;
  CHECK(ort.GetStringTensorDataLength(v, &bytes));
  char *text = worker_allocate(f, bytes);
  size_t *offsets = worker_allocate(f, (count + 1) * sizeof *offsets);
  CHECK(ort.GetStringTensorContent(v, text, bytes, offsets, count));
  offsets[count] = bytes;
  for (size_t i = 0; i < count; i++) {
    worker_put(f, offsets[i + 1] - offsets[i]);
    worker_put_bytes(f, text + offsets[i], offsets[i + 1] - offsets[i]);
  }
}

static void put_tensor(const struct worker_file *f, OrtValue *v) {
  OrtTensorInfo *info;
  int64_t dims[WORKER_MAX_RANK];
  size_t rank, count;
  void *data;
  int type;
  CHECK(ort.GetTensorTypeAndShape(v, &info));
  CHECK(ort.GetDimensionsCount(info, &rank));
  if (rank > WORKER_MAX_RANK) worker_die("onnxruntime", "output", "rank too high");
  CHECK(ort.GetDimensions(info, dims, rank));
  CHECK(ort.GetTensorShapeElementCount(info, &count));
  CHECK(ort.GetTensorElementType(info, &type));
  worker_put_shape(f, dims, rank);
  if (type == WORKER_STRING) {
    put_strings(f, v, count);
    return;
  }
  if (!worker_type_size(type)) worker_die("onnxruntime", "output", "element type not supported");
  CHECK(ort.GetTensorMutableData(v, &data));
  worker_put_bytes(f, data, count * worker_type_size(type));
}

static int kind_of(const OrtValue *v) {
  int kind;
  CHECK(ort.GetValueType(v, &kind));
  return kind;
}

/* A map holds its keys and its values, a tensor each; maps do not hold maps. */
static void put_item(const struct worker_file *f, OrtValue *v) {
  OrtValue *part[2];
  size_t count;
  if (kind_of(v) == VALUE_TENSOR) {
    put_tensor(f, v);
    return;
  }
  if (kind_of(v) != VALUE_MAP) worker_die("onnxruntime", "output", "kind of value not supported");
  for (int k = 0; k < 2; k++) CHECK(ort.GetValue(v, k, allocator, &part[k]));
  OrtTensorInfo *info;
  CHECK(ort.GetTensorTypeAndShape(part[0], &info));
  CHECK(ort.GetTensorShapeElementCount(info, &count));
  worker_put(f, count);
  for (int k = 0; k < 2; k++) put_tensor(f, part[k]);
}

static void put_value(const struct worker_file *f, OrtValue *v) {
  if (kind_of(v) != VALUE_SEQUENCE) {
    put_item(f, v);
    return;
  }
  size_t count;
  CHECK(ort.GetValueCount(v, &count));
  worker_put(f, count);
  for (size_t i = 0; i < count; i++) {
    OrtValue *item;
    CHECK(ort.GetValue(v, (int)i, allocator, &item));
    put_item(f, item);
  }
}

static bool write_outputs(const char *path) {
  bool any_new = false;
  const struct worker_file f = worker_open("onnxruntime", path, "wb");
  for (size_t i = 0; i < n_outputs; i++) {
    put_value(&f, outputs[i]);
    output_is_new[i] = kind_of(outputs[i]) != VALUE_TENSOR;
    any_new |= output_is_new[i];
  }
  worker_close(&f);
  return any_new;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: %s LIBRARY MODEL THREADS INPUTS OUTPUTS\n", argv[0]);
    return 2;
  }
  load_library(argv[1]);

  double start = worker_now();
  open_session(argv[2], atoi(argv[3]));
  double load_seconds = worker_now() - start;

  make_tensors(argv[4]);
  run();
  const bool anew = write_outputs(argv[5]);
  return worker_serve(anew ? run_anew : run, load_seconds);
}
