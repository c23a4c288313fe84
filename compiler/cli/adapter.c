#include "cli/adapter.h"

#include "backend/bundle.h"
#include "backend/template.h"
#include "base/files.h"
#include "base/io.h"
#include "ir/ir.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- tables ---- */
typedef struct Tables {
  StrBuf *b;
  const char *n; /* the model's name */
  size_t n_types;
} Tables;

static unsigned bits_of(int dtype) { return dtype_rows[dtype_from_onnx(dtype)].bits; }
static bool is_string(int dtype) { return dtype_from_onnx(dtype) == DT_str; }

static void put_tensor_type(Tables *t, int dtype, size_t rank, const castnet_extent *dims, size_t id) {
  bool constant = dims && rank > 0;
  for (size_t i = 0; i < rank && dims; i++) constant &= dims[i].value >= 0;
  if (constant) {
    sb_printf(t->b, "static const int64_t %s_check_d%zu[] = {", t->n, id);
    for (size_t i = 0; i < rank; i++) sb_printf(t->b, "%s%" PRId64, i ? ", " : "", dims[i].value);
    sb_puts(t->b, "};\n");
  }
  sb_printf(t->b, "static const struct check_type %s_check_t%zu = {CHECK_TENSOR, %d, %d, %u, %zu, ", t->n, id, is_string(dtype), dtype, bits_of(dtype), rank);
  if (constant) sb_printf(t->b, "%s_check_d%zu", t->n, id);
  else sb_puts(t->b, "NULL");
  sb_puts(t->b, ", NULL, NULL};\n");
}

/* Returns the number in the type's name. */
static size_t put_type(Tables *t, const castnet_type *type) {
  if (type->kind == CASTNET_KIND_TENSOR) {
    size_t id = t->n_types++;
    put_tensor_type(t, type->dtype, type->rank, type->dims, id);
    return id;
  }
  if (type->kind == CASTNET_KIND_MAP) {
    size_t key = t->n_types++, value = t->n_types++, id = t->n_types++;
    put_tensor_type(t, type->key, 1, NULL, key);
    put_tensor_type(t, type->dtype, 1, NULL, value);
    sb_printf(t->b, "static const struct check_type %s_check_t%zu = {CHECK_MAP, 0, 0, 0, 0, NULL, &%s_check_t%zu, &%s_check_t%zu};\n",
              t->n, id, t->n, value, t->n, key);
    return id;
  }
  size_t elem = put_type(t, type->elem), id = t->n_types++;
  sb_printf(t->b, "static const struct check_type %s_check_t%zu = {%s, 0, 0, 0, 0, NULL, &%s_check_t%zu, NULL};\n", t->n, id,
            type->kind == CASTNET_KIND_SEQUENCE ? "CHECK_SEQUENCE" : "CHECK_OPTIONAL", t->n, elem);
  return id;
}

static void put_field(Tables *t, const castnet_field *f, bool output, size_t type, StrBuf *rows) {
  bool sized = output && f->type.kind == CASTNET_KIND_TENSOR && f->sized;
  const char *io = output ? "outputs" : "inputs";
  sb_printf(rows, "  {&%s_check_t%zu, offsetof(%s_%s, %s%s), ", t->n, type, t->n, io, f->c_name, sized ? ".data" : "");
  if (sized && !f->owned) sb_printf(rows, "offsetof(%s_%s, %s.capacity), ", t->n, io, f->c_name);
  else sb_puts(rows, "CHECK_NONE, ");
  if (sized) sb_printf(rows, "offsetof(%s_%s, %s.dims), ", t->n, io, f->c_name);
  else sb_puts(rows, "CHECK_NONE, ");
  sb_printf(rows, "%d},\n", f->owned != 0);
}

static void put_fields(Tables *t, Arena *a, const castnet_field *f, size_t n, bool output) {
  StrBuf rows = sb_new(a);
  for (size_t i = 0; i < n; i++) put_field(t, &f[i], output, put_type(t, &f[i].type), &rows);
  sb_printf(t->b, "static const struct check_field %s_check_%s[] = {\n", t->n, output ? "out" : "in");
  if (n == 0) sb_puts(t->b, "  {NULL, 0, 0, 0, 0},\n");
  sb_str(t->b, sb_view(&rows));
  sb_puts(t->b, "};\n");
}

/* The call, with pointers to void. */
static void put_run(StrBuf *b, const castnet_interface *m) {
  const char *n = m->prefix, *where = *m->device ? "host" : "check";
  sb_printf(b, "static int %s_%s_run(const void *in, void *out, void *ws, size_t ws_size, const castnet_env *env) {\n"
               "  return %s_run((const %s_inputs *)in, (%s_outputs *)out, ws, ws_size, env);\n}\n", n, where, n, n, n);
  if (!*m->device) return;
  sb_printf(b, "static int %s_check_run(const void *in, void *out, void *ws, size_t ws_size, const castnet_env *env) {\n"
               "  const struct check_device d = {%s_init, %s_host_run, %s_status, %s_WEIGHTS_SIZE};\n"
               "  return check_device_run(&d, in, out, ws, ws_size, env);\n}\n", n, n, n, n, n);
}

static void put_model(Arena *a, StrBuf *b, const castnet_interface *m) {
  Tables t = {.b = b, .n = m->prefix};
  const char *n = m->prefix;
  sb_printf(b, "#include \"%s.h\"\n", n);
  put_fields(&t, a, m->inputs, m->n_inputs, false);
  put_fields(&t, a, m->outputs, m->n_outputs, true);
  put_run(b, m);
  sb_printf(b, "#if !defined(%s_WORKSPACE_SIZE) || !%s_WORKSPACE_EXACT\n#undef %s_WORKSPACE_SIZE\n#define %s_WORKSPACE_SIZE 0 /* not known before the call */\n#endif\n", n, n, n, n);
  sb_printf(b, "static const struct check_model %s_check = {\n  %s_check_in, %s_check_out, %zu, %zu, sizeof(%s_inputs), sizeof(%s_outputs),\n  ",
            n, n, n, m->n_inputs, m->n_outputs, n, n);
  if (m->n_dims) sb_printf(b, "offsetof(%s_inputs, dim), %zu, ", n, m->n_dims);
  else sb_puts(b, "0, 0, ");
  sb_printf(b, "offsetof(%s_outputs, ws_needed), %s_WORKSPACE_ALIGN, %s_WORKSPACE_SIZE, ", n, n, n);
  sb_printf(b, "%s_check_run, %s_detect,\n};\n\n", n, n);
}

static bool write_template(Arena *a, Diags *d, const Workdir *w, const char *name, const char *as) {
  for (size_t i = 0; i < n_templates; i++)
    if (strcmp(templates[i].name, name) == 0) return file_write(a, d, workdir_file(a, w, as), str_c(templates[i].text));
  (void)diag_add(d, DIAG_E0901, (DiagPlace){0}, "there is no template %s", name);
  return false;
}

static bool write_common(Arena *a, Diags *d, const Workdir *w, const castnet_interface *const *models, size_t n) {
  StrBuf b = sb_new(a);
  const char *device = *models[0]->device ? arena_printf(a, "check_%s.h", models[0]->device).ptr : NULL;
  if (device) sb_printf(&b, "#include \"castnet_%s\"\n", device);
  for (size_t i = 0; i < n; i++) put_model(a, &b, models[i]);
  sb_puts(&b, "static const struct check_model *const models[] = {\n");
  for (size_t i = 0; i < n; i++) sb_printf(&b, "  &%s_check,\n", models[i]->prefix);
  sb_puts(&b, "};\n");
  return file_write(a, d, workdir_file(a, w, "castnet_check_models.h"), sb_view(&b)) &&
         write_template(a, d, w, "castnet_abi.h", "castnet_abi.h") &&
         write_template(a, d, w, "check_tables.h", "castnet_check_tables.h") &&
         write_template(a, d, w, "check_call.h", "castnet_check_call.h") &&
         write_template(a, d, w, "check_write.h", "castnet_check_write.h") &&
         (!device || write_template(a, d, w, device, arena_printf(a, "castnet_%s", device).ptr));
}

bool adapter_write(Arena *a, Diags *d, const Workdir *w, const castnet_interface *const *models, size_t n) {
  return write_common(a, d, w, models, n) && write_template(a, d, w, "check.c", "castnet_check.c");
}

/* What runtime-lite/peak_f32.h needs, over the layer of the target. */
static bool write_peak(Arena *a, Diags *d, const Workdir *w, const Target *t) {
  StrBuf b = sb_new(a);
  Map roots = map_new(a);
  Bundle bundle = {0};
  const BundleTable table = bundle_runtime();
  bundle_scan(a, STR("cn_peak_f32 cn_peak_read_f32 cn_peak_streams_f32 cn_peak_round_f32"), &roots);
  if (!bundle_close(a, d, &table, t, &roots, &bundle)) return false;
  for (size_t i = 0; i < bundle.headers.n; i++) sb_printf(&b, "#include <%.*s>\n", STR_ARG(bundle.headers.data[i]));
  for (size_t i = 0; i < bundle.chunks.n; i++) sb_printf(&b, "%s\n\n", bundle.chunks.data[i]->text);
  return file_write(a, d, workdir_file(a, w, "castnet_bench_peak.h"), sb_view(&b));
}

bool adapter_write_bench(Arena *a, Diags *d, const Workdir *w, const castnet_interface *m, const Target *t) {
  return write_common(a, d, w, &m, 1) && write_peak(a, d, w, t) && write_template(a, d, w, "bench.c", "castnet_check.c");
}

/* ---- inputs: in the target's byte order; tensors of castnet are little-endian ---- */
typedef struct Writer {
  StrBuf b;
  bool big_endian;
} Writer;

static void put_number(Writer *w, uint64_t v) {
  char bytes[8];
  for (unsigned i = 0; i < 8; i++) bytes[w->big_endian ? 7 - i : i] = (char)(unsigned char)(v >> (8 * i));
  sb_put(&w->b, bytes, sizeof bytes);
}

static void put_string(Writer *w, Str s) {
  put_number(w, s.len);
  sb_str(&w->b, s);
}

static void put_data(Writer *w, const OnnxTensor *t) {
  size_t at = w->b.len;
  if (!t->data_bytes) return;
  sb_put(&w->b, t->data, t->data_bytes);
  if (w->big_endian) tensor_reverse(dtype_from_onnx(t->data_type), t->data_bytes, t->data, w->b.data + at);
}

static void put_tensor(Writer *w, const OnnxTensor *t) {
  put_number(w, t->n_dims);
  for (size_t i = 0; i < t->n_dims; i++) put_number(w, (uint64_t)t->dims[i]);
  for (size_t i = 0; i < t->n_strings; i++) put_string(w, t->strings[i]);
  if (t->data_type != dtype_rows[DT_str].onnx) put_data(w, t);
}

/* Keys or values of a map as a tensor would be. */
static void put_map(Writer *w, const OnnxValue *v) {
  put_number(w, v->n_keys);
  put_number(w, 1);
  put_number(w, v->n_keys);
  for (size_t i = 0; i < v->n_keys; i++) {
    if (v->string_keys) put_string(w, v->string_keys[i]);
    else put_number(w, (uint64_t)v->keys[i]);
  }
  put_number(w, 1);
  put_number(w, v->n_items);
  for (size_t i = 0; i < v->n_items; i++) {
    const OnnxTensor *t = v->items[i].tensor;
    if (t && t->n_strings) put_string(w, t->strings[0]);
    else if (t) put_data(w, t);
  }
}

static void put_value(Writer *w, const OnnxValue *v) {
  if (v->kind == ONNX_TYPE_TENSOR) {
    put_tensor(w, v->tensor);
  } else if (v->kind == ONNX_TYPE_MAP) {
    put_map(w, v);
  } else {
    put_number(w, v->n_items);
    for (size_t i = 0; i < v->n_items; i++) put_value(w, &v->items[i]);
  }
}

/* A dimension of N_dims, from the first input that has it; inputs must agree, or the call would read beyond one of them. */
static bool find_dim(Diags *d, const castnet_interface *m, const OnnxValue *const *values, size_t dim, int64_t *ret) {
  bool found = false;
  for (size_t i = 0; i < m->n_inputs; i++) {
    const castnet_type *t = &m->inputs[i].type;
    for (size_t k = 0; t->kind == CASTNET_KIND_TENSOR && k < t->rank; k++) {
      if (t->dims[k].symbol != (int32_t)dim) continue;
      int64_t v = values[i]->tensor->dims[k];
      if (found && v != *ret) {
        const castnet_slice name = m->dims[dim].name;
        (void)diag_add(d, DIAG_E0601, (DiagPlace){0}, "dimension %s is %" PRId64 " in one input and %" PRId64 " in another",
                       diag_quote(d, (Str){name.ptr, name.length}), *ret, v);
        return false;
      }
      *ret = v;
      found = true;
    }
  }
  if (!found) *ret = m->dims[dim].lo;
  return true;
}

bool adapter_write_inputs(Arena *a, Diags *d, const char *path, const castnet_interface *m, const OnnxValue *const *values) {
  Writer w = {sb_new(a), m->big_endian != 0};
  for (size_t i = 0; i < m->n_dims; i++) {
    int64_t v = 0;
    if (!find_dim(d, m, values, i, &v)) return false;
    put_number(&w, (uint64_t)v);
  }
  for (size_t i = 0; i < m->n_inputs; i++) put_value(&w, values[i]);
  return file_write(a, d, path, sb_view(&w.b));
}

/* ---- outputs ---- */
typedef struct Cursor {
  Arena *arena;
  const char *at, *end;
  bool big_endian, bad;
} Cursor;

static uint64_t take(Cursor *c) {
  uint64_t v = 0;
  if ((size_t)(c->end - c->at) < sizeof v) c->bad = true;
  for (unsigned i = 0; i < 8 && !c->bad; i++) v |= (uint64_t)(unsigned char)*c->at++ << 8 * (c->big_endian ? 7 - i : i);
  return v;
}

static Str take_bytes(Cursor *c, uint64_t n) {
  if (c->bad || (size_t)(c->end - c->at) < n) {
    c->bad = true;
    return STR("");
  }
  Str s = {c->at, (size_t)n};
  c->at += n;
  return s;
}

static const void *take_data(Cursor *c, DType t, size_t n) {
  const Str s = take_bytes(c, n);
  if (!c->big_endian || s.len != n) return s.ptr;
  char *little = NEW_ARRAY(c->arena, char, n);
  tensor_reverse(t, n, s.ptr, little);
  return little;
}

static const OnnxTensor *take_tensor(Cursor *c, int dtype) {
  OnnxTensor *t = NEW(c->arena, OnnxTensor);
  t->data_type = dtype;
  t->n_dims = (size_t)take(c);
  if (t->n_dims > 64) c->bad = true;
  int64_t *dims = NEW_ARRAY(c->arena, int64_t, c->bad ? 0 : t->n_dims);
  t->n_elements = 1;
  for (size_t i = 0; !c->bad && i < t->n_dims; i++) {
    dims[i] = (int64_t)take(c);
    if (dims[i] < 0 || !size_mul(t->n_elements, (size_t)dims[i], &t->n_elements)) c->bad = true;
  }
  t->dims = dims;
  if (c->bad) return t;
  if (is_string(dtype)) {
    Str *strings = NEW_ARRAY(c->arena, Str, t->n_elements <= (size_t)(c->end - c->at) ? t->n_elements : 0);
    for (size_t i = 0; !c->bad && i < t->n_elements; i++) strings[i] = take_bytes(c, take(c));
    t->strings = strings;
    t->n_strings = t->n_elements;
  } else if (dtype_bytes(dtype_from_onnx(dtype), t->n_elements, &t->data_bytes)) {
    t->data = take_data(c, dtype_from_onnx(dtype), t->data_bytes);
  } else {
    c->bad = true;
  }
  return t;
}

static OnnxValue take_value(Cursor *c, const castnet_type *type);

/* A map's values as one tensor each, as in data sets. */
static void take_map(Cursor *c, const castnet_type *type, OnnxValue *ret) {
  (void)take(c);
  const OnnxTensor *keys = take_tensor(c, type->key), *values = take_tensor(c, type->dtype);
  if (c->bad || keys->n_elements != values->n_elements) {
    c->bad = true;
    return;
  }
  ret->key_type = type->key;
  ret->n_keys = ret->n_items = keys->n_elements;
  ret->string_keys = keys->strings;
  const Tensor numbers = {.dtype = dtype_from_onnx(type->key), .n = keys->n_elements, .bytes = keys->data, .n_bytes = keys->data_bytes};
  ret->keys = keys->strings ? NULL : tensor_host_elements(c->arena, &numbers);
  OnnxValue *items = NEW_ARRAY(c->arena, OnnxValue, ret->n_items);
  for (size_t i = 0; i < ret->n_items; i++) {
    OnnxTensor *t = NEW(c->arena, OnnxTensor);
    *t = (OnnxTensor){.data_type = type->dtype, .n_elements = 1};
    if (values->strings) {
      t->strings = &values->strings[i];
      t->n_strings = 1;
    } else {
      t->data_bytes = values->data_bytes / values->n_elements;
      t->data = (const char *)values->data + i * t->data_bytes;
    }
    items[i] = (OnnxValue){.kind = ONNX_TYPE_TENSOR, .tensor = t};
  }
  ret->items = items;
}

static OnnxValue take_value(Cursor *c, const castnet_type *type) {
  OnnxValue v = {0};
  if (type->kind == CASTNET_KIND_TENSOR) {
    v.kind = ONNX_TYPE_TENSOR;
    v.tensor = take_tensor(c, type->dtype);
  } else if (type->kind == CASTNET_KIND_MAP) {
    v.kind = ONNX_TYPE_MAP;
    take_map(c, type, &v);
  } else {
    v.kind = type->kind == CASTNET_KIND_SEQUENCE ? ONNX_TYPE_SEQUENCE : ONNX_TYPE_OPTIONAL;
    v.n_items = (size_t)take(c);
    if (v.n_items > (size_t)(c->end - c->at)) c->bad = true; /* each takes more than a byte */
    OnnxValue *items = NEW_ARRAY(c->arena, OnnxValue, c->bad ? 0 : v.n_items);
    for (size_t i = 0; !c->bad && i < v.n_items; i++) items[i] = take_value(c, type->elem);
    v.items = items;
  }
  return v;
}

/* In the order of templates/check.c. */
static const char *const faults[] = {
    NULL,
    "it wrote beyond its workspace",
    "it wrote beyond the memory of an output",
    "it asked for a workspace that is not larger than the one it had",
    "it asked for a larger workspace than the header says",
    "it asked for more room in its outputs without saying how much",
    "it gave an output dimensions that cannot be",
};

bool adapter_read_outputs(Arena *a, const char *path, const castnet_interface *m, AdapterResult *ret) {
  Diags none = {.arena = a};
  Str file;
  *ret = (AdapterResult){0};
  if (!file_map(a, &none, path, &file)) return false;
  Cursor c = {a, file.ptr, file.ptr + file.len, m->big_endian != 0, false};
  ret->status = (int)take(&c);
  uint64_t fault = take(&c);
  ret->fault_output = (size_t)take(&c);
  ret->ws_needed = take(&c);
  if (c.bad || fault >= sizeof faults / sizeof *faults) return false;
  ret->fault = faults[fault];
  if (ret->status != 0 || ret->fault) return true;
  ret->outputs = NEW_ARRAY(a, OnnxValue, m->n_outputs);
  for (size_t i = 0; i < m->n_outputs; i++) ret->outputs[i] = take_value(&c, &m->outputs[i].type);
  return !c.bad && c.at == c.end;
}

const char *adapter_status_name(int status) {
  static const char *const names[] = {"CASTNET_OK", "CASTNET_ERR_WORKSPACE", "CASTNET_ERR_ALIGN", "CASTNET_ERR_CAPACITY",
                                      "CASTNET_ERR_DIM", "CASTNET_ERR_INDEX", "CASTNET_ERR_ISA", "CASTNET_ERR_WEIGHTS",
                                      "CASTNET_ERR_TRIP", "CASTNET_ERR_OP", "CASTNET_ERR_DEVICE"};
  return status >= 0 && (size_t)status < sizeof names / sizeof *names ? names[status] : "an unknown error";
}
