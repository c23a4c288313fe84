#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

const OptionRow option_rows[OPT_COUNT] = {
#define OPTION(id, word, letter, argument, commands, text) {word, letter, argument, commands, text},
#include "cli/options.def"
#undef OPTION
};

const CommandRow command_rows[CMD_COUNT] = {
#define COMMAND(word, operands, summary, text) {#word, operands, summary, text, cmd_##word},
#include "cli/commands.def"
#undef COMMAND
};

bool usage_error(Cli *c, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  StrBuf b = sb_new(c->arena);
  sb_vprintf(&b, fmt, ap);
  va_end(ap);
  Diag *d = diag_add(&c->diags, DIAG_E0001, (DiagPlace){0}, "%s", b.data);
  if (c->command < CMD_COUNT) d->hint = arena_printf(c->diags.arena, "castnet help %s", command_rows[c->command].word);
  else d->hint = STR("castnet help");
  return false;
}

/* ---- suggestions ---- */
/* Levenshtein's distance, given up beyond the length of a short word. */
static size_t distance(const char *a, const char *b) {
  enum { MAX = 32 };
  size_t row[MAX + 1], n = strlen(a), m = strlen(b);
  if (n > MAX || m > MAX) return SIZE_MAX;
  for (size_t j = 0; j <= m; j++) row[j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[m];
}

const char *options_nearest(const char *typed, const char *const *words, size_t n) {
  const char *best = NULL;
  size_t least = strlen(typed) / 3 + 2; /* one slip in short words, more in long ones */
  for (size_t i = 0; i < n; i++) {
    size_t d = distance(typed, words[i]);
    if (d < least) {
      least = d;
      best = words[i];
    }
  }
  return best;
}

static bool unknown_option(Cli *c, const char *typed) {
  const char *words[OPT_COUNT];
  size_t n = 0;
  for (size_t i = 0; i < OPT_COUNT; i++)
    if (option_rows[i].commands & (1u << c->command)) words[n++] = option_rows[i].word;
  const char *near = typed[0] == '-' && typed[1] == '-' ? options_nearest(typed + 2, words, n) : NULL;
  const char *shown = diag_quote(&c->diags, str_c(typed));
  if (near) return usage_error(c, "%s has no option %s; did you mean --%s?", command_rows[c->command].word, shown, near);
  return usage_error(c, "%s has no option %s", command_rows[c->command].word, shown);
}

/* ---- parsing ---- */
static bool is_word(const OptionRow *row, const char *typed, size_t n) {
  return strlen(row->word) == n && memcmp(row->word, typed, n) == 0;
}

static OptionId find_long(const Cli *c, const char *typed, size_t n) {
  for (size_t i = 0; i < OPT_COUNT; i++)
    if ((option_rows[i].commands & (1u << c->command)) && is_word(&option_rows[i], typed, n)) return (OptionId)i;
  return OPT_COUNT;
}

static OptionId find_letter(const Cli *c, char letter) {
  for (size_t i = 0; i < OPT_COUNT; i++)
    if ((option_rows[i].commands & (1u << c->command)) && option_rows[i].letter == letter) return (OptionId)i;
  return OPT_COUNT;
}

/* One argument that begins with '-': *ret_value is what stands in it, or NULL. */
static OptionId read_option(const Cli *c, const char *arg, const char **ret_value) {
  *ret_value = NULL;
  if (arg[1] != '-') {
    OptionId id = find_letter(c, arg[1]);
    if (arg[2]) *ret_value = arg + 2;
    return id;
  }
  const char *equals = strchr(arg, '=');
  if (equals) *ret_value = equals + 1;
  return find_long(c, arg + 2, equals ? (size_t)(equals - arg) - 2 : strlen(arg + 2));
}

bool options_parse(Cli *c, int argc, char **argv) {
  bool only_words = false;
  for (int i = 0; i < argc; i++) {
    const char *arg = argv[i], *value;
    if (only_words || arg[0] != '-' || !arg[1]) {
      vec_push(c->arena, c->words, arg);
      continue;
    }
    if (strcmp(arg, "--") == 0) {
      only_words = true;
      continue;
    }
    OptionId id = read_option(c, arg, &value);
    if (id == OPT_COUNT) return unknown_option(c, arg);
    const OptionRow *row = &option_rows[id];
    if (!row->argument && value) return usage_error(c, "--%s takes no value", row->word);
    if (row->argument && !value) {
      if (++i == argc) return usage_error(c, "--%s needs a value: %s", row->word, row->argument);
      value = argv[i];
    }
    vec_push(c->arena, c->uses, ((OptionUse){id, value}));
  }
  return true;
}

bool options_has(const Cli *c, OptionId id) {
  for (size_t i = 0; i < c->uses.n; i++)
    if (c->uses.data[i].id == id) return true;
  return false;
}

const char *options_last(const Cli *c, OptionId id) {
  for (size_t i = c->uses.n; i > 0; i--)
    if (c->uses.data[i - 1].id == id) return c->uses.data[i - 1].value;
  return NULL;
}

/* ---- values ---- */
/* A number at the front of s, as far as `stop`. */
static bool read_i64(const char *s, const char *stop, int64_t *ret) {
  char *end;
  errno = 0;
  *ret = strtoll(s, &end, 10);
  return errno == 0 && end == stop && end != s;
}

static bool read_u64(const char *s, uint64_t *ret) {
  char *end;
  errno = 0;
  *ret = strtoull(s, &end, 10);
  return errno == 0 && *end == 0 && *s >= '0' && *s <= '9';
}

bool options_number(Cli *c, OptionId id, uint64_t lo, uint64_t hi, uint64_t absent, uint64_t *ret) {
  const char *s = options_last(c, id);
  *ret = absent;
  if (!s || (read_u64(s, ret) && *ret >= lo && *ret <= hi)) return true;
  return usage_error(c, "--%s: %s is not a number from %llu to %llu", option_rows[id].word, diag_quote(&c->diags, str_c(s)),
                     (unsigned long long)lo, (unsigned long long)hi);
}

static bool read_size(Cli *c, uint64_t *ret) {
  const char *s = options_last(c, OPT_MAX_MEMORY);
  *ret = 0;
  if (!s) return true;
  static const char units[] = "KMG";
  size_t n = strlen(s);
  const char *unit = n ? strchr(units, s[n - 1]) : NULL;
  uint64_t scale = unit && *unit ? (uint64_t)1 << (10 * (unit - units + 1)) : 1, v;
  const char *digits = scale > 1 ? arena_cstr(c->arena, (Str){s, n - 1}) : s;
  if (read_u64(digits, &v) && v > 0 && v <= UINT64_MAX / scale) {
    *ret = v * scale;
    return true;
  }
  return usage_error(c, "--max-memory: %s is not a size such as 512M", diag_quote(&c->diags, str_c(s)));
}

/* NAME=LO..HI or NAME=V; the name may hold '=' itself. */
static bool read_dim(Cli *c, const char *s, castnet_dim_bound *ret) {
  const char *equals = strrchr(s, '='), *dots = equals ? strstr(equals, "..") : NULL;
  bool ok = equals && equals != s;
  if (ok && dots) {
    ok = read_i64(equals + 1, dots, &ret->lo) && read_i64(dots + 2, s + strlen(s), &ret->hi);
  } else if (ok) {
    ok = read_i64(equals + 1, s + strlen(s), &ret->lo);
    ret->hi = ret->lo;
  }
  if (!ok || ret->lo < 0 || ret->hi < ret->lo)
    return usage_error(c, "--dim: %s is not NAME=LO..HI with 0 <= LO <= HI", diag_quote(&c->diags, str_c(s)));
  ret->name = arena_cstr(c->arena, (Str){s, (size_t)(equals - s)});
  return true;
}

static bool is_symbol(const char *s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return *s && !(*s >= '0' && *s <= '9') && s[strspn(s, letters)] == 0;
}

static bool read_op(Cli *c, const char *s, castnet_custom_op *ret) {
  const char *equals = strrchr(s, '='), *colons = strstr(s, "::");
  if (!equals || !colons || colons > equals || colons + 2 == equals || !is_symbol(equals + 1))
    return usage_error(c, "--op: %s is not DOMAIN::TYPE=SYMBOL with a C name as symbol", diag_quote(&c->diags, str_c(s)));
  ret->domain = arena_cstr(c->arena, (Str){s, (size_t)(colons - s)});
  ret->type = arena_cstr(c->arena, (Str){colons + 2, (size_t)(equals - colons) - 2});
  ret->symbol = equals + 1;
  return true;
}

bool options_threads(Cli *c, const char **ret_word, uint64_t *ret) {
  *ret_word = NULL;
  *ret = 0;
  for (size_t i = 0; i < c->uses.n; i++) {
    const char *s = c->uses.data[i].value;
    if (c->uses.data[i].id != OPT_THREADS) continue;
    if (!(*s >= '0' && *s <= '9')) *ret_word = s;
    else if (c->command == CMD_compile || c->command == CMD_inspect) return usage_error(c, "--threads: on or off; how many is said when the code runs");
    else if (!read_u64(s, ret) || *ret < 1 || *ret > 1024) return usage_error(c, "--threads: %s is not a number from 1 to 1024", diag_quote(&c->diags, str_c(s)));
  }
  if (*ret && !*ret_word) *ret_word = "on";
  return true;
}

bool options_compile(Cli *c, castnet_options *ret) {
  *ret = (castnet_options){.size = sizeof *ret, .name = options_last(c, OPT_NAME), .target = options_last(c, OPT_TARGET),
                           .weights = options_last(c, OPT_WEIGHTS), .outputs = options_last(c, OPT_OUTPUTS),
                           .no_fuse = options_has(c, OPT_NO_FUSE), .float_qdq = options_has(c, OPT_FLOAT_QDQ), .no_reuse = options_has(c, OPT_NO_REUSE),
                           .ignore_output_shapes = options_has(c, OPT_IGNORE_OUTPUT_SHAPES),
                           .no_winograd = options_has(c, OPT_NO_WINOGRAD), .no_blocks = options_has(c, OPT_NO_BLOCKS), .keep_subnormals = options_has(c, OPT_KEEP_SUBNORMALS),
                           .poison = options_has(c, OPT_POISON), .flush_subnormals = options_has(c, OPT_FLUSH_SUBNORMALS), .allow_symlinks = options_has(c, OPT_ALLOW_SYMLINKS),
                           .dump_stage = options_last(c, OPT_DUMP)};
  uint64_t threads;
  castnet_dim_bound *dims = NEW_ARRAY(c->arena, castnet_dim_bound, c->uses.n);
  castnet_custom_op *ops = NEW_ARRAY(c->arena, castnet_custom_op, c->uses.n);
  bool ok = read_size(c, &ret->max_memory) && options_threads(c, &ret->threads, &threads);
  for (size_t i = 0; i < c->uses.n; i++) {
    const OptionUse *u = &c->uses.data[i];
    if (u->id == OPT_DIM) ok &= read_dim(c, u->value, &dims[ret->n_dims++]);
    if (u->id == OPT_OP) ok &= read_op(c, u->value, &ops[ret->n_ops++]);
  }
  ret->dims = dims;
  ret->ops = ops;
  return ok;
}
