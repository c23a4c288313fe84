#include "cli/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct Workdir {
  const char *path;
  bool open, keep;
  sigset_t before;
  int signal;
  void (*tick)(void *);
  void *user;
};

/* ---- the folder ---- */
static void watched_signals(sigset_t *s) {
  (void)sigemptyset(s);
  (void)sigaddset(s, SIGINT);
  (void)sigaddset(s, SIGTERM);
  (void)sigaddset(s, SIGHUP);
  (void)sigaddset(s, SIGCHLD);
}

/* Only files lie in it. */
static void remove_folder(const char *path) {
  DIR *dir = opendir(path);
  for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) (void)unlinkat(dirfd(dir), e->d_name, 0);
  if (dir) (void)closedir(dir);
  (void)rmdir(path);
}

void workdir_close(Workdir *w) {
  if (!w->open) return;
  w->open = false;
  if (!w->keep) remove_folder(w->path);
  (void)sigprocmask(SIG_SETMASK, &w->before, NULL);
}

static void close_with_arena(void *w) { workdir_close(w); }

static bool make_folder(Workdir *w, Arena *a, const char *keep) {
  if (keep) {
    w->path = arena_cstr(a, str_c(keep));
    w->keep = true;
    return mkdir(keep, 0777) == 0 || errno == EEXIST;
  }
  const char *tmp = getenv("TMPDIR");
  char *path = arena_cstr(a, arena_printf(a, "%s/castnet-XXXXXX", tmp && *tmp ? tmp : "/tmp"));
  w->path = mkdtemp(path);
  return w->path != NULL;
}

Workdir *workdir_open(Arena *a, Diags *d, const char *keep) {
  Workdir *w = NEW(a, Workdir);
  sigset_t watched;
  watched_signals(&watched);
  arena_on_free(a, close_with_arena, w);
  (void)sigprocmask(SIG_BLOCK, &watched, &w->before);
  w->open = true;
  if (make_folder(w, a, keep)) return w;
  (void)diag_add(d, DIAG_E0003, (DiagPlace){0}, "cannot make a folder for temporary files: %s", strerror(errno));
  w->keep = true; /* there is nothing to remove */
  workdir_close(w);
  return NULL;
}

const char *workdir_path(const Workdir *w) { return w->path; }
const char *workdir_file(Arena *a, const Workdir *w, const char *name) { return arena_printf(a, "%s/%s", w->path, name).ptr; }
int workdir_signal(const Workdir *w) { return w->signal; }

void workdir_on_wait(Workdir *w, void (*tick)(void *), void *user) {
  w->tick = tick;
  w->user = user;
}

/* ---- running ---- */
typedef struct Running {
  pid_t pid; /* 0: not running */
  double deadline;
} Running;

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In a process group of its own, so that it ends with its children; signals as they were before the folder was opened. */
static void start(const Workdir *w, Command *c, Running *r) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t defaults;
  watched_signals(&defaults);
  (void)posix_spawn_file_actions_init(&files);
  (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  (void)posix_spawn_file_actions_addopen(&files, 1, c->output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  (void)posix_spawn_file_actions_adddup2(&files, 1, 2);
  (void)posix_spawnattr_init(&attr);
  (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  (void)posix_spawnattr_setpgroup(&attr, 0);
  (void)posix_spawnattr_setsigmask(&attr, &w->before);
  (void)posix_spawnattr_setsigdefault(&attr, &defaults);
  c->exit_code = -1;
  c->start_error = posix_spawnp(&r->pid, c->argv[0], &files, &attr, (char *const *)(uintptr_t)c->argv, environ);
  if (c->start_error) r->pid = 0;
  r->deadline = c->seconds > 0 ? now() + c->seconds : 0;
  (void)posix_spawnattr_destroy(&attr);
  (void)posix_spawn_file_actions_destroy(&files);
}

static void note_end(Command *c, Running *r, int status) {
  r->pid = 0;
  if (WIFEXITED(status)) c->exit_code = WEXITSTATUS(status);
  else c->signal = WTERMSIG(status);
}

/* Takes what has ended; ends what is late. Returns how many still run. */
static size_t look_after(Command *commands, Running *running, size_t n) {
  size_t alive = 0;
  for (size_t i = 0; i < n; i++) {
    int status;
    if (!running[i].pid) continue;
    if (waitpid(running[i].pid, &status, WNOHANG) == running[i].pid) {
      note_end(&commands[i], &running[i], status);
      continue;
    }
    if (running[i].deadline > 0 && now() > running[i].deadline) {
      commands[i].timed_out = true;
      (void)kill(-running[i].pid, SIGKILL);
    }
    alive++;
  }
  return alive;
}

static void end_all(Command *commands, Running *running, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int status;
    if (!running[i].pid) continue;
    (void)kill(-running[i].pid, SIGKILL);
    if (waitpid(running[i].pid, &status, 0) == running[i].pid) note_end(&commands[i], &running[i], status);
  }
}

bool commands_run(Workdir *w, Arena *a, Command *commands, size_t n, size_t jobs) {
  Running *running = NEW_ARRAY(a, Running, n);
  sigset_t watched;
  watched_signals(&watched);
  for (size_t next = 0;;) {
    size_t alive = look_after(commands, running, n);
    for (; next < n && alive < (jobs ? jobs : 1); next++) {
      start(w, &commands[next], &running[next]);
      alive += running[next].pid != 0;
    }
    if (alive == 0 && next == n) return true;
    if (w->tick) w->tick(w->user);
    const struct timespec patience = {.tv_nsec = 200 * 1000 * 1000};
    int s = sigtimedwait(&watched, NULL, &patience);
    if (s > 0 && s != SIGCHLD) {
      w->signal = s;
      end_all(commands, running, n);
      return false;
    }
  }
}

/* ---- words ---- */
void words_push(Arena *a, Words *w, const char *word) {
  vec_push(a, w->list, word);
}

void words_add(Arena *a, Words *w, const char *text) {
  while (*text) {
    text += strspn(text, " \t\n");
    size_t n = strcspn(text, " \t\n");
    if (n) words_push(a, w, arena_cstr(a, (Str){text, n}));
    text += n;
  }
}
