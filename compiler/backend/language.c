#include "backend/language.h"

#include <inttypes.h>

static const Language *const languages[] = {&language_c, &language_cuda, NULL};

const Language *language_of(const Target *t) {
  for (const Language *const *l = languages; *l; l++)
    if (strcmp((*l)->name, t->language) == 0) return *l;
  return &language_c;
}

/* ---- C ---- */
void language_c_check_weights(const Frame *f, StrBuf *b) {
  if (!frame_weights_checked(f)) return;
  int n = (int)f->name.len;
  const char *name = f->name.ptr;
  if (f->opt->weights == WEIGHTS_BIN)
    sb_printf(b, "  const int error = cn_weights_check(e.weights, e.weights_size, %zu, %.*s_CODE_HIGH, %.*s_CODE_LOW);\n",
              f->common->weights_size, n, name, n, name);
  else
    sb_printf(b, "  const int error = cn_weights_check_set(%.*s_WEIGHTS, %.*s_SET);\n", n, name, n, name);
  sb_puts(b, "  if (error != CASTNET_OK) return error;\n");
}

void language_c_weights_entry(const Frame *f, StrBuf *b) {
  if (f->opt->weights != WEIGHTS_BIN) return;
  int n = (int)f->name.len;
  const char *s = f->name.ptr;
  sb_printf(b, "int %.*s_check_weights(const void *weights, size_t size) {\n", n, s);
  sb_printf(b, "  return cn_weights_check(weights, size, %zu, %.*s_CODE_HIGH, %.*s_CODE_LOW);\n}\n\n", f->common->weights_size, n, s, n, s);
}

/* As macros, so that nothing else in N.c changes with their values. */
void language_c_declare_weights(Frame *f, StrBuf *b) {
  int n = (int)f->name.len;
  const char *s = f->name.ptr;
  if (f->common->weights.n == 0 && f->opt->weights != WEIGHTS_BIN) return;
  if (f->opt->weights == WEIGHTS_BIN) {
    sb_printf(b, "#define %.*s_CODE_HIGH UINT64_C(0x%016" PRIx64 ")\n", n, s, f->common->code_hash.hi);
    sb_printf(b, "#define %.*s_CODE_LOW UINT64_C(0x%016" PRIx64 ")\n", n, s, f->common->code_hash.lo);
  } else if (!frame_weights_asm(f)) {
    sb_str(b, weights_union(f));
    sb_printf(b, "extern const union %.*s_weights %.*s_weights_%016" PRIx64 ";\n", n, s, n, s, f->common->set_id);
    sb_printf(b, "#define %.*s_WEIGHTS %.*s_weights_%016" PRIx64 ".u8\n", n, s, n, s, f->common->set_id);
    if (frame_weights_checked(f)) sb_printf(b, "#define %.*s_SET UINT64_C(0x%016" PRIx64 ")\n", n, s, f->common->set_id);
  } else {
    sb_printf(b, "extern const unsigned char %.*s_weights_%016" PRIx64 "[];\n", n, s, f->common->set_id);
    sb_printf(b, "#define %.*s_WEIGHTS %.*s_weights_%016" PRIx64 "\n", n, s, n, s, f->common->set_id);
    sb_printf(b, "#define %.*s_SET UINT64_C(0x%016" PRIx64 ")\n", n, s, f->common->set_id);
  }
}

static void c_item(StrBuf *b, const BundleChunk *item) { sb_puts(b, item->text); }

static void c_run_head(const Frame *f, StrBuf *b) {
  language_c_check_weights(f, b);
}

static void c_run_weights(const Frame *f, StrBuf *b) {
  if (f->opt->weights == WEIGHTS_BIN) sb_puts(b, "  const unsigned char *const w = (const unsigned char *)e.weights;\n");
  else sb_printf(b, "  const unsigned char *const w = %.*s_WEIGHTS;\n", STR_WHOLE(f->name));
}

const Language language_c = {
    .name = "c", .suffix = ".c", .skeleton = "model.c.in", .restrict_word = "restrict ", .device = "", .bad_index = "return CASTNET_ERR_INDEX;",
    .steps = c_steps, .item = c_item, .weights = language_c_declare_weights, .run_head = c_run_head, .run_weights = c_run_weights,
};
