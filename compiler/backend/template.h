/* Skeletons of emitted files (templates/), embedded at build time.
 *
 * `@token@` is replaced by a text. A line that is `@token@` alone is a section: its text stands as whole lines, and an empty
 * one leaves no line. Nothing else: no conditions, no logic. */
#ifndef CASTNET_TEMPLATE_H
#define CASTNET_TEMPLATE_H

#include "base/diag.h"

typedef struct Template {
  const char *name; /* "model.h.in" */
  const char *text;
} Template;
extern const Template templates[];
extern const size_t n_templates;

typedef struct TemplateValue {
  const char *token;
  Str text;
} TemplateValue;

/* E0901 for an unknown template or token. */
bool template_fill(StrBuf *b, Diags *d, const char *name, const TemplateValue *values, size_t n_values);

#endif
