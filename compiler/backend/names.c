#include "backend/names.h"

enum { NAME_MAX_CHARS = 48 };

/* Words that a C or C++ compiler, or the headers that generated code includes, take for themselves. */
static const char *const keywords[] = {
    /* C99, C11, C23 */
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static",
    "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Alignas", "_Alignof", "_Atomic",
    "_Bool", "_Complex", "_Generic", "_Imaginary", "_Noreturn", "_Static_assert", "_Thread_local", "_Pragma", "_Float16",
    "_BitInt", "alignas", "alignof", "bool", "constexpr", "false", "nullptr", "static_assert", "thread_local", "true",
    "typeof", "typeof_unqual", "asm",
    /* C++ */
    "and", "and_eq", "bitand", "bitor", "catch", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
    "consteval", "constinit", "const_cast", "co_await", "co_return", "co_yield", "decltype", "delete", "dynamic_cast",
    "explicit", "export", "friend", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "operator", "or", "or_eq",
    "private", "protected", "public", "reflexpr", "reinterpret_cast", "requires", "static_cast", "template", "this",
    "throw", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
    /* macros of compilers in their default mode, and of the standard headers */
    "linux", "unix", "i386", "arm", "sparc", "mips", "sun", "vax", "NULL", "offsetof", "errno", "assert", "stdin", "stdout",
    "stderr", "SIZE_MAX", "PTRDIFF_MAX", "PTRDIFF_MIN", "WCHAR_MAX", "WCHAR_MIN", "WINT_MAX", "WINT_MIN",
    "SIG_ATOMIC_MAX", "SIG_ATOMIC_MIN", "EOF", "NAN", "INFINITY", "_WIN32", "_WIN64", "_LP64", "_ILP32", "BUFSIZ", "CHAR_BIT",
    "CHAR_MAX", "CHAR_MIN", "CLOCKS_PER_SEC", "DECIMAL_DIG", "EDOM", "EILSEQ", "ERANGE", "EXIT_FAILURE", "EXIT_SUCCESS", "FILENAME_MAX",
    "FOPEN_MAX", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL", "LLONG_MAX", "LLONG_MIN", "LONG_MAX", "LONG_MIN", "L_tmpnam", "MATH_ERREXCEPT",
    "MATH_ERRNO", "MB_CUR_MAX", "MB_LEN_MAX", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_E", "M_LN10", "M_LN2", "M_LOG10E", "M_LOG2E", "M_PI",
    "M_PI_2", "M_PI_4", "M_SQRT1_2", "M_SQRT2", "RAND_MAX", "SCHAR_MAX", "SCHAR_MIN", "SEEK_CUR", "SEEK_END", "SEEK_SET", "SHRT_MAX",
    "SHRT_MIN", "TIME_UTC", "TMP_MAX", "UCHAR_MAX", "ULLONG_MAX", "ULONG_MAX", "USHRT_MAX", "math_errhandling",
    /* types of the standard headers */
    "size_t", "ptrdiff_t", "max_align_t", "uintptr_t", "intptr_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "main"};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/* The C standard's headers, those of a C library that they include by a plain name, and what else generated code or the bundled runtime includes:
 * N.h would hide them behind -I. Headers of intrinsics include each other; all their names end alike. */
static const char *const headers[] = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp", "signal",
    "stdalign", "stdarg", "stdatomic", "stdbit", "stdbool", "stdckdint", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn", "string",
    "tgmath", "threads", "time", "uchar", "wchar", "wctype", "features", "strings", "alloca", "pthread", "sched", "unistd", "cpuid", "mm_malloc",
    "arm_acle", "arm_bf16", "arm_fp16", "arm_mve", "arm_neon", "arm_sve", "arm_vector_types", "cuda", "cuda_bf16", "cuda_fp16", "cuda_runtime",
    "cuda_runtime_api", "driver_types", "host_defines", "vector_types"};

static bool is_one_of(Str s, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (str_is(s, words[i])) return true;
  return false;
}

/* Families of names instead of words. What begins so is the implementation's own (__linux__), or ours, whatever follows. */
static bool has_reserved_prefix(Str s) {
  return str_starts(s, "__") || str_starts(s, "cn_") || str_starts(s, "CN_") || str_starts(s, "castnet_") || str_starts(s, "CASTNET_");
}

/* The limits of stdint.h and float.h, macros of compilers (_MM_HINT_T0). */
static bool in_reserved_family(Str s) {
  if (str_starts(s, "INT_") || str_starts(s, "UINT_") || str_starts(s, "INTPTR_") || str_starts(s, "UINTPTR_")) return true;
  if (str_starts(s, "FLT_") || str_starts(s, "DBL_") || str_starts(s, "LDBL_")) return true;
  size_t at = str_starts(s, "UINT") ? 4 : str_starts(s, "INT") ? 3 : 0;
  if (at && s.len > at && (is_digit(s.ptr[at]) || s.ptr[at] == 'M')) return true;
  if (s.len < 2 || s.ptr[0] != '_' || !is_upper(s.ptr[1])) return false;
  for (size_t i = 1; i < s.len; i++)
    if (is_lower(s.ptr[i])) return false;
  return true;
}

/* Without the hash digits; *ret_cut tells that they are due. */
static Str plain(Arena *a, Str name, bool *ret_cut) {
  StrBuf b = sb_new(a);
  if (name.len && is_digit(name.ptr[0])) sb_putc(&b, 'x');
  size_t i = 0;
  for (; i < name.len && b.len < NAME_MAX_CHARS; i++) {
    char c = name.ptr[i];
    sb_putc(&b, is_digit(c) || is_upper(c) || is_lower(c) ? c : '_');
  }
  *ret_cut = i < name.len;
  if (has_reserved_prefix(sb_view(&b))) return arena_printf(a, "x_%s", b.data);
  if (is_one_of(sb_view(&b), keywords, sizeof keywords / sizeof *keywords) || in_reserved_family(sb_view(&b))) sb_putc(&b, '_');
  return sb_view(&b);
}

static Str with_hash(Arena *a, Str base, Str name, uint64_t seed) {
  return arena_printf(a, "%.*s_%08x", STR_WHOLE(base), (unsigned)(hash_bytes(name.ptr, name.len, seed) & 0xffffffffu));
}

NameScope names_scope(Arena *a) { return (NameScope){.arena = a, .used = map_new(a)}; }

void names_reserve(NameScope *s, const char *name) { map_put(&s->used, str_c(name), s); }

Str names_add(NameScope *s, Str onnx_name, const char *fallback) {
  bool cut;
  Str name = onnx_name.len ? onnx_name : str_c(fallback);
  Str base = plain(s->arena, name, &cut);
  Str r = cut ? with_hash(s->arena, base, name, 0) : base;
  for (uint64_t seed = 0; map_has(&s->used, r); seed++) r = with_hash(s->arena, base, name, seed);
  map_put(&s->used, r, s);
  return r;
}

Str names_identifier(Arena *a, Str onnx_name, const char *fallback) {
  NameScope s = names_scope(a);
  return names_add(&s, onnx_name, fallback);
}

Str names_model(Arena *a, Str onnx_name) {
  const Str n = names_identifier(a, onnx_name, "model");
  if (has_reserved_prefix(arena_printf(a, "%.*s_", STR_WHOLE(n)))) return arena_printf(a, "x_%.*s", STR_WHOLE(n));
  const bool intrinsics = n.len >= strlen("intrin") && memcmp(n.ptr + n.len - strlen("intrin"), "intrin", strlen("intrin")) == 0;
  return intrinsics || is_one_of(n, headers, sizeof headers / sizeof *headers) ? arena_printf(a, "%.*s_", STR_WHOLE(n)) : n;
}

void names_comment(StrBuf *b, Str s, size_t max) {
  sb_putc(b, '"');
  names_bare_comment(b, s, max);
  sb_putc(b, '"');
}

void names_bare_comment(StrBuf *b, Str s, size_t max) {
  StrBuf t = sb_new(b->arena);
  sb_escaped(&t, s, max);
  for (size_t i = 0; i < t.len; i++) {
    char c = t.data[i], before = i ? t.data[i - 1] : 0;
    if ((before == '*' && c == '/') || (before == '/' && c == '*') || (before == '?' && c == '?'))
      sb_printf(b, "\\x%02x", (unsigned char)c);
    else
      sb_putc(b, c);
  }
}

void names_c_string(StrBuf *b, Str s) {
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c == '"' || c == '\\' || c == '?') sb_printf(b, "\\%c", c);
    else if (c < 0x20 || c >= 0x7f) sb_printf(b, "\\%03o", c);
    else sb_putc(b, (char)c);
  }
}

/* The place behind a comment, string or character that starts at i, or i. */
static size_t skip_quoted(Str t, size_t i) {
  char c = t.ptr[i];
  if (c == '/' && i + 1 < t.len && t.ptr[i + 1] == '*') {
    for (i += 2; i + 1 < t.len && !(t.ptr[i] == '*' && t.ptr[i + 1] == '/'); i++) continue;
    return i + 2 < t.len ? i + 2 : t.len;
  }
  if (c != '"' && c != '\'') return i;
  for (i++; i < t.len && t.ptr[i] != c; i++)
    if (t.ptr[i] == '\\') i++;
  return i + 1 < t.len ? i + 1 : t.len;
}

static bool in_word(char c) { return is_digit(c) || is_upper(c) || is_lower(c) || c == '_'; }

/* Behind `.` or `->`: a name of another scope. */
static bool is_member(Str t, size_t at) {
  if (at >= 1 && t.ptr[at - 1] == '.') return true;
  return at >= 2 && t.ptr[at - 1] == '>' && t.ptr[at - 2] == '-';
}

void names_each_word(Str text, void (*f)(void *user, Str word), void *user) {
  for (size_t i = 0; i < text.len;) {
    size_t end = skip_quoted(text, i);
    if (end == i) {
      while (end < text.len && in_word(text.ptr[end])) end++;
      if (end > i && !is_member(text, i)) f(user, (Str){text.ptr + i, end - i});
      if (end == i) end++;
    }
    i = end;
  }
}
