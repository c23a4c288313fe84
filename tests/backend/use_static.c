/* Calls the case "static" of make_model every way that a caller may, right and wrong. OWNED: with --outputs=workspace. */
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

typedef struct Seen {
  unsigned before, after;
} Seen;

static void hook(void *user, uint32_t step, int phase) {
  Seen *s = user;
  *(phase == 0 ? &s->before : &s->after) += step + 1;
}

static const float x[6] = {0, 1, 2, 3, 4, 5};

static int is_right(const float *y) {
  for (int i = 0; i < 6; i++)
    if (y[i] < x[i] + (float)(VALUE + i % 3) || y[i] > x[i] + (float)(VALUE + i % 3)) return 0;
  return 1;
}

static int check_errors(unsigned char *ws, const castnet_env *env) {
  const m_inputs in = {x};
  m_outputs out = {0};
  CHECK(m_run(&in, &out, ws, 0, env) == CASTNET_ERR_WORKSPACE);
  CHECK(out.ws_needed == m_WORKSPACE_SIZE);
  CHECK(m_run(&in, &out, ws + 1, m_WORKSPACE_SIZE, env) == CASTNET_ERR_ALIGN);
#ifndef OWNED
  CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, env) == CASTNET_ERR_CAPACITY);
#endif
  return 0;
}

/* Callers of an older library give a shorter environment: what lies behind it is not read. */
static int check_environments(unsigned char *ws, castnet_env env) {
  const m_inputs in = {x};
  float room[6] = {0};
  m_outputs out = {0};
  Seen seen = {0, 0};
#ifndef OWNED
  out.y = room;
#endif
  env.step = hook;
  env.step_user = &seen;
  CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, &env) == CASTNET_OK);
  CHECK(seen.before == 3 && seen.after == 3);
  CHECK(is_right(out.y));
  env.size = offsetof(castnet_env, step);
  CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, &env) == CASTNET_OK);
  CHECK(seen.before == 3);
  (void)room;
  return 0;
}

int main(int argc, char **argv) {
  static unsigned char space[m_WORKSPACE_SIZE + 2 * m_WORKSPACE_ALIGN], weights[4096];
  unsigned char *ws = space + (m_WORKSPACE_ALIGN - (uintptr_t)space % m_WORKSPACE_ALIGN);
  unsigned char *w = weights + (64 - (uintptr_t)weights % 64);
  castnet_env env;
  memset(&env, 0, sizeof env);
  env.size = sizeof env;
  env.isa = m_detect();
#ifdef HAS_CPU /* what the target needs; a processor without it says so */
  if (!HAS_CPU) {
    const m_inputs in = {x};
    m_outputs out = {0};
    CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, &env) == CASTNET_ERR_ISA);
    return 0;
  }
#endif
  if (argc > 1) { /* --weights=bin */
    const m_inputs in = {x};
    m_outputs out = {0};
    FILE *f = fopen(argv[1], "rb");
    CHECK(f != NULL);
    env.weights_size = fread(w, 1, sizeof weights - 64, f);
    CHECK(fclose(f) == 0);
    CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, NULL) == CASTNET_ERR_WEIGHTS);
    env.weights = w + 1;
    CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, &env) == CASTNET_ERR_ALIGN);
    env.weights = w;
    w[24] ^= 1;
    CHECK(m_run(&in, &out, ws, m_WORKSPACE_SIZE, &env) == CASTNET_ERR_WEIGHTS);
    w[24] ^= 1;
  }
  return check_errors(ws, &env) || check_environments(ws, env);
}
