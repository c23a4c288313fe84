/* usage: use WEIGHTS OFFSET: runs model m (x [4] -> y [3]) with weights from a file that is put OFFSET bytes behind an aligned place.
 * Prints what m_check_weights and m_run returned, then the outputs. */
#include "m.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned char memory[1 << 16] __attribute__((aligned(64)));
static unsigned char workspace[m_WORKSPACE_SIZE] __attribute__((aligned(m_WORKSPACE_ALIGN)));

int main(int argc, char **argv) {
  static const float x[4] = {1.0f, -2.0f, 3.0f, 0.5f};
  float y[3] = {0};
  if (argc != 3) return 1;
  unsigned char *const at = memory + atoi(argv[2]);
  FILE *const f = fopen(argv[1], "rb");
  if (!f) return 1;
  castnet_env env = {0};
  env.size = sizeof env;
  env.weights = at;
  env.weights_size = fread(at, 1, sizeof memory - 64, f);
  if (fclose(f) != 0) return 1;
  const m_inputs in = {x};
  m_outputs out = {y, 0};
  const int checked = m_check_weights(at, env.weights_size);
  const int status = m_run(&in, &out, workspace, sizeof workspace, &env);
  printf("%d %d %.6g %.6g %.6g\n", checked, status, (double)y[0], (double)y[1], (double)y[2]);
  return 0;
}
