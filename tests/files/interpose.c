/* Loaded before libc (LD_PRELOAD): the N-th call that changes files fails for want of space, or kills the process.
 * CASTNET_FAULT=fail|kill, CASTNET_FAULT_AT=N; the number of calls seen is written to the file CASTNET_FAULT_COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long calls; /* castnet writes from one thread */

static int fault(void) {
  const char *at = getenv("CASTNET_FAULT_AT"), *how = getenv("CASTNET_FAULT");
  calls++;
  if (!at || !how || atol(at) != calls) return 0;
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  errno = ENOSPC;
  return 1;
}

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, name))

ssize_t write(int fd, const void *p, size_t n) {
  ssize_t (*next)(int, const void *, size_t) = NEXT(ssize_t(*)(int, const void *, size_t), "write");
  if (fd > 2 && fault()) return -1;
  return next(fd, p, n);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
  int (*next)(int, const char *, int, const char *) = NEXT(int (*)(int, const char *, int, const char *), "renameat");
  return fault() ? -1 : next(from_dir, from, to_dir, to);
}

int rename(const char *from, const char *to) {
  int (*next)(const char *, const char *) = NEXT(int (*)(const char *, const char *), "rename");
  return fault() ? -1 : next(from, to);
}

int unlinkat(int dir, const char *path, int flags) {
  int (*next)(int, const char *, int) = NEXT(int (*)(int, const char *, int), "unlinkat");
  return fault() ? -1 : next(dir, path, flags);
}

int mkdir(const char *path, mode_t mode) {
  int (*next)(const char *, mode_t) = NEXT(int (*)(const char *, mode_t), "mkdir");
  return fault() ? -1 : next(path, mode);
}

int openat(int dir, const char *path, int flags, ...) {
  int (*next)(int, const char *, int, ...) = NEXT(int (*)(int, const char *, int, ...), "openat");
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list ap;
    va_start(ap, flags);
    mode = va_arg(ap, mode_t);
    va_end(ap);
    if (fault()) return -1;
  }
  return next(dir, path, flags, mode);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("CASTNET_FAULT_COUNT");
  FILE *f = path ? fopen(path, "w") : NULL;
  if (!f) return;
  fprintf(f, "%ld\n", calls);
  fclose(f);
}
