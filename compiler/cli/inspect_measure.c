/* Code size from the object file, stack from the compiler's call graph. */
#include "cli/inspect.h"

#include "base/io.h"

#include <elf.h>
#include <stdlib.h>

/* ---- code ---- */
typedef struct Object {
  Str bytes;
  bool wide, big; /* 64 bits; big-endian */
} Object;

static bool read_number(const Object *o, uint64_t at, unsigned size, uint64_t *ret) {
  if (at > o->bytes.len || size > o->bytes.len - at) return false;
  *ret = 0;
  for (unsigned i = 0; i < size; i++) *ret |= (uint64_t)(unsigned char)o->bytes.ptr[at + i] << 8 * (o->big ? size - 1 - i : i);
  return true;
}

bool inspect_code(Str object, uint64_t *ret) {
  if (object.len < EI_NIDENT || memcmp(object.ptr, ELFMAG, SELFMAG) != 0) return false;
  const Object o = {object, object.ptr[EI_CLASS] == ELFCLASS64, object.ptr[EI_DATA] == ELFDATA2MSB};
  uint64_t table, size, n, flags, bytes, type;
  *ret = 0;
  if (!read_number(&o, o.wide ? 40 : 32, o.wide ? 8 : 4, &table) || !read_number(&o, o.wide ? 58 : 46, 2, &size) ||
      !read_number(&o, o.wide ? 60 : 48, 2, &n))
    return false;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t at = table + i * size;
    if (at < table || !read_number(&o, at + 4, 4, &type) || !read_number(&o, at + 8, o.wide ? 8 : 4, &flags) ||
        !read_number(&o, at + (o.wide ? 32 : 20), o.wide ? 8 : 4, &bytes))
      return false;
    if ((flags & SHF_ALLOC) && !(flags & SHF_WRITE) && type == SHT_PROGBITS) *ret += bytes;
  }
  return true;
}

/* ---- stack ---- */
typedef struct Function {
  Str title;
  uint64_t own, most;
  VEC(uint32_t) calls;
  bool defined, calls_pointers, called;
  uint8_t state; /* 0 new, 1 open, 2 done */
} Function;

typedef struct CallGraph {
  Arena *a;
  Map by_title; /* -> Function */
  VEC(Function *) all;
  bool bad;
} CallGraph;

static Function *function_of(CallGraph *g, Str title) {
  Function *f = map_get(&g->by_title, title);
  if (f) return f;
  f = NEW(g->a, Function);
  f->title = title;
  map_put(&g->by_title, title, f);
  vec_push(g->a, g->all, f);
  return f;
}

static const char *find_text(Str in, const char *text) {
  const size_t n = strlen(text);
  for (size_t i = 0; i + n <= in.len; i++)
    if (memcmp(in.ptr + i, text, n) == 0) return in.ptr + i;
  return NULL;
}

/* The quoted text behind a key of the line. */
static bool quoted(Str line, const char *key, Str *ret) {
  const char *at = find_text(line, key);
  if (!at) return false;
  at += strlen(key);
  const char *end = memchr(at, '"', (size_t)(line.ptr + line.len - at));
  if (!end) return false;
  *ret = (Str){at, (size_t)(end - at)};
  return true;
}

/* "...\n48 bytes (static)\n...": of the label. */
static void read_frame(CallGraph *g, Function *f, Str label) {
  const char *bytes = find_text(label, " bytes (");
  if (!bytes) return;
  const char *digit = bytes;
  while (digit > label.ptr && digit[-1] >= '0' && digit[-1] <= '9') digit--;
  f->own = strtoull(digit, NULL, 10);
  f->defined = true;
  const Str kind = {bytes, (size_t)(label.ptr + label.len - bytes)};
  if (!find_text(kind, "(static") && !find_text(kind, "bounded)")) g->bad = true;
}

static void read_line(CallGraph *g, Str line) {
  Str title, other;
  if (quoted(line, "node: { title: \"", &title)) {
    Function *f = function_of(g, title);
    if (quoted(line, "label: \"", &other)) read_frame(g, f, other);
  } else if (quoted(line, "sourcename: \"", &title) && quoted(line, "targetname: \"", &other)) {
    Function *from = function_of(g, title), *to = function_of(g, other);
    if (str_is(other, "__indirect_call")) {
      from->calls_pointers = true;
      return;
    }
    to->called = true;
    for (uint32_t i = 0; i < g->all.n; i++)
      if (g->all.data[i] == to) vec_push(g->a, from->calls, i);
  }
}

static void visit(CallGraph *g, Function *f, uint64_t through_pointer) {
  if (f->state == 1) g->bad = true;
  if (f->state) return;
  f->state = 1;
  uint64_t most = f->calls_pointers ? through_pointer : 0;
  for (size_t i = 0; i < f->calls.n; i++) {
    Function *to = g->all.data[f->calls.data[i]];
    visit(g, to, through_pointer);
    if (to->most > most) most = to->most;
  }
  f->most = f->own + most;
  f->state = 2;
}

bool inspect_stack(Arena *a, Str graph, const char *root, uint64_t *ret) {
  CallGraph g = {.a = a, .by_title = map_new(a)};
  for (size_t i = 0; i < graph.len;) {
    const char *end = memchr(graph.ptr + i, '\n', graph.len - i);
    const size_t n = end ? (size_t)(end - graph.ptr) - i : graph.len - i;
    read_line(&g, (Str){graph.ptr + i, n});
    i += n + 1;
  }
  Function *start = map_get(&g.by_title, str_c(root));
  if (!start || !start->defined) return false;
  /* what is reached by pointers only: activations handed to kernels, tasks handed to threads */
  uint64_t through_pointer = 0, all = 0;
  for (size_t i = 0; i < g.all.n; i++) {
    Function *f = g.all.data[i];
    all += f->own;
    if (f == start || f->called || !f->defined) continue;
    visit(&g, f, 0);
    if (f->most > through_pointer) through_pointer = f->most;
  }
  for (size_t i = 0; i < g.all.n; i++)
    if (g.all.data[i]->called) g.all.data[i]->state = 0;
  visit(&g, start, through_pointer);
  *ret = start->most < all ? start->most : all; /* nothing calls itself, through pointers neither: no frame is there twice */
  return !g.bad;
}

/* ---- the compiler ---- */
static bool run(Cli *c, Diags *d, Workdir *w, const BuildOptions *o, const castnet_interface *m, size_t source, const char *extra, const char *object) {
  Command cmd = {.argv = builder_compile_only(c, o, w, m, source, extra, object), .output = workdir_file(c->arena, w, "cc.log"), .seconds = 3600};
  return builder_run_compiler(d, c->arena, o, w, &cmd);
}

/* One source: its code is counted, its call graph added to the others'. */
static bool measure_source(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, size_t source, StrBuf *graphs, Measured *ret) {
  Arena *a = c->arena;
  const char *object = workdir_file(a, w, "inspected.o"), *graph = workdir_file(a, w, "inspected.ci");
  Diags none = {.arena = a};
  Str text;
  uint64_t code = 0;
  const bool told = run(c, &none, w, o, m, source, "-fcallgraph-info=su", object); /* gcc only */
  if (!told && (workdir_signal(w) || !run(c, &c->diags, w, o, m, source, NULL, object))) return false;
  if (!file_map(a, &c->diags, object, &text)) return false;
  ret->has_code = ret->has_code && inspect_code(text, &code);
  ret->code += code;
  ret->has_stack = ret->has_stack && told && file_map(a, &none, graph, &text);
  if (ret->has_stack) sb_str(graphs, text);
  return true;
}

bool inspect_measure(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, Measured *ret) {
  StrBuf graphs = sb_new(c->arena);
  *ret = (Measured){.compiler = o->cc.list.data[0], .has_code = true, .has_stack = true};
  for (size_t i = 0; i < m->n_sources; i++)
    if (!measure_source(c, o, w, m, i, &graphs, ret)) return false;
  ret->has_stack = ret->has_stack && inspect_stack(c->arena, sb_view(&graphs), arena_printf(c->arena, "%s_run", m->prefix).ptr, &ret->stack);
  return true;
}
