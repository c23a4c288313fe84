#include "cli/npy.h"

#include "base/files.h"
#include "base/io.h"
#include "ir/ir.h"

#include "castnet_abi.h"
#include "ops/case.h"

#include <inttypes.h>
#include <stdlib.h>

/* NumPy's names of the types that both have. */
static const struct {
  char kind;
  unsigned bytes;
  DType dtype;
} types[] = {
    {'f', 2, DT_f16}, {'f', 4, DT_f32}, {'f', 8, DT_f64}, {'i', 1, DT_s8},  {'i', 2, DT_s16}, {'i', 4, DT_s32},  {'i', 8, DT_s64},
    {'u', 1, DT_u8},  {'u', 2, DT_u16}, {'u', 4, DT_u32}, {'u', 8, DT_u64}, {'b', 1, DT_b1},  {'c', 8, DT_c64}, {'c', 16, DT_c128},
};
enum { N_TYPES = sizeof types / sizeof *types };

/* ---- reading ---- */
typedef struct Header {
  char order, kind;
  unsigned bytes;
  bool fortran;
  size_t rank;
  int64_t dims[MAX_RANK];
} Header;

/* The text behind 'key': in the header's dictionary literal, or NULL. */
static const char *find_key(const char *text, const char *key) {
  const char *p = strstr(text, key);
  if (!p) return NULL;
  p = strchr(p + strlen(key), ':');
  if (!p) return NULL;
  p++;
  while (*p == ' ') p++;
  return p;
}

static bool read_shape(const char *p, Header *h) {
  if (*p++ != '(') return false;
  while (*p != ')') {
    char *end;
    long long v = strtoll(p, &end, 10);
    if (end == p || v < 0 || h->rank == MAX_RANK) return false;
    h->dims[h->rank++] = v;
    p = end;
    while (*p == ' ' || *p == ',') p++;
  }
  return true;
}

static bool read_header(const char *text, Header *h) {
  const char *descr = find_key(text, "'descr'"), *order = find_key(text, "'fortran_order'"), *dims = find_key(text, "'shape'");
  if (!descr || !order || !dims || *descr++ != '\'') return false;
  h->order = *descr++;
  h->kind = *descr++;
  h->bytes = (unsigned)strtoul(descr, NULL, 10);
  h->fortran = strncmp(order, "True", 4) == 0;
  return read_shape(dims, h);
}

static DType find_type(const Header *h, int hint) {
  DType wanted = dtype_from_onnx(hint);
  unsigned bits = dtype_rows[wanted].bits;
  for (size_t i = 0; i < N_TYPES; i++)
    if (types[i].kind == h->kind && types[i].bytes == h->bytes) return types[i].dtype;
  if (h->kind == 'V' && bits >= 8 && bits == 8 * h->bytes) return wanted;
  return DT_NONE;
}

static const OnnxTensor *fail(Diags *d, const char *path, const char *why) {
  (void)diag_add(d, DIAG_E0601, (DiagPlace){.file = str_c(path)}, "%s", why);
  return NULL;
}

/* NumPy's strings of one width: bytes (S), characters of four bytes (U); zeros at the end are padding. */
static Str read_string(Arena *a, const Header *h, const unsigned char *p) {
  size_t n = h->bytes;
  StrBuf b = sb_new(a);
  if (h->kind == 'S') {
    while (n && p[n - 1] == 0) n--;
    return (Str){(const char *)p, n};
  }
  while (n && !(p[4 * n - 4] | p[4 * n - 3] | p[4 * n - 2] | p[4 * n - 1])) n--;
  for (size_t i = 0; i < n; i++, p += 4) {
    char utf8[4];
    const uint32_t c = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    sb_put(&b, utf8, cn_utf8_write(c < CN_NOT_UTF8 ? c : 0xfffd, utf8));
  }
  return sb_view(&b);
}

static const OnnxTensor *read_strings(Arena *a, Diags *d, const char *path, const Header *h, OnnxTensor *r, Str rest) {
  const size_t width = h->kind == 'S' ? h->bytes : 4 * (size_t)h->bytes;
  size_t bytes;
  if (!size_mul(r->n_elements, width, &bytes) || rest.len < bytes || (width == 0 && r->n_elements > 1 << 20)) return fail(d, path, "this .npy file is cut off");
  Str *strings = NEW_ARRAY(a, Str, r->n_elements);
  for (size_t i = 0; i < r->n_elements; i++) strings[i] = read_string(a, h, (const unsigned char *)rest.ptr + i * width);
  r->strings = strings;
  r->n_strings = r->n_elements;
  return r;
}

const OnnxTensor *npy_read(Arena *a, Diags *d, const char *path, int hint) {
  Str file;
  Header h = {0};
  if (!file_map(a, d, path, &file)) return NULL;
  const unsigned char *p = (const unsigned char *)file.ptr;
  if (file.len < 12 || memcmp(p, "\x93NUMPY", 6) != 0) return fail(d, path, "this is no .npy file");
  size_t at = p[6] == 1 ? 10 : 12, len = (size_t)p[8] | (size_t)p[9] << 8;
  if (p[6] != 1) len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  if (file.len - at < len) return fail(d, path, "this .npy file is cut off");
  if (!read_header(arena_cstr(a, (Str){file.ptr + at, len}), &h)) return fail(d, path, "this .npy header is not understood");
  const bool strings = (h.kind == 'S' || h.kind == 'U') && h.bytes < 1u << 28;
  DType t = strings ? DT_str : find_type(&h, hint);
  if (t == DT_NONE) return fail(d, path, "this .npy file holds a type that is not read");
  if (h.order == '>' && h.bytes > 1 && h.kind != 'S') return fail(d, path, "this .npy file is big-endian");
  if (h.fortran && h.rank > 1) return fail(d, path, "this .npy file is in Fortran order");
  OnnxTensor *r = NEW(a, OnnxTensor);
  *r = (OnnxTensor){.data_type = dtype_rows[t].onnx, .n_dims = h.rank, .n_elements = 1, .dims = arena_dup(a, h.dims, sizeof h.dims)};
  for (size_t i = 0; i < h.rank; i++)
    if (!size_mul(r->n_elements, (size_t)h.dims[i], &r->n_elements)) return fail(d, path, "this .npy file's size overflows");
  if (strings) return read_strings(a, d, path, &h, r, (Str){file.ptr + at + len, file.len - at - len});
  if (!dtype_bytes(t, r->n_elements, &r->data_bytes) || file.len - at - len < r->data_bytes)
    return fail(d, path, "this .npy file is cut off");
  r->data = file.ptr + at + len;
  return r;
}

/* ---- writing ---- */
bool npy_holds(const OnnxTensor *t) {
  bool ok = true;
  for (size_t i = 0; i < t->n_strings; i++) ok = ok && (t->strings[i].len == 0 || t->strings[i].ptr[t->strings[i].len - 1] != 0);
  return ok;
}

/* As bytes of one width. */
static StrBuf write_strings(Arena *a, const OnnxTensor *t, size_t *ret_width) {
  StrBuf data = sb_new(a);
  *ret_width = 1;
  for (size_t i = 0; i < t->n_strings; i++)
    if (t->strings[i].len > *ret_width) *ret_width = t->strings[i].len;
  for (size_t i = 0; i < t->n_strings; i++) {
    sb_str(&data, t->strings[i]);
    for (size_t k = t->strings[i].len; k < *ret_width; k++) sb_putc(&data, '\0');
  }
  return data;
}

bool npy_write(Arena *a, Diags *d, const char *path, const OnnxTensor *t) {
  DType type = dtype_from_onnx(t->data_type);
  char kind = 'V';
  StrBuf b = sb_new(a), head = sb_new(a);
  for (size_t i = 0; i < N_TYPES; i++)
    if (types[i].dtype == type) kind = types[i].kind;
  size_t size = dtype_host_size(type);
  StrBuf text = {0};
  const bool strings = type == DT_str;
  if (strings) {
    if (!npy_holds(t)) return fail(d, path, "a string that ends with a zero byte is not written as .npy") != NULL;
    text = write_strings(a, t, &size);
    kind = 'S';
  }
  if (dtype_rows[type].bits < 8 && dtype_rows[type].kind != KIND_F) kind = dtype_rows[type].kind == KIND_S ? 'i' : 'u';
  sb_printf(&head, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", size == 1 || strings ? '|' : '<', kind, size);
  for (size_t i = 0; i < t->n_dims; i++) sb_printf(&head, "%" PRId64 ",%s", t->dims[i], i + 1 < t->n_dims ? " " : "");
  sb_puts(&head, "), }");
  while ((10 + head.len + 1) % 64 != 0) sb_putc(&head, ' ');
  sb_putc(&head, '\n');
  sb_put(&b, "\x93NUMPY\x01\x00", 8);
  sb_putc(&b, (char)(head.len & 0xff));
  sb_putc(&b, (char)(head.len >> 8));
  sb_str(&b, sb_view(&head));
  if (strings) {
    sb_str(&b, sb_view(&text));
    return file_write(a, d, path, sb_view(&b));
  }
  const Tensor data = {.dtype = type, .n = t->n_elements, .bytes = t->data, .n_bytes = t->data_bytes};
  sb_put(&b, dtype_rows[type].bits < 8 ? tensor_host_elements(a, &data) : t->data, size * t->n_elements);
  return file_write(a, d, path, sb_view(&b));
}
