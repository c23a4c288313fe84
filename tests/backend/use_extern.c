/* The custom operator of the case "extern" of make_model, and calls of it. */
#include <stdio.h>
#include <string.h>

#include "m.h"

#define CHECK(x) \
  do { \
    if (!(x)) { \
      (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
      return 1; \
    } \
  } while (0)

static int attrs_are_right(const castnet_attr *a, size_t n) {
  CHECK(n == 7 && strcmp(a[0].name, "int") == 0 && a[0].kind == CASTNET_INT && a[0].value.i == -7);
  CHECK(a[1].kind == CASTNET_FLOAT && a[1].value.f > 0.24f && a[1].value.f < 0.26f);
  CHECK(a[2].kind == CASTNET_STRING && a[2].value.s.length == 4 && memcmp(a[2].value.s.ptr, "text", 4) == 0);
  CHECK(a[3].kind == CASTNET_INTS && a[3].n == 3 && a[3].value.ints[0] == INT64_MIN && a[3].value.ints[2] == 3);
  CHECK(a[4].kind == CASTNET_FLOATS && a[4].n == 2 && a[4].value.floats[1] < -0.9e30f);
  CHECK(a[5].kind == CASTNET_STRINGS && a[5].n == 2 && memcmp(a[5].value.strings[0].ptr, "a\"b", 3) == 0);
  CHECK(a[6].n == 0);
  return 0;
}

castnet_op keep_positive;
int keep_positive(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs,
                  size_t n_attrs, void *scratch, size_t scratch_size, const castnet_env *env) {
  if (attrs_are_right(attrs, n_attrs) || n_in != 2 || n_out != 1 || in[1].data != NULL || env == NULL) return CASTNET_ERR_OP;
  if (in[0].rank != 1 || in[0].dtype != 1 || out[0].capacity < (size_t)in[0].dims[0]) return CASTNET_ERR_OP;
  if (scratch_size < (size_t)in[0].dims[0]) return CASTNET_ERR_OP;
  memset(scratch, 1, scratch_size);
  const float *x = in[0].data;
  float *y = out[0].data;
  if (x[0] < -100.0f) { /* breaks its word */
    out[0].dims[0] = in[0].dims[0] + 1;
    return CASTNET_OK;
  }
  for (int64_t i = 0; i < in[0].dims[0]; i++)
    if (x[i] > 0) y[out[0].dims[0]++] = x[i];
  return CASTNET_OK;
}

int main(void) {
  static unsigned char space[4096 + 2 * m_WORKSPACE_ALIGN];
  unsigned char *ws = space + (m_WORKSPACE_ALIGN - (uintptr_t)space % m_WORKSPACE_ALIGN);
  const float x[5] = {1, -2, 3, -4, 5}, bad[1] = {-1000};
  m_inputs in = {{5}, x};
  m_outputs out = {0};
  CHECK(m_run(&in, &out, ws, 4096, NULL) == CASTNET_OK);
  CHECK(out.kept.dims[0] == 3 && out.copy.dims[0] == 3);
  for (int i = 0; i < 3; i++) CHECK(out.kept.data[i] > (float)(2 * i) && out.copy.data[i] > (float)(2 * i));
  CHECK(out.ws_needed <= m_WORKSPACE_SIZE);
  in.dim.n = 1;
  in.x = bad;
  CHECK(m_run(&in, &out, ws, 4096, NULL) == CASTNET_ERR_OP);
  return 0;
}
