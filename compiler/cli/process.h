/* Child processes by argument vectors, without a shell, and the folder for their files.
 *
 * While a Workdir is open SIGINT, SIGTERM and SIGHUP are blocked: commands_run takes them, ends its children and reports,
 * so that the folder is removed before castnet ends by that signal. */
#ifndef CASTNET_PROCESS_H
#define CASTNET_PROCESS_H

#include "base/base.h"
#include "base/diag.h"

typedef struct Workdir Workdir;
/* A new folder for temporaries, or the given one, which is kept. NULL after E0003. Closed with the arena at the latest. */
Workdir *workdir_open(Arena *a, Diags *d, const char *keep);
void workdir_close(Workdir *w);
const char *workdir_path(const Workdir *w);
const char *workdir_file(Arena *a, const Workdir *w, const char *name); /* its path */
/* Called every fifth of a second while commands_run waits. */
void workdir_on_wait(Workdir *w, void (*tick)(void *), void *user);
int workdir_signal(const Workdir *w); /* that commands_run took; 0: none */

typedef struct Command {
  const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
  const char *output;      /* file for standard output and error */
  double seconds;          /* at most; 0: no limit */
  /* results */
  int start_error; /* errno, 0: it ran */
  int exit_code;   /* -1 when ended by a signal */
  int signal;
  bool timed_out;
} Command;

/* Runs all, `jobs` at a time. False when a signal asked castnet to end. */
bool commands_run(Workdir *w, Arena *a, Command *commands, size_t n, size_t jobs);

/* Words separated by blanks. */
typedef struct Words {
  VEC(const char *) list;
} Words;
void words_add(Arena *a, Words *w, const char *text);
void words_push(Arena *a, Words *w, const char *word);

#endif
