/* SPDX-License-Identifier: MIT-0 */
/* Runs models compiled by castnet on inputs from a file and writes their outputs to another: what `castnet check` and
 * `castnet run` build along. usage: program MODEL-NUMBER INPUTS OUTPUTS [WEIGHTS] */
#include "castnet_check_write.h"

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) die("usage: program MODEL-NUMBER INPUTS OUTPUTS [WEIGHTS]");
  struct call c = call_open((size_t)strtoul(argv[1], NULL, 10), argv[2]);
  const struct check_model *m = c.m;
  const castnet_env env = env_new(m, argc == 5 ? argv[4] : NULL);

  const int status = call_model(&c, &env);

  write_begin(argv[3]);
  put((uint64_t)status);
  put((uint64_t)c.fault);
  put(c.fault_output);
  put(ws_needed(&c));
  if (status == CASTNET_OK && c.fault == FAULT_NONE) write_outputs(&c);
  write_end();
  _Exit(0); /* what was allocated is left as it is */
}
