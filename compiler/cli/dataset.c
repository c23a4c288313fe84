#include "cli/dataset.h"

#include "cli/npy.h"
#include "ir/dtype.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- one value ---- */
const OnnxValue *dataset_load_value(Arena *a, Diags *d, const char *path, const castnet_type *type) {
  static const OnnxTypeKind kinds[] = {[CASTNET_KIND_TENSOR] = ONNX_TYPE_TENSOR, [CASTNET_KIND_SEQUENCE] = ONNX_TYPE_SEQUENCE,
                                       [CASTNET_KIND_OPTIONAL] = ONNX_TYPE_OPTIONAL, [CASTNET_KIND_MAP] = ONNX_TYPE_MAP};
  size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 4, ".npy") != 0) return onnx_load_value(a, d, path, kinds[type->kind]);
  if (type->kind != CASTNET_KIND_TENSOR) {
    (void)diag_add(d, DIAG_E0601, (DiagPlace){.file = str_c(path)}, "a .npy file holds a tensor, and the model has none here");
    return NULL;
  }
  OnnxValue *v = NEW(a, OnnxValue);
  *v = (OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = npy_read(a, d, path, type->dtype)};
  return v->tensor ? v : NULL;
}

static const char *type_word(int dtype) {
  DType t = dtype_from_onnx(dtype);
  return t == DT_NONE ? "an unknown type" : dtype_name(t);
}

/* Keys and values of a map: generated code reads them as what the model says. */
static bool map_fits(const castnet_type *t, const OnnxValue *v) {
  bool ok = v->n_items == v->n_keys && (v->n_keys == 0 || v->key_type == t->key);
  for (size_t i = 0; i < v->n_items; i++)
    ok = ok && v->items[i].kind == ONNX_TYPE_TENSOR && v->items[i].tensor->data_type == t->dtype && v->items[i].tensor->n_elements == 1;
  return ok;
}

/* Whether what a sequence or optional of the data holds is of the model's type. */
static bool held_fits(Diags *d, const char *path, const char *name, const castnet_type *t, const OnnxValue *v) {
  static const OnnxTypeKind kinds[] = {[CASTNET_KIND_TENSOR] = ONNX_TYPE_TENSOR, [CASTNET_KIND_SEQUENCE] = ONNX_TYPE_SEQUENCE,
                                       [CASTNET_KIND_OPTIONAL] = ONNX_TYPE_OPTIONAL, [CASTNET_KIND_MAP] = ONNX_TYPE_MAP};
  const DiagPlace place = {.file = str_c(path)};
  if (v->kind != kinds[t->kind]) return (void)diag_add(d, DIAG_E0601, place, "%s holds values of another kind than in the model", name), false;
  if (t->kind == CASTNET_KIND_TENSOR && v->tensor->data_type != t->dtype) {
    (void)diag_add(d, DIAG_E0601, place, "%s holds %s in the model, %s in the data", name, type_word(t->dtype), type_word(v->tensor->data_type));
    return false;
  }
  if (t->kind == CASTNET_KIND_MAP && !map_fits(t, v)) {
    (void)diag_add(d, DIAG_E0601, place, "%s has keys or values of other types than in the model", name);
    return false;
  }
  for (size_t i = 0; i < v->n_items && t->kind != CASTNET_KIND_MAP; i++)
    if (!held_fits(d, path, name, t->elem, &v->items[i])) return false;
  return true;
}

bool dataset_fits(Diags *d, const char *path, const castnet_field *f, const OnnxValue *v) {
  DiagPlace place = {.file = str_c(path)};
  const char *name = diag_quote(d, (Str){f->name.ptr, f->name.length});
  if (f->type.kind != CASTNET_KIND_TENSOR) return held_fits(d, path, name, &f->type, v);
  const OnnxTensor *t = v->tensor;
  if (t->data_type != f->type.dtype) {
    (void)diag_add(d, DIAG_E0601, place, "%s is %s in the model, %s in the data", name, type_word(f->type.dtype), type_word(t->data_type));
    return false;
  }
  if (t->n_dims != f->type.rank) {
    (void)diag_add(d, DIAG_E0601, place, "%s has %zu dimensions in the model, %zu in the data", name, f->type.rank, t->n_dims);
    return false;
  }
  for (size_t i = 0; i < t->n_dims; i++) {
    if (f->type.dims[i].value < 0 || f->type.dims[i].value == t->dims[i]) continue;
    (void)diag_add(d, DIAG_E0601, place, "dimension %zu of %s is %" PRId64 " in the model, %" PRId64 " in the data", i, name,
                   f->type.dims[i].value, t->dims[i]);
    return false;
  }
  return true;
}

/* ---- a folder ---- */
typedef struct Loaded {
  const OnnxValue *value;
  const char *path;
} Loaded;

/* DIR/input_3.pb or .npy, or NULL. */
static const char *find_file(Arena *a, const char *dir, const char *what, size_t i) {
  static const char *const endings[] = {"pb", "npy"};
  for (size_t k = 0; k < 2; k++) {
    const char *path = arena_printf(a, "%s/%s_%zu.%s", dir, what, i, endings[k]).ptr;
    if (access(path, F_OK) == 0) return path;
  }
  return NULL;
}

static size_t find_field(const castnet_field *f, size_t n, Str name) {
  for (size_t i = 0; i < n; i++)
    if (str_eq((Str){f[i].name.ptr, f[i].name.length}, name)) return i;
  return n;
}

static Str value_name(const OnnxValue *v) { return v->name.len || !v->tensor ? v->name : v->tensor->name; }

/* Where each file's value belongs: by name if all have names that the model knows, each once; else by position. */
static bool by_name(Arena *a, const Loaded *l, size_t n_files, const castnet_field *f, size_t n, size_t *ret_place) {
  bool *taken = NEW_ARRAY(a, bool, n + 1);
  for (size_t i = 0; i < n_files; i++) {
    size_t at = find_field(f, n, value_name(l[i].value));
    if (value_name(l[i].value).len == 0 || at == n || taken[at]) return false;
    taken[at] = true;
    ret_place[i] = at;
  }
  return true;
}

static bool load_side(Arena *a, Diags *d, const char *dir, const char *what, const castnet_field *f, size_t n, const OnnxValue **ret) {
  Loaded *l = NEW_ARRAY(a, Loaded, n);
  size_t *places = NEW_ARRAY(a, size_t, n), n_files = 0;
  for (; n_files < n; n_files++) {
    const char *path = l[n_files].path = find_file(a, dir, what, n_files);
    if (!path) break;
    l[n_files].value = dataset_load_value(a, d, path, &f[n_files].type);
    if (!l[n_files].value) return false;
    places[n_files] = n_files;
  }
  if (!by_name(a, l, n_files, f, n, places))
    for (size_t i = 0; i < n_files; i++) places[i] = i;
  for (size_t i = 0; i < n_files; i++) ret[places[i]] = l[i].value;
  if (strcmp(what, "input") != 0) return true;
  bool ok = true;
  for (size_t i = 0; i < n_files; i++) ok &= dataset_fits(d, l[i].path, &f[places[i]], l[i].value);
  return ok;
}

bool dataset_load_inputs(Arena *a, Diags *d, const char *dir, const castnet_interface *m, DataSet *ret) {
  *ret = (DataSet){.dir = dir, .inputs = NEW_ARRAY(a, const OnnxValue *, m->n_inputs),
                   .outputs = NEW_ARRAY(a, const OnnxValue *, m->n_outputs)};
  if (!load_side(a, d, dir, "input", m->inputs, m->n_inputs, ret->inputs)) return false;
  for (size_t i = 0; i < m->n_inputs; i++) {
    if (ret->inputs[i]) continue;
    (void)diag_add(d, DIAG_E0601, (DiagPlace){.file = str_c(dir)}, "there is no file for input %s",
                   diag_quote(d, (Str){m->inputs[i].name.ptr, m->inputs[i].name.length}));
    return false;
  }
  return true;
}

bool dataset_load(Arena *a, Diags *d, const char *dir, const castnet_interface *m, DataSet *ret) {
  if (!dataset_load_inputs(a, d, dir, m, ret) || !load_side(a, d, dir, "output", m->outputs, m->n_outputs, ret->outputs)) return false;
  for (size_t i = 0; i < m->n_outputs; i++)
    if (ret->outputs[i]) return true;
  (void)diag_add(d, DIAG_E0601, (DiagPlace){.file = str_c(dir)}, "no outputs were recorded here (output_0.pb or .npy)");
  return false;
}

/* ---- beside a model ---- */
typedef struct Found {
  unsigned long number;
  const char *path;
} Found;

static int found_order(const void *a, const void *b) {
  const Found *x = a, *y = b;
  int by = (x->number > y->number) - (x->number < y->number);
  return by ? by : strcmp(x->path, y->path);
}

size_t datasets_beside(Arena *a, const char *model, const char *const **ret) {
  static const char prefix[] = "test_data_set_";
  const char *slash = strrchr(model, '/');
  const char *folder = slash ? arena_cstr(a, (Str){model, (size_t)(slash - model) + 1}) : "";
  VEC(Found) found = {0};
  DIR *dir = opendir(*folder ? folder : ".");
  for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
    if (strncmp(e->d_name, prefix, sizeof prefix - 1) == 0)
      vec_push(a, found, ((Found){strtoul(e->d_name + sizeof prefix - 1, NULL, 10), arena_printf(a, "%s%s", folder, e->d_name).ptr}));
  if (dir) (void)closedir(dir);
  if (found.n) qsort(found.data, found.n, sizeof *found.data, found_order);
  const char **paths = NEW_ARRAY(a, const char *, found.n);
  for (size_t i = 0; i < found.n; i++) paths[i] = found.data[i].path;
  *ret = paths;
  return found.n;
}
