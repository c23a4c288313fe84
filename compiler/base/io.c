#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void unmap(void *p) {
  const Str *s = p;
  if (s->len) (void)munmap((void *)(uintptr_t)s->ptr, s->len);
}

static const char *map_regular(Arena *a, int fd, Str *ret) {
  struct stat st;
  if (fstat(fd, &st) != 0) return strerror(errno);
  if (S_ISDIR(st.st_mode)) return "is a directory";
  if (!S_ISREG(st.st_mode)) return "is not a regular file";
  if (st.st_size < 0 || (uintmax_t)st.st_size > SIZE_MAX) return "is too large";
  *ret = (Str){"", (size_t)st.st_size};
  if (st.st_size == 0) return NULL;
  Str *kept = NEW(a, Str);
  arena_on_free(a, unmap, kept);
  void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return strerror(errno);
  *ret = *kept = (Str){p, (size_t)st.st_size};
  return NULL;
}

const char *file_map_fd(Arena *a, int fd, Str *ret) {
  const char *why = map_regular(a, fd, ret);
  (void)close(fd);
  return why;
}

bool file_map(Arena *a, Diags *d, const char *path, Str *ret) {
  /* O_NONBLOCK: a FIFO without a writer must not hang the open. */
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const char *why = fd < 0 ? strerror(errno) : file_map_fd(a, fd, ret);
  if (!why) return true;
  (void)diag_add(d, DIAG_E0002, (DiagPlace){.file = arena_str(d->arena, str_c(path))}, "cannot read: %s", why);
  return false;
}
