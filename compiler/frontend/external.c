/* External data: regular files inside the model's directory, each mapped once (DESIGN: a model is hostile). */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/io.h"
#include "frontend/reader.h"

static bool is_component(Str s, const char *c) { return str_is(s, c); }

/* The next component of a path, *path moved behind it; empty at the end. */
static Str path_next(Str *path) {
  while (path->len && *path->ptr == '/') path->ptr++, path->len--;
  Str c = {path->ptr, 0};
  while (c.len < path->len && c.ptr[c.len] != '/') c.len++;
  path->ptr += c.len;
  path->len -= c.len;
  return c;
}

/* a//b/./c -> a/b/c. NULL, or what is wrong with the location. */
static const char *path_normalise(Arena *a, Str location, Str *ret) {
  if (!location.len) return "external data without a location";
  if (location.ptr[0] == '/') return "the location of external data is an absolute path";
  if (memchr(location.ptr, 0, location.len)) return "the location of external data holds a NUL byte";
  StrBuf b = sb_new(a);
  for (Str rest = location, c; (c = path_next(&rest)).len;) {
    if (is_component(c, "..")) return "the location of external data leaves the model's directory (\"..\")";
    if (is_component(c, ".")) continue;
    if (b.len) sb_putc(&b, '/');
    sb_str(&b, c);
  }
  *ret = sb_view(&b);
  return b.len ? NULL : "the location of external data is a directory";
}

/* The model's directory with its slash, as in the path that was given; "" for the current one. */
static Str model_directory(const Reader *r) {
  const char *slash = strrchr(r->path, '/');
  return (Str){r->path, slash ? (size_t)(slash - r->path) + 1 : 0};
}

/* A descriptor of the file, reached directory by directory so that no link below the model's directory is followed;
 * -1 with errno. */
static int open_inside(Reader *r, Str path) {
  Str top = model_directory(r);
  int nofollow = r->allow_symlinks ? 0 : O_NOFOLLOW;
  int dir = open(top.len ? arena_cstr(r->arena, top) : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (dir >= 0) {
    Str c = path_next(&path);
    bool last = path.len == 0;
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | nofollow | (last ? 0 : O_DIRECTORY);
    int next = openat(dir, arena_cstr(r->arena, c), flags);
    int saved = errno;
    (void)close(dir);
    errno = saved;
    if (last) return next;
    dir = next;
  }
  return -1;
}

typedef struct ExternalFile {
  Str bytes;
  const char *why; /* it could not be mapped */
} ExternalFile;

static ExternalFile *external_open(Reader *r, Str path) {
  ExternalFile *f = map_get(&r->externals, path);
  if (f) return f;
  f = NEW(r->arena, ExternalFile);
  map_put(&r->externals, path, f);
  int fd = open_inside(r, path);
  if (fd < 0) {
    bool link = errno == ELOOP || (errno == ENOTDIR && !r->allow_symlinks);
    f->why = link ? "is or lies behind a symbolic link, or its folder is none (--allow-symlinks follows links)"
                  : strerror(errno);
    return f;
  }
  f->why = file_map_fd(r->arena, fd, &f->bytes);
  Str top = model_directory(r);
  StrBuf full = sb_new(r->arena);
  sb_str(&full, top);
  sb_str(&full, path);
  if (!f->why) vec_push(r->arena, r->files, sb_view(&full));
  return f;
}

/* A decimal number without sign or spaces. */
static bool number_parse(Str s, size_t *ret) {
  size_t v = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9') return false;
    if (!size_mul(v, 10, &v) || !size_add(v, (size_t)(s.ptr[i] - '0'), &v)) return false;
  }
  *ret = v;
  return s.len != 0;
}

const char *external_find(Reader *r, const OnnxEntry *entries, size_t n, size_t length, Str *ret) {
  Str location = {0}, path;
  size_t offset = 0, stated = length;
  for (size_t i = 0; i < n; i++) {
    Str key = entries[i].key, value = entries[i].value;
    if (str_is(key, "location")) location = value;
    if (str_is(key, "offset") && !number_parse(value, &offset)) return "the offset of external data is not a number";
    if (str_is(key, "length") && !number_parse(value, &stated)) return "the length of external data is not a number";
  }
  const char *why = path_normalise(r->arena, location, &path);
  if (why) return why;
  ExternalFile *f = external_open(r, path);
  if (f->why) return arena_printf(r->diags->arena, "external file %s: %s", diag_quote(r->diags, path), f->why).ptr;
  if (stated != length)
    return arena_printf(r->diags->arena, "its external data is %zu bytes long, but its type and shape ask for %zu",
                        stated, length).ptr;
  if (offset > f->bytes.len || length > f->bytes.len - offset)
    return arena_printf(r->diags->arena, "bytes %zu to %zu of external file %s are asked for, which has %zu", offset,
                        offset + length, diag_quote(r->diags, path), f->bytes.len).ptr;
  *ret = (Str){f->bytes.ptr + offset, length};
  return NULL;
}
