#include "backend/bundle.h"
#include "backend/language.h"
#include "backend/template.h"

#include <inttypes.h>

Str backend_c_name(Arena *a, Str name) { return names_model(a, name); }

/* "N_x86_64_v3": what a level's file and function begin with. */
static Str level_name(Arena *a, Str name, const Target *level) {
  char *s = arena_cstr(a, arena_printf(a, "%.*s_%s", STR_WHOLE(name), level->name));
  for (char *p = s + name.len; *p; p++)
    if (*p == '-') *p = '_';
  return str_c(s);
}

static Str level_file(Arena *a, Str name, const Target *level) {
  return arena_printf(a, "%.*s%s", STR_WHOLE(level_name(a, name, level)), language_of(level)->suffix);
}

size_t backend_file_names(Arena *a, Str name, const Target *t, WeightsMode weights, Str ret[BACKEND_MAX_FILES]) {
  Str n = backend_c_name(a, name);
  size_t k = 0;
  if (weights != WEIGHTS_BIN) ret[k++] = arena_printf(a, "%.*s_weights.c", STR_WHOLE(n));
  if (weights != WEIGHTS_C) ret[k++] = arena_printf(a, "%.*s_weights.bin", STR_WHOLE(n));
  for (size_t i = 0; i < t->n_levels; i++) ret[k++] = level_file(a, n, t->levels[i]);
  ret[k++] = arena_printf(a, "%.*s%s", STR_WHOLE(n), language_of(t)->suffix);
  ret[k++] = arena_printf(a, "%.*s.h", STR_WHOLE(n));
  return k;
}

/* Lines of the comment at the head of each file: nothing that differs between two runs on the same input. */
static Str head_text(Frame *f, const Target *t) {
  const Program *p = f->program;
  const bool own = t == f->opt->target; /* else of all levels */
  StrBuf b = sb_new(f->arena);
  int64_t ws;
  if (f->opt->model_comment.len) {
    sb_puts(&b, " * Model: ");
    names_comment(&b, f->opt->model_comment, 200);
    sb_putc(&b, '\n');
  }
  sb_printf(&b, " * Model file: XXH128 %016" PRIx64 "%016" PRIx64 "\n", f->opt->model_hash[0], f->opt->model_hash[1]);
  sb_printf(&b, " * Target: %s\n", t->name);
  sb_printf(&b, " * Build with: %s\n", f->common->opt->target->cflags);
  if (f->opt->options.len) {
    sb_puts(&b, " * Options: ");
    names_comment(&b, f->opt->options, 4000);
    sb_putc(&b, '\n');
  }
  sb_printf(&b, " * Weights: %zu bytes\n", f->common->weights.n ? f->common->weights_size : 0);
  if (dim_is_const(own ? f->arena_bytes : f->common->need, &ws)) {
    sb_printf(&b, " * Workspace: %" PRId64 " bytes", ws);
    if (own && p->lower_bound && (size_t)ws > p->peak) sb_printf(&b, ", outputs included; without them %zu", p->peak);
    if (own && p->lower_bound) sb_printf(&b, " (least possible for this order: %zu)", p->lower_bound);
    sb_putc(&b, '\n');
    if (p->file_order_peak) sb_printf(&b, " * Node by node, unfused, it would be: %zu bytes\n", p->file_order_peak);
  }
  return sb_view(&b);
}

static Str headers_text(Arena *a, const Bundle *bundle) {
  StrBuf b = sb_new(a);
  for (size_t i = 0; i < bundle->headers.n; i++) sb_printf(&b, "#include <%.*s>\n", STR_WHOLE(bundle->headers.data[i]));
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
static bool close_bundle(Frame *f, const Target *t, const Str *texts, size_t n_texts, Bundle *ret) {
  Map roots = map_new(f->arena);
  for (size_t i = 0; i < n_texts; i++) bundle_scan(f->arena, texts[i], &roots);
  BundleTable table = bundle_runtime();
  return bundle_close(f->arena, f->diags, &table, t, &roots, ret);
}

/* ---- the entry ---- */
/* What runs before the machine's level is known is compiled for all of them: N_detect, and N_run, which is a gate before the body, or picks one
 * of several. */
static Str detect_text(Frame *f, const Target *t) {
  if (!*t->isa_detect) return arena_printf(f->arena, "uint32_t %.*s_detect(void) { return 1; }", STR_WHOLE(f->name));
  return arena_printf(f->arena, "CN_ISA_BASELINE uint32_t %.*s_detect(void) { return %s(); }", STR_WHOLE(f->name), t->isa_detect);
}

static Str parameters(Frame *f) {
  const int n = (int)f->name.len;
  const char *s = f->name.ptr;
  return arena_printf(f->arena, "(const %.*s_inputs *in, %.*s_outputs *out, void *ws, size_t ws_size, const castnet_env *env)", n, s, n, s);
}

/* `int N_x86_64_v3_run(...)` */
static Str level_run(Frame *f) {
  return arena_printf(f->arena, "int %.*s_run", STR_WHOLE(level_name(f->arena, f->name, f->opt->target)));
}

/* What callers call: N_run, or behind what looks at the machine first. */
static Str outer_run(Frame *f) {
  if (frame_is_level(f)) return level_run(f);
  if (!f->opt->target->isa_level) return arena_printf(f->arena, "int %.*s_run", STR_WHOLE(f->name));
  return STR("CN_NOINLINE int run_body");
}

static Str run_text(Frame *f) { return f->opt->flush_subnormals ? STR("CN_NOINLINE int run_flushed") : outer_run(f); }

/* Around the body, a function of its own: no arithmetic of it moves before or behind. */
static Str flush_text(Frame *f) {
  if (!f->opt->flush_subnormals) return STR("");
  return arena_printf(f->arena, "\n%.*s%.*s {\n"
                      "  cn_flushed f;\n"
                      "  cn_flush_begin(&f, env);\n"
                      "  const int error = run_flushed(in, out, ws, ws_size, &f.own);\n"
                      "  cn_flush_end(&f);\n"
                      "  return error;\n}\n", STR_WHOLE(outer_run(f)), STR_WHOLE(parameters(f)));
}

/* Behind the body. */
static Str gate_text(Frame *f) {
  const Target *t = f->opt->target;
  Str flush = flush_text(f);
  if (frame_is_level(f) || !t->isa_level) return flush;
  return arena_printf(f->arena, "%.*s\n/* %s */\nCN_ISA_BASELINE\n"
                      "int %.*s_run%.*s {\n"
                      "  return %s_of(env) >= %" PRIu32 " ? run_body(in, out, ws, ws_size, env) : CASTNET_ERR_ISA;\n}\n",
                      STR_WHOLE(flush), t->name, STR_WHOLE(f->name), STR_WHOLE(parameters(f)), t->isa_detect, t->isa_level);
}

static Str prototypes_text(const Common *c) {
  StrBuf b = sb_new(c->frames[0]->arena);
  for (size_t i = 0; i < c->n_frames; i++) sb_printf(&b, "%.*s%.*s;\n", STR_WHOLE(level_run(c->frames[i])), STR_WHOLE(parameters(c->frames[i])));
  return sb_view(&b);
}

/* The body of an N_run that picks. */
static Str pick_text(const Common *c) {
  StrBuf b = sb_new(c->frames[0]->arena);
  sb_printf(&b, "  const uint32_t isa = %s_of(env);\n", c->opt->target->isa_detect);
  for (size_t i = c->n_frames; i-- > 0;) {
    Frame *f = c->frames[i];
    sb_puts(&b, "  ");
    if (i > 0) sb_printf(&b, "if (isa >= %" PRIu32 ") ", f->opt->target->isa_level);
    sb_printf(&b, "return %.*s_run(in, out, ws, ws_size, env);\n", STR_WHOLE(level_name(f->arena, f->name, f->opt->target)));
  }
  return sb_view(&b);
}

/* ---- sections of the files ---- */
/* A C file, and N.h. */
typedef struct Texts {
  Frame *f;
  const Target *target;   /* of the file: a level, or what picks among them */
  const char *skeleton;
  Str file, begin, end;
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

/* What belongs to no level. */
static void shared_texts(Frame *f, Texts *t) {
  StrBuf header = sb_new(f->arena), size = sb_new(f->arena), functions = sb_new(f->arena);
  header_print(f, &header);
  run_workspace_size(f, &size);
  language_c_weights_entry(f, &size);
  if (f->lang->functions) f->lang->functions(f, &functions);
  t->header = sb_view(&header);
  t->workspace_size = sb_view(&size);
  t->functions = sb_view(&functions);
  t->detect = detect_text(f, t->target);
}

static bool level_texts(Frame *f, EmitCtx *c, Texts *t) {
  StrBuf strings = sb_new(f->arena), body = sb_new(f->arena);
  run_strings(f, &strings);
  run_body(f, c, &body);
  t->strings = sb_view(&strings);
  t->body = sb_view(&body);
  t->steps = sb_view(&c->functions);
  t->run = run_text(f);
  t->gate = gate_text(f);
  return check_decided(c, t->body);
}

static bool close_texts(Frame *f, Texts *t) {
  const Str texts[] = {t->workspace_size, t->body, t->steps, t->detect, t->run, t->gate, t->functions};
  Bundle bundle = {0};
  if (!close_bundle(f, t->target, texts, sizeof texts / sizeof *texts, &bundle)) return false;
  t->headers = headers_text(f->arena, &bundle);
  t->runtime = bundle_text(f, &bundle);
  t->head = head_text(f, t->target);
  return true;
}

/* The one C file of a target without levels. */
static bool whole_file(Frame *f, EmitCtx *c, Texts *t) {
  *t = (Texts){.f = f, .target = f->opt->target, .skeleton = f->lang->skeleton, .file = arena_printf(f->arena, "%.*s%s", STR_WHOLE(f->name), f->lang->suffix)};
  shared_texts(f, t);
  return level_texts(f, c, t) && close_texts(f, t);
}

/* "avx2,fma" */
static Str attribute_text(Arena *a, const Target *level) {
  char *s = arena_cstr(a, str_c(level->cpu));
  for (char *p = s; *p; p++)
    if (*p == ' ') *p = ',';
  return str_c(s);
}

/* The file of one level of several: whatever it is compiled for, its functions are for the level. */
static bool level_one(Frame *f, EmitCtx *c, Texts *t) {
  const Target *level = f->opt->target;
  *t = (Texts){.f = f, .target = level, .skeleton = f->lang->skeleton, .file = level_file(f->arena, f->name, level)};
  const TemplateValue value = {"attribute", attribute_text(f->arena, level)};
  StrBuf begin = sb_new(f->arena), end = sb_new(f->arena);
  if (*level->cpu && (!template_fill(&begin, f->diags, "level_begin.c.in", &value, 1) || !template_fill(&end, f->diags, "level_end.c.in", &value, 1)))
    return false;
  t->begin = sb_view(&begin);
  t->end = sb_view(&end);
  t->detect = arena_printf(f->arena, "%.*s%.*s;", STR_WHOLE(level_run(f)), STR_WHOLE(parameters(f)));
  return level_texts(f, c, t) && close_texts(f, t);
}

/* N.c of a target with levels: what they share, and the choice. */
static bool picking_file(const Common *common, Texts *t) {
  Frame *f = common->frames[0];
  *t = (Texts){.f = f, .target = common->opt->target, .skeleton = "pick.c.in", .file = arena_printf(f->arena, "%.*s%s", STR_WHOLE(f->name), f->lang->suffix)};
  shared_texts(f, t);
  t->steps = prototypes_text(common);
  t->body = pick_text(common);
  t->run = arena_printf(f->arena, "CN_ISA_BASELINE int %.*s_run", STR_WHOLE(f->name));
  return close_texts(f, t);
}

/* The code's hash leaves out what says nothing of it: comments on top and the weights' values. The set's id takes all. */
static void make_hashes(Common *c, const Texts *texts, size_t n_texts) {
  HashState *h = hash128_new(c->frames[0]->arena);
  for (size_t k = 0; k < n_texts; k++) {
    const Texts *t = &texts[k];
    const Str code[] = {t->headers, t->runtime, t->strings, t->steps, t->workspace_size, t->body, t->detect, t->run, t->gate, t->functions};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) hash128_add(h, code[i].ptr, code[i].len);
  }
  c->code_hash = hash128_end(h);
  weights_hash(c->frames[0]);
  for (size_t k = 0; k < n_texts; k++) {
    hash128_add(h, texts[k].head.ptr, texts[k].head.len);
    hash128_add(h, texts[k].header.ptr, texts[k].header.len);
  }
  const uint64_t rest[] = {c->content_hash.hi, c->content_hash.lo, (uint64_t)c->opt->weights};
  StrBuf b = sb_new(c->frames[0]->arena);
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) sb_printf(&b, "%016" PRIx64, rest[i]);
  hash128_add(h, b.data, b.len);
  c->set_id = hash128_end(h).lo;
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

static bool add_file(Frame *f, FileSet *ret, Str name, const char *skeleton, const TemplateValue *values, size_t n) {
  StrBuf b = sb_new(f->arena);
  if (!template_fill(&b, f->diags, skeleton, values, n)) return false;
  vec_push(ret->arena, ret->files, ((OutFile){.name = name, .text = sb_view(&b)}));
  return true;
}

/* The C file; N.h behind it if that is due. */
static bool add_texts(const Texts *t, bool header, FileSet *ret) {
  Frame *f = t->f;
  StrBuf weights = sb_new(f->arena);
  f->lang->weights(f, &weights);
  const TemplateValue values[] = {
      {"name", f->name},
      {"file", t->file},
      {"version", STR(CASTNET_VERSION)},
      {"set_id", arena_printf(f->arena, "0x%016" PRIx64, f->common->set_id)},
      {"head", t->head},
      {"abi", abi_text()},
      {"header", t->header},
      {"headers", t->headers},
      {"begin", t->begin},
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
      {"end", t->end},
  };
  const size_t n = sizeof values / sizeof *values;
  return add_file(f, ret, t->file, t->skeleton, values, n) &&
         (!header || add_file(f, ret, arena_printf(f->arena, "%.*s.h", STR_WHOLE(f->name)), "model.h.in", values, n));
}

/* Steps are printed for all levels before anything else: only then it is known where weights go. */
static bool print_steps(Common *common, EmitCtx **ret) {
  for (size_t i = 0; i < common->n_frames; i++) {
    ret[i] = emit_new(common->frames[i]);
    if (!emit_steps(ret[i])) return false;
  }
  return true;
}

static bool print_files(Common *common, EmitCtx **c, FileSet *ret) {
  const size_t n_levels = common->opt->target->n_levels, n = n_levels + 1;
  Texts *t = NEW_ARRAY(ret->arena, Texts, n);
  bool ok = n_levels ? picking_file(common, &t[n - 1]) : whole_file(common->frames[0], c[0], &t[0]);
  for (size_t i = 0; ok && i < n_levels; i++) ok = level_one(common->frames[i], c[i], &t[i]);
  if (!ok) return false;
  make_hashes(common, t, n);
  ok = weights_files(common->frames[0], ret);
  for (size_t i = 0; ok && i < n; i++) ok = add_texts(&t[i], i + 1 == n, ret);
  return ok;
}

/* Its calls, and what it reads of the weights. */
static void describe_levels(Arena *a, const Common *common, EmitCtx *const *c, BackendResult *ret) {
  *ret = (BackendResult){0};
  ret->weights_bytes = common->weights.n ? common->weights_size : 0;
  ret->n_levels = common->n_frames;
  ret->levels = NEW_ARRAY(a, BackendLevel, common->n_frames);
  for (size_t i = 0; i < common->n_frames; i++) {
    BackendLevel *level = &ret->levels[i];
    *level = (BackendLevel){.target = common->frames[i]->opt->target, .workspace = common->frames[i]->arena_bytes, .calls = c[i]->made};
    for (size_t k = 0; k < common->weights.n; k++) {
      const WeightsPart *part = common->weights.data[k];
      if (part->levels & UINT32_C(1) << i) level->weights += part->size;
      if (part->levels == UINT32_C(1) << i) level->own_weights += part->size;
    }
  }
}

bool backend_print(Arena *a, Diags *d, const Program *const *programs, const BackendOptions *opt, FileSet *ret, BackendResult *ret_result) {
  Common *common = frames_new(a, d, programs, opt); /* the writers of large files need it until they are written */
  if (!common) return false;
  EmitCtx **c = NEW_ARRAY(a, EmitCtx *, common->n_frames);
  if (!print_steps(common, c)) return false;
  *ret = (FileSet){.arena = a};
  describe_levels(a, common, c, ret_result);
  return print_files(common, c, ret);
}
