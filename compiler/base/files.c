#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_PREFIX ".castnet-"

enum { WRITE_BUFFER = 1 << 18, TEMP_TRIES = 1000 };

struct FileWriter {
  int fd, error; /* error: the first errno, 0 for none */
  size_t n;
  char *buffer; /* [WRITE_BUFFER] */
};

static void write_all(FileWriter *w, const char *p, size_t n) {
  while (n > 0 && !w->error) {
    ssize_t done = write(w->fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      w->error = done < 0 ? errno : EIO;
      return;
    }
    p += done;
    n -= (size_t)done;
  }
}

static void flush(FileWriter *w) {
  write_all(w, w->buffer, w->n);
  w->n = 0;
}

void file_put(FileWriter *w, const void *p, size_t n) {
  if (n >= WRITE_BUFFER - w->n) flush(w);
  if (n >= WRITE_BUFFER) {
    write_all(w, p, n);
    return;
  }
  if (n) memcpy(w->buffer + w->n, p, n);
  w->n += n;
}

/* One file on its way: its temporary is open and locked until it has its name. */
typedef struct Pending {
  const char *temp, *name; /* temp NULL: it has its name, or there is none */
  int fd;
} Pending;

typedef struct Commit {
  Arena *arena;
  Diags *diags;
  const char *dir;
  int dir_fd;
  Pending *files;
  size_t n;
} Commit;

static bool fail(const Commit *c, const char *what, const char *name, int error) {
  DiagPlace place = {.file = str_c(c->dir)};
  diag_add(c->diags, DIAG_E0003, place, "cannot %s %s: %s", what, diag_quote(c->diags, str_c(name)), strerror(error));
  return false;
}

/* A living run holds a lock on each of its temporaries; where the file system has no locks nothing is removed. */
static void remove_if_stale(const Commit *c, const char *name) {
  int fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) (void)unlinkat(c->dir_fd, name, 0);
  (void)close(fd);
}

static void remove_stale(const Commit *c) {
  int fd = openat(c->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) (void)close(fd);
    return;
  }
  for (const struct dirent *e; (e = readdir(dir)) != NULL;)
    if (strncmp(e->d_name, TEMP_PREFIX, sizeof TEMP_PREFIX - 1) == 0) remove_if_stale(c, e->d_name);
  (void)closedir(dir);
}

/* A cleaner may have taken the file between its creation and its lock: then it has no link any more, and the next is tried. */
static bool open_temp(const Commit *c, Pending *f, Str name) {
  for (int i = 0; i < TEMP_TRIES; i++) {
    const char *temp = arena_printf(c->arena, TEMP_PREFIX "%ld-%d-%.*s", (long)getpid(), i, STR_ARG(name)).ptr;
    int fd = openat(c->dir_fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return fail(c, "create", temp, errno);
    struct stat st;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    if (fstat(fd, &st) == 0 && st.st_nlink == 0) {
      (void)close(fd);
      continue;
    }
    f->temp = temp;
    f->fd = fd;
    return true;
  }
  return fail(c, "create", f->name, EEXIST);
}

/* The descriptor stays open, since closing it would give up the lock; a copy is closed for the errors that only close tells
 * (network file systems). No fsync: as with a compiler, a power loss is followed by the next build. */
static bool write_temp(const Commit *c, Pending *f, const OutFile *out, char *buffer) {
  FileWriter w = {.fd = f->fd, .buffer = buffer};
  if (out->write) out->write(&w, out->user);
  else file_put(&w, out->text.ptr, out->text.len);
  flush(&w);
  if (w.error) return fail(c, "write", f->name, w.error);
  int copy = dup(f->fd);
  if (copy < 0 || close(copy) != 0) return fail(c, "write", f->name, errno);
  return true;
}

static bool write_temps(const Commit *c, const FileSet *s) {
  char *buffer = arena_array(c->arena, WRITE_BUFFER, 1);
  for (size_t i = 0; i < c->n; i++) {
    Pending *f = &c->files[i];
    f->name = arena_cstr(c->arena, s->files.data[i].name);
    if (!open_temp(c, f, s->files.data[i].name) || !write_temp(c, f, &s->files.data[i], buffer)) return false;
  }
  return true;
}

/* Two runs for the same names take turns. The lock goes with dir_fd. */
static bool rename_temps(const Commit *c) {
  (void)flock(c->dir_fd, LOCK_EX);
  const char *last = c->files[c->n - 1].name;
  if (c->n > 1 && unlinkat(c->dir_fd, last, 0) != 0 && errno != ENOENT) return fail(c, "replace", last, errno);
  for (size_t i = 0; i < c->n; i++) {
    Pending *f = &c->files[i];
    if (renameat(c->dir_fd, f->temp, c->dir_fd, f->name) != 0) return fail(c, "rename a temporary to", f->name, errno);
    f->temp = NULL;
  }
  return true;
}

static void close_all(const Commit *c) {
  for (size_t i = 0; i < c->n; i++) {
    if (c->files[i].temp) (void)unlinkat(c->dir_fd, c->files[i].temp, 0);
    if (c->files[i].fd >= 0) (void)close(c->files[i].fd);
  }
  (void)close(c->dir_fd);
}

bool fileset_write(const FileSet *s, Diags *d, const char *dir) {
  Commit c = {.arena = s->arena, .diags = d, .dir = dir, .n = s->files.n};
  if (c.n == 0) return true;
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) return fail(&c, "make the folder", dir, errno);
  c.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (c.dir_fd < 0) return fail(&c, "open the folder", dir, errno);
  c.files = NEW_ARRAY(s->arena, Pending, c.n);
  for (size_t i = 0; i < c.n; i++) c.files[i].fd = -1;
  remove_stale(&c);
  bool ok = write_temps(&c, s) && rename_temps(&c);
  close_all(&c);
  return ok;
}

bool file_write(Arena *a, Diags *d, const char *path, Str text) {
  const char *slash = strrchr(path, '/');
  FileSet s = {.arena = a};
  vec_push(a, s.files, ((OutFile){.name = str_c(slash ? slash + 1 : path), .text = text}));
  const char *dir = !slash ? "." : slash == path ? "/" : arena_cstr(a, (Str){path, (size_t)(slash - path)});
  return fileset_write(&s, d, dir);
}

/* Blanks, '#', '%' and '\' before a blank have their own ways in make; '$' is doubled. A newline cannot be written. */
static void depfile_name(StrBuf *b, Str s) {
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    if (c == '$') sb_putc(b, '$');
    if (c == ' ' || c == '\t') {
      for (size_t k = i; k > 0 && s.ptr[k - 1] == '\\'; k--) sb_putc(b, '\\');
      sb_putc(b, '\\');
    } else if (c == '#') {
      sb_putc(b, '\\');
    }
    sb_putc(b, c);
  }
}

void depfile_print(StrBuf *b, const Str *targets, size_t n_targets, const Str *sources, size_t n_sources) {
  for (size_t i = 0; i < n_targets; i++) {
    if (i) sb_putc(b, ' ');
    depfile_name(b, targets[i]);
  }
  sb_putc(b, ':');
  for (size_t i = 0; i < n_sources; i++) {
    sb_puts(b, " \\\n  ");
    depfile_name(b, sources[i]);
  }
  sb_putc(b, '\n');
}
