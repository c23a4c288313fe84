/* Preloaded: the FAULT_AT'th call that changes the file system fails with ENOSPC, or kills the process (FAULT_KILL). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int due(void) {
  static long calls;
  const char *at = getenv("FAULT_AT");
  if (!at || ++calls != atol(at)) return 0;
  if (getenv("FAULT_KILL")) (void)raise(SIGKILL);
  errno = ENOSPC;
  return 1;
}

/* FAULT_HALF: half of what was asked, so that a torn file would show. */
ssize_t write(int fd, const void *p, size_t n) {
  if (fd > 2 && getenv("FAULT_HALF") && n > 1) n /= 2;
  return fd > 2 && due() ? -1 : (ssize_t)syscall(SYS_write, fd, p, n);
}

int openat(int dir, const char *path, int flags, ...) {
  va_list ap;
  va_start(ap, flags);
  int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
  va_end(ap);
  return due() ? -1 : (int)syscall(SYS_openat, dir, path, flags, mode);
}

int renameat(int a, const char *from, int b, const char *to) {
  return due() ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, 0);
}

int unlinkat(int dir, const char *path, int flags) { return due() ? -1 : (int)syscall(SYS_unlinkat, dir, path, flags); }

int dup(int fd) { return due() ? -1 : (int)syscall(SYS_dup, fd); }

int mkdir(const char *path, mode_t mode) { return due() ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode); }
