#include "cli/builder.h"

#include "base/io.h"
#include "base/target.h"
#include "cli/pool.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { CC_SECONDS = 1800, MESSAGE_BYTES = 4000 };

/* ---- options ---- */
static bool in_path(Arena *a, const char *name) {
  const char *path = getenv("PATH");
  if (strchr(name, '/')) return access(name, X_OK) == 0;
  while (path && *path) {
    size_t n = strcspn(path, ":");
    if (access(arena_printf(a, "%.*s/%s", (int)n, path, name).ptr, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

/* What the names of this machine's compilers begin with, as in MACHINE of a target's file. */
#if defined(__x86_64__)
static const char host_machine[] = "x86_64-linux-gnu";
#elif defined(__aarch64__)
static const char host_machine[] = "aarch64-linux-gnu";
#elif defined(__s390x__)
static const char host_machine[] = "s390x-linux-gnu";
#else
static const char host_machine[] = "";
#endif

static bool no_compiler(Cli *c, const char *what) {
  (void)diag_add(&c->diags, DIAG_E0005, (DiagPlace){0}, "there is no C compiler: %s", what);
  return false;
}

/* A target of another machine wants that machine's compiler, not the one of $CC. */
static bool find_cc(Cli *c, const Target *target, Words *ret) {
  static const char *const usual[] = {"cc", "gcc", "clang"};
  const char *given = options_last(c, OPT_CC);
  if (!given && target && *target->compiler) given = target->compiler;
  if (!given && target && *target->machine && strcmp(target->machine, host_machine) != 0)
    given = arena_printf(c->arena, "%s-gcc", target->machine).ptr;
  if (!given) given = getenv("CC");
  if (given && *given) words_add(c->arena, ret, given);
  for (size_t i = 0; ret->list.n == 0 && i < sizeof usual / sizeof *usual; i++)
    if (in_path(c->arena, usual[i])) words_push(c->arena, ret, usual[i]);
  if (ret->list.n == 0) return no_compiler(c, "cc, gcc, clang");
  return in_path(c->arena, ret->list.data[0]) || no_compiler(c, diag_quote(&c->diags, str_c(ret->list.data[0])));
}

/* Programs of another machine run under qemu's user mode, where Debian's cross packages have that machine's C library. */
static void find_runner(Cli *c, const Target *target, Words *ret) {
  if (options_has(c, OPT_RUNNER)) {
    words_add(c->arena, ret, options_last(c, OPT_RUNNER));
    return;
  }
  if (!target || strcmp(target->machine, host_machine) == 0 || !strstr(target->machine, "-linux-")) return;
  const int cpu = (int)strcspn(target->machine, "-");
  const char *qemu = arena_printf(c->arena, "qemu-%.*s", cpu, target->machine).ptr;
  if (!in_path(c->arena, qemu)) return;
  words_push(c->arena, ret, qemu);
  words_push(c->arena, ret, "-L");
  words_push(c->arena, ret, arena_printf(c->arena, "/usr/%s", target->machine).ptr);
}

bool builder_options(Cli *c, BuildOptions *ret) {
  *ret = (BuildOptions){.sanitize = options_has(c, OPT_SANITIZE)};
  uint64_t jobs, seconds, isa;
  const char *word;
  if (!options_threads(c, &word, &ret->threads)) return false;
  if (!options_number(c, OPT_JOBS, 1, 1024, 1, &jobs) || !options_number(c, OPT_TIMEOUT, 1, 1000000, 60, &seconds) ||
      !options_number(c, OPT_ISA, 0, UINT32_MAX, 0, &isa))
    return false;
  ret->jobs = (size_t)jobs;
  ret->run_seconds = (double)seconds;
  ret->isa = (uint32_t)isa;
  if (isa) words_push(c->arena, &ret->flags, arena_printf(c->arena, "-DCHECK_ISA=%" PRIu32 "u", ret->isa).ptr);
  if (c->command == CMD_check) words_push(c->arena, &ret->flags, "-O1"); /* most of the time goes into the C compiler */
  if (ret->sanitize) words_add(c->arena, &ret->flags, "-g -fsanitize=address,undefined -fno-sanitize-recover=all");
  if (ret->threads) words_add(c->arena, &ret->flags, arena_printf(c->arena, "-pthread -DCHECK_THREADS=%" PRIu64, ret->threads).ptr);
  const char *target_word = options_last(c, OPT_TARGET);
  const Target *target = target_word ? target_find(str_c(target_word)) : NULL;
  find_runner(c, target, &ret->runner);
  for (size_t i = 0; i < c->uses.n; i++) {
    if (c->uses.data[i].id == OPT_CFLAGS) words_add(c->arena, &ret->flags, c->uses.data[i].value);
    if (c->uses.data[i].id == OPT_SOURCE) words_push(c->arena, &ret->sources, c->uses.data[i].value);
  }
  return find_cc(c, target, &ret->cc);
}

/* ---- building ---- */
static void add_all(Arena *a, Words *to, const Words *from) {
  for (size_t i = 0; i < from->list.n; i++) words_push(a, to, from->list.data[i]);
}

static Words compiler(Cli *c, const BuildOptions *o, const Workdir *w, const char *cflags) {
  Words r = {0};
  add_all(c->arena, &r, &o->cc);
  words_add(c->arena, &r, cflags);
  add_all(c->arena, &r, &o->flags);
  words_push(c->arena, &r, "-I");
  words_push(c->arena, &r, workdir_path(w));
  /* .incbin looks where the compiler runs first, which may hold the weights of another compile of this name */
  if (!strpbrk(workdir_path(w), "\"\\\n")) words_push(c->arena, &r, arena_printf(c->arena, "-DCASTNET_WEIGHTS_DIR=\"%s/\"", workdir_path(w)).ptr);
  return r;
}

/* Absolute, since -I of the folder is what .incbin is looked for in. */
static void add_sources(Cli *c, const BuildOptions *o, const Workdir *w, const castnet_interface *const *models, size_t n, Words *ret) {
  words_push(c->arena, ret, workdir_file(c->arena, w, "castnet_check.c"));
  if (o->threads) words_push(c->arena, ret, workdir_file(c->arena, w, "castnet_pool.c"));
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < models[i]->n_sources; k++) words_push(c->arena, ret, workdir_file(c->arena, w, models[i]->sources[k]));
    const char *weights = workdir_file(c->arena, w, arena_printf(c->arena, "%s_weights.c", models[i]->prefix).ptr);
    if (!models[i]->weights_at_run_time && access(weights, F_OK) == 0) words_push(c->arena, ret, weights);
  }
  add_all(c->arena, ret, &o->sources);
}

/* The first lines of what a child printed. */
static Str message(Arena *a, const char *path) {
  Diags none = {.arena = a};
  Str text;
  if (!file_map(a, &none, path, &text)) return STR("");
  if (text.len > MESSAGE_BYTES) text.len = MESSAGE_BYTES;
  while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' ')) text.len--;
  return arena_str(a, text);
}

/* One line a diagnostic: the first one with "error" in it, else the first. */
static Str telling_line(Arena *a, Str text, const char *word) {
  StrBuf b = sb_new(a);
  Str first = {0};
  for (size_t i = 0; i < text.len;) {
    size_t n = i;
    while (n < text.len && text.ptr[n] != '\n') n++;
    Str line = arena_str(a, (Str){text.ptr + i, n - i});
    if (!first.len) first = line;
    if (strstr(arena_cstr(a, line), word)) {
      first = line;
      break;
    }
    i = n + 1;
  }
  sb_escaped(&b, first, 400);
  return sb_view(&b);
}

static bool report_failure(Diags *d, Arena *a, const Command *cmd) {
  Str text = message(a, cmd->output);
  Str line = telling_line(a, text, "error");
  if (cmd->start_error) (void)diag_add(d, DIAG_E0005, (DiagPlace){0}, "%s cannot be started: %s", cmd->argv[0], strerror(cmd->start_error));
  else if (cmd->timed_out) (void)diag_add(d, DIAG_E0006, (DiagPlace){0}, "%s took more than %d s", cmd->argv[0], CC_SECONDS);
  else if (cmd->signal) (void)diag_add(d, DIAG_E0006, (DiagPlace){0}, "%s was ended by signal %d", cmd->argv[0], cmd->signal);
  else (void)diag_add(d, DIAG_E0006, (DiagPlace){0}, "%s: %.*s", cmd->argv[0], STR_ARG(line));
  return false;
}

static const char *const *finish_words(Arena *a, Words *w) {
  words_push(a, w, NULL);
  return w->list.data;
}

static bool run_compilers(Diags *d, Arena *a, const BuildOptions *o, Workdir *w, Command *commands, size_t n) {
  if (!commands_run(w, a, commands, n, o->jobs)) return false;
  for (size_t i = 0; i < n; i++)
    if (commands[i].exit_code != 0) return report_failure(d, a, &commands[i]);
  return true;
}

const char *const *builder_compile_only(Cli *c, const BuildOptions *o, Workdir *w, const castnet_interface *m, size_t source, const char *extra, const char *object) {
  Words words = compiler(c, o, w, m->cflags);
  if (extra) words_push(c->arena, &words, extra);
  words_push(c->arena, &words, "-c");
  words_push(c->arena, &words, workdir_file(c->arena, w, m->sources[source]));
  words_push(c->arena, &words, "-o");
  words_push(c->arena, &words, object);
  return finish_words(c->arena, &words);
}

bool builder_run_compiler(Diags *d, Arena *a, const BuildOptions *o, Workdir *w, Command *cmd) { return run_compilers(d, a, o, w, cmd, 1); }

/* With one job a single command compiles and links; with more each source has its own, and one links. */
bool builder_build(Cli *c, Diags *d, const BuildOptions *o, Workdir *w, const castnet_interface *const *models, size_t n) {
  Arena *a = c->arena;
  Words sources = {0}, link = compiler(c, o, w, models[0]->cflags);
  if (o->threads && !pool_write(a, d, workdir_path(w))) return false;
  add_sources(c, o, w, models, n, &sources);
  words_push(a, &link, "-o");
  words_push(a, &link, workdir_file(a, w, "castnet_check"));
  if (o->jobs > 1) {
    Command *commands = NEW_ARRAY(a, Command, sources.list.n);
    for (size_t i = 0; i < sources.list.n; i++) {
      Words one = compiler(c, o, w, models[0]->cflags);
      const char *object = workdir_file(a, w, arena_printf(a, "%zu.o", i).ptr);
      words_push(a, &one, "-c");
      words_push(a, &one, sources.list.data[i]);
      words_push(a, &one, "-o");
      words_push(a, &one, object);
      words_push(a, &link, object);
      commands[i] = (Command){.argv = finish_words(a, &one), .seconds = CC_SECONDS,
                              .output = workdir_file(a, w, arena_printf(a, "%zu.log", i).ptr)};
    }
    if (!run_compilers(d, a, o, w, commands, sources.list.n)) return false;
  } else {
    add_all(a, &link, &sources);
  }
  Command last = {.argv = finish_words(a, &link), .output = workdir_file(a, w, "cc.log"), .seconds = CC_SECONDS};
  return run_compilers(d, a, o, w, &last, 1);
}

/* ---- running ---- */
static const char *signal_text(Arena *a, int s) {
  switch (s) {
    case SIGSEGV: return "SIGSEGV";
    case SIGABRT: return "SIGABRT";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL (does this machine have the target's instructions?)";
    case SIGBUS: return "SIGBUS";
    case SIGKILL: return "SIGKILL";
    default: return arena_printf(a, "signal %d", s).ptr;
  }
}

static RunOutcome fail_run(Diags *d, const char *fmt, const char *what) {
  (void)diag_add(d, DIAG_E0603, (DiagPlace){0}, fmt, what);
  return RUN_FAILED;
}

static RunOutcome judge_run(Cli *c, Diags *d, const Command *cmd, const char *outputs, const castnet_interface *m, AdapterResult *ret) {
  Arena *a = c->arena;
  if (cmd->start_error) return fail_run(d, "the program cannot be started: %s", strerror(cmd->start_error));
  if (cmd->timed_out) return fail_run(d, "the generated code did not end in time%s (--timeout)", "");
  if (cmd->signal) return fail_run(d, "the generated code was ended by %s", signal_text(a, cmd->signal));
  Str line = telling_line(a, message(a, cmd->output), "rror: ");
  if (cmd->exit_code != 0) return fail_run(d, "the program failed: %s", line.ptr ? line.ptr : "");
  if (!adapter_read_outputs(a, outputs, m, ret)) return fail_run(d, "the program's outputs are not complete%s", "");
  if (ret->fault) return fail_run(d, "the generated code broke its contract: %s", ret->fault);
  if (ret->status != 0) return fail_run(d, "the generated code returned %s", adapter_status_name(ret->status));
  return RUN_DONE;
}

RunOutcome builder_run(Cli *c, Diags *d, const BuildOptions *o, Workdir *w, const char *program, size_t k, const castnet_interface *m,
                       const OnnxValue *const *inputs, AdapterResult *ret) {
  Arena *a = c->arena;
  const char *in = workdir_file(a, w, "inputs"), *out = workdir_file(a, w, "outputs");
  if (!adapter_write_inputs(a, d, in, m, inputs)) return RUN_FAILED;
  (void)unlink(out);
  const char *weights = m->weights_at_run_time ? workdir_file(a, w, arena_printf(a, "%s_weights.bin", m->prefix).ptr) : NULL;
  const char *const own[] = {program, arena_printf(a, "%zu", k).ptr, in, out, weights, NULL};
  Words argv = {0};
  add_all(a, &argv, &o->runner);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) words_push(a, &argv, own[i]);
  Command cmd = {.argv = argv.list.data, .output = workdir_file(a, w, "run.log"), .seconds = o->run_seconds};
  if (!commands_run(w, a, &cmd, 1, 1)) return RUN_INTERRUPTED;
  return judge_run(c, d, &cmd, out, m, ret);
}
