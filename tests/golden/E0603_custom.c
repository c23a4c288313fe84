/* A custom operator that always fails. Its file cannot know the name of a generated header, so pointers are void here. */
#include <stddef.h>

int failing(const void *in, size_t n_in, void *out, size_t n_out, const void *attrs, size_t n_attrs, void *scratch,
            size_t scratch_size, const void *env);

int failing(const void *in, size_t n_in, void *out, size_t n_out, const void *attrs, size_t n_attrs, void *scratch,
            size_t scratch_size, const void *env) {
  (void)in, (void)n_in, (void)out, (void)n_out, (void)attrs, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  return 9; /* CASTNET_ERR_OP */
}
