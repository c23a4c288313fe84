/* Which row stands for a node: opset versions, the table by name, and the list of what is missing. */
#include "ops/import_private.h"

Str canonical_domain(Str domain) { return str_is(domain, "ai.onnx") ? (Str){"", 0} : domain; }

static Str row_key(Arena *a, Str domain, Str type) {
  StrBuf b = sb_new(a);
  sb_str(&b, domain);
  sb_putc(&b, '\n');
  sb_str(&b, type);
  return sb_view(&b);
}

void import_index_rows(Importer *im) {
  im->rows = map_new(im->a);
  for (size_t i = 0; i < n_onnx_op_rows; i++) {
    const OnnxOpRow *row = &onnx_op_rows[i];
    Str key = row_key(im->a, str_c(row->domain), str_c(row->type));
    RowList *l = map_get(&im->rows, key);
    if (!l) map_put(&im->rows, key, l = NEW(im->a, RowList));
    vec_push(im->a, l->rows, row);
  }
}

const OnnxOpRow *import_find_row(Importer *im, Str domain, Str type, int version) {
  enum { KEY_MAX = 128 }; /* longer than any row's, so that looking up allocates nothing */
  char key[KEY_MAX];
  domain = canonical_domain(domain);
  if (domain.len + type.len + 1 > KEY_MAX) return NULL;
  if (domain.len) memcpy(key, domain.ptr, domain.len);
  key[domain.len] = '\n';
  if (type.len) memcpy(key + domain.len + 1, type.ptr, type.len);
  const RowList *l = map_get(&im->rows, (Str){key, domain.len + 1 + type.len});
  for (size_t i = 0; l && i < l->rows.n; i++)
    if (l->rows.data[i]->since <= version && version <= l->rows.data[i]->until) return l->rows.data[i];
  return NULL;
}

/* A function names its own versions; what it leaves out is as in its caller, and a domain that nothing imports is read as its latest. */
int import_opset_version(const Importer *im, Str domain) {
  enum { LATEST = 999 };
  domain = canonical_domain(domain);
  for (const Frame *f = im->frame; f; f = f->parent)
    for (size_t i = 0; i < f->n_opsets; i++)
      if (str_eq(canonical_domain(f->opsets[i].domain), domain)) {
        int64_t v = f->opsets[i].version;
        return v < 1 ? 1 : v > LATEST ? LATEST : (int)v;
      }
  return LATEST;
}

/* ---- operators that are missing: each once, with a count ---- */
static Str input_names(Importer *im, const OnnxNode *n) {
  enum { SHOWN = 8 };
  StrBuf b = sb_new(im->diags->arena);
  for (size_t k = 0; k < n->n_inputs && k < SHOWN; k++) {
    if (k) sb_puts(&b, ", ");
    sb_puts(&b, diag_quote(im->diags, n->inputs[k]));
  }
  sb_puts(&b, " -> ");
  for (size_t k = 0; k < n->n_outputs && k < SHOWN; k++) {
    if (k) sb_puts(&b, ", ");
    sb_puts(&b, diag_quote(im->diags, n->outputs[k]));
  }
  return sb_view(&b);
}

static Missing missing_of(Importer *im, const OnnxNode *n, DiagPlace place, int version) {
  const OnnxKnownOp *known = onnx_known_op(canonical_domain(n->domain), n->op_type);
  Missing m = {.place = place, .tensors = input_names(im, n)};
  if (!known) {
    m.code = DIAG_E0301;
    m.text = arena_printf(im->a, "no such operator%s", canonical_domain(n->domain).len ? " in its domain" : "");
  } else if (version < known->since) {
    m.code = DIAG_E0302;
    m.text = arena_printf(im->a, "the operator came with version %d of its domain, the model imports %d", known->since, version);
  } else if (map_has(&im->rows, row_key(im->a, canonical_domain(n->domain), n->op_type))) {
    m.code = DIAG_E0302;
    m.text = arena_printf(im->a, "not compiled as it is in version %d of its domain", version);
  } else {
    m.code = DIAG_E0303;
    m.text = str_c("not compiled by this version");
  }
  return m;
}

void import_report_missing(Importer *im, const OnnxNode *n, DiagPlace place, int version) {
  Str name = row_key(im->a, canonical_domain(n->domain), n->op_type);
  Str key = arena_printf(im->a, "%d", version);
  StrBuf full = sb_new(im->a);
  sb_str(&full, key);
  sb_str(&full, name);
  Missing *m = map_get(&im->missing, sb_view(&full));
  if (!m) {
    m = NEW(im->a, Missing);
    *m = missing_of(im, n, place, version);
    map_put(&im->missing, sb_view(&full), m);
  }
  m->count++;
}

void import_flush_missing(Importer *im) {
  for (size_t i = 0; i < im->missing.entries.n; i++) {
    const Missing *m = im->missing.entries.data[i].value;
    Diag *d = m->count == 1 ? diag_add(im->diags, m->code, m->place, "%.*s", STR_ARG(m->text))
                            : diag_add(im->diags, m->code, m->place, "%.*s (%zu nodes)", STR_ARG(m->text), m->count);
    d->tensors = m->tensors;
  }
}
