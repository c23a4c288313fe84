#include "cli/check.h"

#include <stdio.h>
#include <stdlib.h>

int check_status(const Check *k) {
  int worst = diags_exit_code(&k->diags);
  for (size_t i = 0; k->model && i < castnet_n_diagnostics(k->model); i++) {
    int s = (int)castnet_get_diagnostic(k->model, i)->status;
    if (s > worst) worst = s;
  }
  return worst;
}

static bool has_code(const Check *k, DiagCode code) {
  for (size_t i = 0; i < k->diags.list.n; i++)
    if (k->diags.list.data[i].code == code) return true;
  return false;
}

static const char *verdict(const Check *k) {
  switch (check_status(k)) {
    case 0: return "pass";
    case CASTNET_STATUS_MODEL: return "refused";
    case CASTNET_STATUS_DIFFERS: return has_code(k, DIAG_E0603) ? "failed" : "differs";
    case CASTNET_STATUS_BUG: return "bug";
    default: return "failed";
  }
}

/* ---- for people ---- */
/* Of a quantised output: how many of its elements another rounding moved. */
static void print_quanta(StrBuf *b, const OutputReport *o) {
  const Comparison *r = &o->comparison;
  if (r->quantum <= 0 || r->quanta.by_one + r->quanta.by_more == 0) return;
  sb_puts(b, "         ");
  sb_escaped(b, (Str){o->name.ptr, o->name.length}, 80);
  sb_printf(b, ": %zu of %zu elements differ by one quantum (%.3g)", r->quanta.by_one, r->n, r->quantum);
  if (r->quanta.by_more) sb_printf(b, ", %zu by more", r->quanta.by_more);
  sb_putc(b, '\n');
}

static void print_set(StrBuf *b, const SetReport *s) {
  size_t n_bad = 0, n_random = 0;
  double most = 0;
  for (size_t i = 0; i < s->n_outputs; i++) {
    n_bad += !s->outputs[i].comparison.ok;
    n_random += s->outputs[i].comparison.random;
    if (s->outputs[i].comparison.max_abs > most) most = s->outputs[i].comparison.max_abs;
  }
  sb_puts(b, n_bad ? "differs: " : "agrees:  ");
  if (s->dir) sb_escaped(b, str_c(s->dir), 1000);
  else sb_puts(b, "made inputs");
  sb_printf(b, " (%zu output%s, ", s->n_outputs, s->n_outputs == 1 ? "" : "s");
  if (n_random) sb_printf(b, "%zu random: only type and shape compared, ", n_random);
  sb_printf(b, "greatest difference %.3g)\n", most);
  for (size_t i = 0; i < s->n_outputs; i++) print_quanta(b, &s->outputs[i]);
}

void check_print(const Cli *c, const Check *k) {
  StrBuf b = sb_new(c->arena);
  for (size_t i = 0; i < k->sets.n; i++) print_set(&b, &k->sets.data[i]);
  if (k->sets.n && !k->sets.data[0].dir)
    sb_puts(&b, "There was no recorded data: compiled code was compared with castnet's own reference evaluation of the\n"
                "unoptimised model. This proves passes and emission, not the meaning of operators.\n");
  print_out(&b);
}

void check_print_diags(const Cli *c, const Check *k) {
  if (k->model) print_model_diags(c, k->model);
  print_diags(c, &k->diags);
}

/* ---- JSON ---- */
/* Any bytes: what is not UTF-8 is escaped. */
static json_t *text(const Cli *c, const char *p, size_t n) {
  json_t *s = json_stringn(p ? p : "", n);
  if (s) return s;
  StrBuf b = sb_new(c->arena);
  sb_escaped(&b, (Str){p, n}, SIZE_MAX);
  return json_stringn(b.data, b.len);
}

static json_t *number(double v) { return v - v == 0 ? json_real(v) : json_null(); /* JSON has no infinity */ }

static json_t *diagnostic(const Cli *c, const char *code, castnet_slice op, castnet_slice domain, int64_t node, castnet_slice line) {
  json_t *o = json_object();
  json_object_set_new(o, "code", json_string(code));
  json_object_set_new(o, "op", text(c, op.ptr, op.length));
  json_object_set_new(o, "domain", text(c, domain.ptr, domain.length));
  if (node >= 0) json_object_set_new(o, "node", json_integer(node));
  json_object_set_new(o, "text", text(c, line.ptr, line.length));
  return o;
}

static json_t *diagnostics(const Cli *c, const Check *k) {
  json_t *list = json_array();
  for (size_t i = 0; k->model && i < castnet_n_diagnostics(k->model); i++) {
    const castnet_diagnostic *d = castnet_get_diagnostic(k->model, i);
    json_array_append_new(list, diagnostic(c, d->code, d->op_type, d->domain, d->node, d->text));
  }
  const castnet_slice none = {"", 0};
  for (size_t i = 0; i < k->diags.list.n; i++) {
    const Diag *d = &k->diags.list.data[i];
    json_array_append_new(list, diagnostic(c, diag_rows[d->code].name, none, none, -1, (castnet_slice){d->text.ptr, d->text.len}));
  }
  return list;
}

static json_t *sets(const Cli *c, const Check *k) {
  json_t *list = json_array();
  for (size_t i = 0; i < k->sets.n; i++) {
    const SetReport *s = &k->sets.data[i];
    json_t *outputs = json_array(), *set = json_object();
    for (size_t j = 0; j < s->n_outputs; j++) {
      const Comparison *r = &s->outputs[j].comparison;
      json_t *o = json_object();
      json_object_set_new(o, "name", text(c, s->outputs[j].name.ptr, s->outputs[j].name.length));
      json_object_set_new(o, "max_abs", number(r->max_abs));
      json_object_set_new(o, "max_rel", number(r->max_rel));
      json_object_set_new(o, "n", json_integer((json_int_t)r->n));
      json_object_set_new(o, "n_bad", json_integer((json_int_t)r->n_bad));
      if (r->quantum > 0) {
        json_object_set_new(o, "quantum", json_real(r->quantum));
        json_object_set_new(o, "n_one_quantum", json_integer((json_int_t)r->quanta.by_one));
        json_object_set_new(o, "n_more_quanta", json_integer((json_int_t)r->quanta.by_more));
      }
      json_object_set_new(o, "random", json_boolean(r->random));
      json_object_set_new(o, "ok", json_boolean(r->ok));
      json_array_append_new(outputs, o);
    }
    json_object_set_new(set, "dir", s->dir ? text(c, s->dir, strlen(s->dir)) : json_null());
    json_object_set_new(set, "outputs", outputs);
    json_array_append_new(list, set);
  }
  return list;
}

void check_print_json(const Cli *c, const Check *k) {
  json_t *o = json_object();
  json_object_set_new(o, "schema", json_string("castnet-check-1"));
  json_object_set_new(o, "model", text(c, k->path, strlen(k->path)));
  json_object_set_new(o, "verdict", json_string(verdict(k)));
  json_object_set_new(o, "diagnostics", diagnostics(c, k));
  json_object_set_new(o, "datasets", sets(c, k));
  castnet_memory m = k->iface ? castnet_get_memory(k->model) : (castnet_memory){0};
  if (m.workspace) json_object_set_new(o, "arena_bytes", json_integer((json_int_t)m.workspace));
  if (m.lower_bound) json_object_set_new(o, "arena_bound", json_integer((json_int_t)m.lower_bound));
  if (m.file_order_peak) json_object_set_new(o, "file_order_peak", json_integer((json_int_t)m.file_order_peak));
  char *line = json_dumps(o, JSON_COMPACT);
  json_decref(o);
  if (!line) door_leave(arena_door(c->arena), DOOR_MEMORY, "out of memory");
  (void)puts(line);
  (void)fflush(stdout);
  free(line);
}
