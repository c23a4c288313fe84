/* Calls the case "dynamic" of make_model: x [batch][n][3], n from 1 to 8. OWNED: with --outputs=workspace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

#define CHECK(x) \
  do { \
    if (!(x)) { \
      (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
      return 1; \
    } \
  } while (0)

enum { MOST = 5 * 8 * 3 };

static int check_dims(int64_t batch, int64_t n, size_t want) {
  const m_dims dims = {batch, n};
  const m_inputs in = {dims, NULL};
  m_outputs out = {0};
  CHECK(m_workspace_size(&dims) == want);
  if (want == SIZE_MAX) CHECK(m_run(&in, &out, NULL, 0, NULL) == CASTNET_ERR_DIM);
  return 0;
}

static int check_run(unsigned char *ws, const float *x, int64_t batch, int64_t n) {
  const m_inputs in = {{batch, n}, x};
  const size_t count = (size_t)(batch * n * 3);
  m_outputs out = {0};
#ifndef OWNED
  float room[MOST];
  CHECK(m_run(&in, &out, ws, 1 << 16, NULL) == CASTNET_ERR_CAPACITY);
  CHECK(out.y.dims[0] == batch && out.y.dims[1] == n && out.y.dims[2] == 3);
  out.y.data = room;
  out.y.capacity = count - 1;
  CHECK(m_run(&in, &out, ws, 1 << 16, NULL) == CASTNET_ERR_CAPACITY);
  out.y.capacity = count;
#endif
  CHECK(m_run(&in, &out, ws, 0, NULL) == CASTNET_ERR_WORKSPACE);
  CHECK(m_run(&in, &out, ws, out.ws_needed, NULL) == CASTNET_OK);
  CHECK(out.y.dims[0] == batch && out.y.dims[1] == n && out.y.dims[2] == 3);
  for (size_t i = 0; i < count; i++) {
    const float want = x[i] + (float)(VALUE + (int)(i % 3));
    CHECK(out.y.data[i] >= want && out.y.data[i] <= want);
  }
  return 0;
}

int main(void) {
  static unsigned char space[(1 << 16) + 2 * m_WORKSPACE_ALIGN];
  unsigned char *ws = space + (m_WORKSPACE_ALIGN - (uintptr_t)space % m_WORKSPACE_ALIGN);
  float x[MOST];
  for (int i = 0; i < MOST; i++) x[i] = (float)i;
  if (check_dims(0, 1, SIZE_MAX) || check_dims(1, 9, SIZE_MAX) || check_dims(1, -1, SIZE_MAX)) return 1;
  if (check_dims(INT64_MAX, 8, SIZE_MAX) || check_dims(INT64_MAX / 3 + 1, 1, SIZE_MAX)) return 1;
#ifndef OWNED
  if (check_dims(2, 3, 2 * 3 * 3 * 4)) return 1;
#endif
  return check_run(ws, x, 1, 1) || check_run(ws, x, 5, 8) || check_run(ws, x, 2, 3);
}
