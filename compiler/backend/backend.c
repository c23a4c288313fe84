#include "backend/bundle.h"
#include "backend/language.h"
#include "backend/template.h"

#include <inttypes.h>

Str backend_c_name(Arena *a, Str name) { return names_identifier(a, name, "model"); }

size_t backend_file_names(Arena *a, Str name, const Target *t, WeightsMode weights, Str ret[BACKEND_MAX_FILES]) {
  Str n = backend_c_name(a, name);
  size_t k = 0;
  if (weights != WEIGHTS_BIN) ret[k++] = arena_printf(a, "%.*s_weights.c", STR_ARG(n));
  if (weights != WEIGHTS_C) ret[k++] = arena_printf(a, "%.*s_weights.bin", STR_ARG(n));
  ret[k++] = arena_printf(a, "%.*s%s", STR_ARG(n), language_of(t)->suffix);
  ret[k++] = arena_printf(a, "%.*s.h", STR_ARG(n));
  return k;
}

/* Lines of the comment at the head of each file: nothing that differs between two runs on the same input. */
static Str head_text(Frame *f) {
  const Program *p = f->program;
  StrBuf b = sb_new(f->arena);
  int64_t ws;
  if (f->opt->model_comment.len) {
    sb_puts(&b, " * Model: ");
    names_comment(&b, f->opt->model_comment, 200);
    sb_putc(&b, '\n');
  }
  sb_printf(&b, " * Model file: XXH128 %016" PRIx64 "%016" PRIx64 "\n", f->opt->model_hash[0], f->opt->model_hash[1]);
  sb_printf(&b, " * Target: %s\n", f->opt->target->name);
  sb_printf(&b, " * Build with: %s\n", f->opt->target->cflags);
  if (f->opt->options.len) {
    sb_puts(&b, " * Options: ");
    names_comment(&b, f->opt->options, 4000);
    sb_putc(&b, '\n');
  }
  sb_printf(&b, " * Weights: %zu bytes\n", f->weights.n ? f->weights_size : 0);
  if (dim_is_const(f->arena_bytes, &ws)) {
    sb_printf(&b, " * Workspace: %" PRId64 " bytes", ws);
    if (p->lower_bound && (size_t)ws > p->peak) sb_printf(&b, ", outputs included; without them %zu", p->peak);
    if (p->lower_bound) sb_printf(&b, " (least possible for this order: %zu)", p->lower_bound);
    sb_putc(&b, '\n');
    if (p->file_order_peak) sb_printf(&b, " * Node by node, unfused, it would be: %zu bytes\n", p->file_order_peak);
  }
  return sb_view(&b);
}

static Str headers_text(Arena *a, const Bundle *bundle) {
  StrBuf b = sb_new(a);
  for (size_t i = 0; i < bundle->headers.n; i++) sb_printf(&b, "#include <%.*s>\n", STR_ARG(bundle->headers.data[i]));
  return sb_view(&b);
}

static Str bundle_text(const Frame *f, const Bundle *bundle) {
  StrBuf b = sb_new(f->arena);
  for (size_t i = 0; i < bundle->chunks.n; i++) {
    f->lang->item(&b, bundle->chunks.data[i]);
    sb_puts(&b, "\n\n");
  }
  return sb_view(&b);
}

/* Everything that N.c needs from runtime-lite: what its text names. */
static bool close_bundle(Frame *f, const EmitCtx *c, const Str *texts, size_t n_texts, Bundle *ret) {
  Map roots = map_new(f->arena);
  for (size_t i = 0; i < n_texts; i++) bundle_scan(f->arena, texts[i], &roots);
  for (size_t i = 0; i < c->needs.entries.n; i++) map_put(&roots, c->needs.entries.data[i].key, f);
  BundleTable table = bundle_runtime();
  return bundle_close(f->arena, f->diags, &table, f->opt->target, &roots, ret);
}

/* Where the level of the machine matters, what runs before it is known is compiled for all of them: N_detect, and N_run, which is
 * a gate before the body. */
static Str detect_text(Frame *f) {
  const Target *t = f->opt->target;
  if (!t->isa_level) return arena_printf(f->arena, "uint32_t %.*s_detect(void) { return 1; }", STR_ARG(f->name));
  return arena_printf(f->arena, "CN_ISA_BASELINE uint32_t %.*s_detect(void) { return %s(); }", STR_ARG(f->name), t->isa_detect);
}

static Str run_text(Frame *f) {
  if (!f->opt->target->isa_level) return arena_printf(f->arena, "int %.*s_run", STR_ARG(f->name));
  return STR("CN_NOINLINE int run_body");
}

static Str gate_text(Frame *f) {
  const Target *t = f->opt->target;
  const int n = (int)f->name.len;
  const char *s = f->name.ptr;
  if (!t->isa_level) return STR("");
  return arena_printf(f->arena, "\n/* %s */\nCN_ISA_BASELINE\n"
                      "int %.*s_run(const %.*s_inputs *in, %.*s_outputs *out, void *ws, size_t ws_size, const castnet_env *env) {\n"
                      "  return %s_reaches(env, %" PRIu32 ") ? run_body(in, out, ws, ws_size, env) : CASTNET_ERR_ISA;\n}\n",
                      t->name, n, s, n, s, n, s, t->isa_detect, t->isa_level);
}

/* Sections of N.h and N.c. */
typedef struct Texts {
  Str head, header, headers, runtime, strings, steps, workspace_size, body, detect, run, gate, functions;
} Texts;

typedef struct Undecided {
  EmitCtx *c;
  Map *locals; /* of symbols that data should have decided and no step does */
  bool found;
} Undecided;

static void find_undecided(void *user, Str word) {
  Undecided *u = user;
  const Dim *symbol = map_get(u->locals, word);
  if (!symbol || u->c->decided[symbol->symbol.index]) return;
  u->c->decided[symbol->symbol.index] = u->found = true;
  diag_add(u->c->diags, DIAG_E0901, (DiagPlace){0}, "no step decides the size %s", diag_quote(u->c->diags, symbol->symbol.name));
}

/* Every size that the calls name must come from somewhere. */
static bool check_decided(EmitCtx *c, Str body) {
  Map locals = map_new(c->arena);
  for (size_t i = 0; i < c->program->dims->symbols.n; i++) {
    const Dim *s = c->program->dims->symbols.data[i];
    if (s->symbol.origin == DIM_FROM_DATA && !c->decided[i]) map_put(&locals, c->symbols[i], (void *)(uintptr_t)s);
  }
  Undecided u = {c, &locals, false};
  names_each_word(body, find_undecided, &u);
  return !u.found;
}

static bool make_texts(Frame *f, EmitCtx *c, Texts *t) {
  StrBuf header = sb_new(f->arena), size = sb_new(f->arena), strings = sb_new(f->arena), body = sb_new(f->arena), functions = sb_new(f->arena);
  header_print(f, &header);
  run_workspace_size(f, &size);
  language_c_weights_entry(f, &size);
  run_strings(f, &strings);
  run_body(f, c, &body);
  if (f->lang->functions) f->lang->functions(f, &functions);
  *t = (Texts){.header = sb_view(&header), .workspace_size = sb_view(&size), .strings = sb_view(&strings),
               .body = sb_view(&body), .steps = sb_view(&c->functions), .detect = detect_text(f), .run = run_text(f), .gate = gate_text(f), .functions = sb_view(&functions)};
  Bundle bundle = {0};
  const Str texts[] = {t->workspace_size, t->body, t->steps, t->detect, t->run, t->gate, t->functions};
  if (!check_decided(c, t->body)) return false;
  if (!close_bundle(f, c, texts, sizeof texts / sizeof *texts, &bundle)) return false;
  t->headers = headers_text(f->arena, &bundle);
  t->runtime = bundle_text(f, &bundle);
  t->head = head_text(f);
  return true;
}

/* The code's hash leaves out what says nothing of it: comments on top and the weights' values. The set's id takes all. */
static void make_hashes(Frame *f, const Texts *t) {
  const Str code[] = {t->headers, t->runtime, t->strings, t->steps, t->workspace_size, t->body, t->detect, t->run, t->gate, t->functions};
  HashState *h = hash128_new(f->arena);
  for (size_t i = 0; i < sizeof code / sizeof *code; i++) hash128_add(h, code[i].ptr, code[i].len);
  f->code_hash = hash128_end(h);
  weights_hash(f);
  hash128_add(h, t->head.ptr, t->head.len);
  hash128_add(h, t->header.ptr, t->header.len);
  const uint64_t rest[] = {f->content_hash.hi, f->content_hash.lo, (uint64_t)f->opt->weights};
  StrBuf b = sb_new(f->arena);
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) sb_printf(&b, "%016" PRIx64, rest[i]);
  hash128_add(h, b.data, b.len);
  f->set_id = hash128_end(h).lo;
}

/* The guarded common part: the header that runtime-lite itself is compiled with, without its licence line and includes. */
static Str abi_text(void) {
  for (size_t i = 0; i < n_templates; i++)
    if (strcmp(templates[i].name, "castnet_abi.h") == 0) {
      const char *start = strstr(templates[i].text, "#if defined(CASTNET_ABI)");
      return str_c(start ? start : "");
    }
  return STR("");
}

static bool add_file(Frame *f, FileSet *ret, const char *suffix, const char *skeleton, const TemplateValue *values, size_t n) {
  StrBuf b = sb_new(f->arena);
  if (!template_fill(&b, f->diags, skeleton, values, n)) return false;
  vec_push(ret->arena, ret->files,
           ((OutFile){.name = arena_printf(f->arena, "%.*s%s", STR_ARG(f->name), suffix), .text = sb_view(&b)}));
  return true;
}

static bool make_files(Frame *f, const Texts *t, FileSet *ret) {
  StrBuf weights = sb_new(f->arena);
  f->lang->weights(f, &weights);
  const TemplateValue values[] = {
      {"name", f->name},
      {"version", STR(CASTNET_VERSION)},
      {"set_id", arena_printf(f->arena, "0x%016" PRIx64, f->set_id)},
      {"head", t->head},
      {"abi", abi_text()},
      {"header", t->header},
      {"headers", t->headers},
      {"runtime", t->runtime},
      {"weights", sb_view(&weights)},
      {"strings", t->strings},
      {"steps", t->steps},
      {"workspace_size", t->workspace_size},
      {"body", t->body},
      {"detect", t->detect},
      {"run", t->run},
      {"gate", t->gate},
      {"functions", t->functions},
  };
  const size_t n = sizeof values / sizeof *values;
  return weights_files(f, ret) && add_file(f, ret, f->lang->suffix, f->lang->skeleton, values, n) &&
         add_file(f, ret, ".h", "model.h.in", values, n);
}

bool backend_print(Arena *a, Diags *d, const Program *p, const BackendOptions *opt, FileSet *ret, BackendCalls *ret_calls) {
  Frame *f = NEW(a, Frame); /* the writers of large files need it until they are written */
  if (!frame_init(f, a, d, p, opt)) return false;
  EmitCtx *c = emit_new(f);
  Texts t;
  if (!emit_steps(c) || !make_texts(f, c, &t)) return false;
  make_hashes(f, &t);
  *ret = (FileSet){.arena = a};
  *ret_calls = c->made;
  ret_calls->weights_bytes = f->weights.n ? f->weights_size : 0;
  return make_files(f, &t, ret);
}
