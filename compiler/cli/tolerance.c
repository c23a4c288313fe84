#include "cli/tolerance.h"

#include <errno.h>
#include <stdlib.h>

/* As ONNX's own test runner has them. */
static const Tolerance usual = {.atol = 1e-5, .rtol = 1e-3};

static struct NamedTolerance *named(Cli *c, Tolerances *t, Str name) {
  for (size_t i = 0; i < t->n_named; i++)
    if (str_eq(t->named[i].name, name)) return &t->named[i];
  struct NamedTolerance *list = NEW_ARRAY(c->arena, struct NamedTolerance, t->n_named + 1);
  if (t->n_named) memcpy(list, t->named, t->n_named * sizeof *list);
  t->named = list;
  list[t->n_named] = (struct NamedTolerance){.name = arena_str(c->arena, name)};
  return &list[t->n_named++];
}

Tolerance tolerance_of(const Tolerances *t, castnet_slice output) {
  Tolerance r = t->others;
  for (size_t i = 0; i < t->n_named; i++) {
    const struct NamedTolerance *n = &t->named[i];
    if (!str_eq(n->name, (Str){output.ptr, output.length})) continue;
    if (n->has_atol) r.atol = n->t.atol;
    if (n->has_rtol) r.rtol = n->t.rtol;
    r.random = n->t.random;
  }
  return r;
}

/* [OUTPUT=]V; the name may hold '=' itself. */
static bool read_option(Cli *c, Tolerances *t, OptionId id, const char *s) {
  const char *equals = strrchr(s, '='), *number = equals ? equals + 1 : s;
  char *end;
  errno = 0;
  double v = strtod(number, &end);
  if (errno || end == number || *end || !(v >= 0))
    return usage_error(c, "--%s: %s is not a number, or OUTPUT=NUMBER", option_rows[id].word, diag_quote(&c->diags, str_c(s)));
  if (!equals) {
    *(id == OPT_ATOL ? &t->others.atol : &t->others.rtol) = v;
    return true;
  }
  struct NamedTolerance *n = named(c, t, (Str){s, (size_t)(equals - s)});
  *(id == OPT_ATOL ? &n->t.atol : &n->t.rtol) = v;
  *(id == OPT_ATOL ? &n->has_atol : &n->has_rtol) = true;
  return true;
}

static bool read_names(Cli *c, const json_t *list, Tolerances *t) {
  size_t i;
  json_t *name;
  if (list && !json_is_array(list)) return false;
  json_array_foreach(list, i, name) {
    if (!json_is_string(name)) return false;
    named(c, t, (Str){json_string_value(name), json_string_length(name)})->t.random = true;
  }
  return true;
}

/* Non-negative, or absent (then `absent`). */
static bool read_number(const json_t *v, double absent, double *ret) {
  *ret = v ? json_number_value(v) : absent;
  return !v || (json_is_number(v) && *ret >= 0);
}

static bool read_outputs(Cli *c, json_t *outputs, Tolerances *t) {
  const char *name;
  json_t *v;
  if (!json_is_object(outputs)) return false;
  json_object_foreach(outputs, name, v) {
    struct NamedTolerance *n = named(c, t, str_c(name));
    n->has_atol = n->has_rtol = true;
    if (!json_is_object(v) || !read_number(json_object_get(v, "atol"), 0, &n->t.atol) ||
        !read_number(json_object_get(v, "rtol"), 0, &n->t.rtol))
      return false;
  }
  return true;
}

static void free_json(void *v) { json_decref(v); }

static bool read_file(Cli *c, const char *path, Tolerances *t) {
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  DiagPlace place = {.file = str_c(path)};
  if (!root) {
    const char *why = diag_quote(&c->diags, str_c(error.text));
    (void)diag_add(&c->diags, DIAG_E0601, place, "line %d: %s", error.line, why);
    return false;
  }
  arena_on_free(c->arena, free_json, root);
  t->others = (Tolerance){0};
  if (read_outputs(c, json_object_get(root, "outputs"), t) && read_names(c, json_object_get(root, "random"), t)) return true;
  Diag *d = diag_add(&c->diags, DIAG_E0601, place, "these are no tolerances");
  d->hint = STR("{\"outputs\": {NAME: {\"atol\": A, \"rtol\": R}}, \"random\": [NAME, ...]}");
  return false;
}

bool tolerances_from_options(Cli *c, Tolerances *ret) {
  *ret = (Tolerances){.others = usual};
  const char *file = options_last(c, OPT_TOLERANCES);
  bool ok = !file || read_file(c, file, ret);
  for (size_t i = 0; i < c->uses.n; i++) {
    const OptionUse *u = &c->uses.data[i];
    if (u->id == OPT_ATOL || u->id == OPT_RTOL) ok &= read_option(c, ret, u->id, u->value);
    if (u->id == OPT_RANDOM) named(c, ret, str_c(u->value))->t.random = true;
  }
  return ok;
}

bool tolerances_from_row(Cli *c, const json_t *row, Tolerances *ret) {
  json_t *outputs = json_object_get(row, "outputs");
  *ret = (Tolerances){0};
  bool ok = read_number(json_object_get(row, "atol"), usual.atol, &ret->others.atol) &&
            read_number(json_object_get(row, "rtol"), usual.rtol, &ret->others.rtol) &&
            read_names(c, json_object_get(row, "random"), ret) && (!outputs || read_outputs(c, outputs, ret));
  return ok || usage_error(c, "--batch: atol and rtol must be numbers, random a list of names, outputs their atol and rtol by name");
}
