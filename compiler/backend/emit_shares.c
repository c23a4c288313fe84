/* Steps by shares on the caller's threads: beside a step function that does shares s0 .. s1, a struct of its arguments, what does so on any thread, and
 * what hands the shares out:
 *
 *   struct step_3_conv_call { const float *x0; float *y; };
 *   static void step_3_conv_part(void *arg, size_t s0, size_t s1) { ... if (s0 < s1) step_3_conv(call->x0, call->y, s0, s1); }
 *   static int step_3_conv_shares(const castnet_env *e, const float *x0, float *y) { ... cn_shares(e, 8, 16, step_3_conv_part, &call); } */
#include "backend/emit_steps.h"

typedef struct Param { Str type, name; } Param; /* "const float *", "x0" */
typedef VEC(Param) Params;

/* The parts of "const float *restrict x0, int64_t batch"; no type has a comma in it. */
static Params read_params(Arena *a, Str text) {
  static const char word[] = "restrict ";
  Params r = {0};
  for (size_t i = 0; i < text.len;) {
    size_t end = i;
    while (end < text.len && text.ptr[end] != ',') end++;
    size_t name = end;
    while (name > i && text.ptr[name - 1] != ' ' && text.ptr[name - 1] != '*') name--;
    size_t type = name;
    if (type - i > sizeof word && memcmp(text.ptr + type - (sizeof word - 1), word, sizeof word - 1) == 0) type -= sizeof word - 1;
    vec_push(a, r, ((Param){{text.ptr + i, type - i}, {text.ptr + name, end - name}}));
    i = end + 2;
  }
  return r;
}

/* `PREFIXx0, PREFIXy` */
static Str name_list(Arena *a, const Params *ps, const char *prefix) {
  StrBuf b = sb_new(a);
  for (size_t i = 0; i < ps->n; i++) sb_printf(&b, "%s%s%.*s", i ? ", " : "", prefix, STR_WHOLE(ps->data[i].name));
  return sb_view(&b);
}

static Str print_struct(EmitCtx *c, Str name, const Params *ps) {
  const Str own = names_add(&c->step_names, arena_printf(c->arena, "%.*s_call", STR_WHOLE(name)), "step");
  sb_printf(&c->functions, "/* %.*s on the environment's threads */\nstruct %.*s {\n", STR_WHOLE(name), STR_WHOLE(own));
  for (size_t i = 0; i < ps->n; i++) sb_printf(&c->functions, "  %.*s%.*s;\n", STR_WHOLE(ps->data[i].type), STR_WHOLE(ps->data[i].name));
  sb_puts(&c->functions, "};\n\n");
  return own;
}

static Str print_part(EmitCtx *c, const StepShare *share, Str name, Str call, const Params *ps) {
  StrBuf b = sb_new(c->arena);
  sb_printf(&b, "(void *arg, size_t s0, size_t s1) {\n  const struct %.*s *call = arg;\n", STR_WHOLE(call));
  sb_printf(&b, "  if (s0 < s1) %s%.*s(%s%s, s0, s1);\n}\n", share->spread ? "(void)" : "", STR_WHOLE(name), share->spread ? "NULL, " : "",
            name_list(c->arena, ps, "call->").ptr); /* an empty range has no scratch */
  return emit_beside(c, name, "part", "void", sb_view(&b));
}

static Str print_shares(EmitCtx *c, const StepShare *share, Str name, Str call, Str part, const Params *ps) {
  StrBuf b = sb_new(c->arena);
  const Str names = name_list(c->arena, ps, "");
  sb_puts(&b, "(const castnet_env *e");
  for (size_t i = 0; i < ps->n; i++) sb_printf(&b, ", %.*s%.*s", STR_WHOLE(ps->data[i].type), STR_WHOLE(ps->data[i].name));
  sb_puts(&b, ") {\n  if (e->parallel_for == NULL");
  if (share->elements) {
    sb_puts(&b, " || ");
    emit_dim(c, &b, share->elements);
    sb_printf(&b, " < %lld", (long long)share->least);
  }
  if (share->spread) {
    sb_printf(&b, ") return %.*s(NULL, %s, 0, %u);\n", STR_WHOLE(name), names.ptr, share->n);
    sb_puts(&b, "  const cn_spread spread = {e->parallel_for, e->parallel_user, e->threads};\n");
    sb_printf(&b, "  if (e->threads >= %u) return %.*s(&spread, %s, 0, %u);\n", share->spread, STR_WHOLE(name), names.ptr, share->n);
  } else {
    sb_printf(&b, ") {\n    %.*s(%s, 0, %u);\n    return CASTNET_OK;\n  }\n", STR_WHOLE(name), names.ptr, share->n);
  }
  sb_printf(&b, "  struct %.*s call = {%s};\n", STR_WHOLE(call), names.ptr);
  sb_printf(&b, "  return cn_shares(e, %u, %u, %.*s, &call);\n}\n", share->few, share->n, STR_WHOLE(part));
  return emit_beside(c, name, "shares", "int", sb_view(&b));
}

void emit_shares(EmitCtx *c, const Step *s, Str name, Str params, Str args) {
  StrBuf key = sb_new(c->arena);
  sb_printf(&key, "shares of %.*s, %u", STR_WHOLE(name), s->share.few);
  if (s->share.elements) sb_printf(&key, " from %lld of %u", (long long)s->share.least, s->share.elements->id);
  Str *own = map_get(&c->shared, sb_view(&key));
  if (!own) {
    const Params ps = read_params(c->arena, params);
    const Str call = print_struct(c, name, &ps), part = print_part(c, &s->share, name, call, &ps);
    own = NEW(c->arena, Str);
    *own = print_shares(c, &s->share, name, call, part, &ps);
    map_put(&c->shared, sb_view(&key), own);
  }
  StrBuf all = sb_new(c->arena);
  sb_puts(&all, "&e, ");
  sb_str(&all, args); /* may be longer than what STR_ARG takes */
  emit_call(c, s, *own, true, sb_view(&all));
}
