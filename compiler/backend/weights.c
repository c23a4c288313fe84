#include "backend/frame.h"
#include "backend/template.h"

#include <inttypes.h>

/* runtime-lite/weights.h: cn_weights_header. Numbers are in the byte order of the target, constants of the IR little-endian. */
enum { WEIGHTS_VERSION = 1, WORDS_PER_LINE = 6, WORD_CHARS = 19, REVERSED_AT_ONCE = 4096 };

static const unsigned char zeros[WEIGHTS_ALIGN];

/* Large parts start on a cache line, small ones (most are biases and scalars) where any vector load is still aligned. */
static size_t part_align(const Buffer *b) {
  size_t align = b->data->n_bytes >= WEIGHTS_ALIGN ? WEIGHTS_ALIGN : WEIGHTS_SMALL_ALIGN;
  return b->align > align && b->align <= WEIGHTS_ALIGN ? b->align : align;
}

/* What a byte order reverses. */
static size_t number_bytes(const Tensor *data) {
  const DTypeRow *t = &dtype_rows[data->dtype];
  return t->bits / (t->kind == KIND_C ? 16 : 8);
}

/* Equal content is stored once: equal in either byte order. Weights that will be replaced may differ one day: of them only what several
 * levels read as it is in the model is. */
static WeightsPart *find_equal(Frame *f, const Tensor *data, Str *ret_key) {
  if (f->opt->weights == WEIGHTS_BIN) {
    *ret_key = arena_str(f->arena, (Str){(const char *)&data, sizeof data});
    return map_get(&f->common->weights_by_key, *ret_key);
  }
  const Hash128 h = hash128(data->bytes, data->n_bytes);
  *ret_key = arena_str(f->arena, (Str){(const char *)&h, sizeof h});
  WeightsPart *p = map_get(&f->common->weights_by_key, *ret_key);
  if (!p || p->size != data->n_bytes || number_bytes(p->data) != number_bytes(data)) return NULL;
  return memcmp(p->data->bytes, data->bytes, p->size) == 0 ? p : NULL;
}

size_t weights_place(Frame *f, uint32_t buffer) {
  const Buffer *b = &f->program->buffers.data[buffer];
  size_t align = part_align(b), offset, end;
  Str key;
  WeightsPart *equal = find_equal(f, b->data, &key);
  if (equal && equal->offset % align == 0) {
    equal->levels |= UINT32_C(1) << f->level;
    return equal->offset;
  }
  if (!size_add(f->common->weights_end, align - 1, &offset) || !size_add(offset, b->data->n_bytes, &end) ||
      end > SIZE_MAX - WEIGHTS_ALIGN)
    door_leave(arena_door(f->arena), DOOR_MEMORY, "the weights are larger than the address space");
  offset = offset / align * align;
  WeightsPart *part = NEW(f->arena, WeightsPart);
  *part = (WeightsPart){.data = b->data, .offset = offset, .size = b->data->n_bytes, .levels = UINT32_C(1) << f->level};
  vec_push(f->arena, f->common->weights, part);
  map_put(&f->common->weights_by_key, key, part);
  f->common->weights_end = offset + part->size;
  f->common->weights_size = (f->common->weights_end + WEIGHTS_ALIGN - 1) / WEIGHTS_ALIGN * WEIGHTS_ALIGN;
  return offset;
}

/* ---- the blob: header, then the parts, each filled up to the alignment ---- */
typedef void (*BlobSink)(void *user, const void *p, size_t n);

static void blob_part(const Frame *f, const Tensor *t, BlobSink sink, void *user) {
  unsigned char reversed[REVERSED_AT_ONCE];
  if (!f->opt->target->big_endian) {
    sink(user, t->bytes, t->n_bytes);
    return;
  }
  for (size_t i = 0; i < t->n_bytes; i += sizeof reversed) {
    size_t n = t->n_bytes - i < sizeof reversed ? t->n_bytes - i : sizeof reversed;
    tensor_reverse(t->dtype, n, (const char *)t->bytes + i, reversed);
    sink(user, reversed, n);
  }
}

static void blob_parts(const Frame *f, BlobSink sink, void *user) {
  for (size_t i = 0; i < f->common->weights.n; i++) {
    const WeightsPart *part = f->common->weights.data[i];
    size_t next = i + 1 < f->common->weights.n ? f->common->weights.data[i + 1]->offset : f->common->weights_size;
    blob_part(f, part->data, sink, user);
    sink(user, zeros, next - part->offset - part->size);
  }
}

static void put_number(const Frame *f, unsigned char *p, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) p[f->opt->target->big_endian ? n - 1 - i : i] = (unsigned char)(v >> (8 * i));
}

static void blob_header(const Frame *f, unsigned char h[WEIGHTS_HEADER]) {
  memset(h, 0, WEIGHTS_HEADER);
  memcpy(h, "CASTNETW", 8);
  put_number(f, h + 8, WEIGHTS_VERSION, 4);
  put_number(f, h + 12, WEIGHTS_HEADER, 4);
  put_number(f, h + 16, f->common->weights_size, 8);
  put_number(f, h + 24, f->common->code_hash.hi, 8);
  put_number(f, h + 32, f->common->code_hash.lo, 8);
  put_number(f, h + 40, f->common->content_hash.hi, 8);
  put_number(f, h + 48, f->common->content_hash.lo, 8);
  put_number(f, h + 56, f->common->set_id, 8);
}

static void blob_whole(const Frame *f, BlobSink sink, void *user) {
  unsigned char header[WEIGHTS_HEADER];
  blob_header(f, header);
  sink(user, header, sizeof header);
  blob_parts(f, sink, user);
}

static void sink_hash(void *user, const void *p, size_t n) { hash128_add(user, p, n); }

void weights_hash(Frame *f) {
  HashState *h = hash128_new(f->arena);
  blob_parts(f, sink_hash, h);
  f->common->content_hash = hash128_end(h);
}

static void sink_file(void *user, const void *p, size_t n) { file_put(user, p, n); }
static void write_bin(FileWriter *w, const void *user) { blob_whole(user, sink_file, w); }

/* ---- the same as words ---- */
typedef struct WordSink {
  FileWriter *w;
  bool big_endian;
  unsigned char rest[8]; /* bytes of a word that is not whole yet */
  size_t n_rest, column;
  char line[2 + WORDS_PER_LINE * WORD_CHARS + 1]; /* two blanks, the words, a newline */
} WordSink;

/* "0x0123456789abcdef," from eight bytes: the word that a machine of the target's byte order reads there. */
static void put_word(WordSink *s, const unsigned char *p) {
  static const char digits[] = "0123456789abcdef";
  char *to = s->line + 2 + s->column * WORD_CHARS;
  to[0] = '0';
  to[1] = 'x';
  for (int i = 0; i < 8; i++) {
    unsigned byte = p[s->big_endian ? i : 7 - i];
    to[2 + 2 * i] = digits[byte >> 4];
    to[3 + 2 * i] = digits[byte & 15];
  }
  to[18] = ',';
  if (++s->column < WORDS_PER_LINE) return;
  file_put(s->w, s->line, sizeof s->line);
  s->column = 0;
}

static void sink_words(void *user, const void *data, size_t n) {
  WordSink *s = user;
  const unsigned char *p = data;
  for (; n > 0 && s->n_rest > 0; p++, n--) {
    s->rest[s->n_rest++] = *p;
    if (s->n_rest < 8) continue;
    put_word(s, s->rest);
    s->n_rest = 0;
  }
  for (; n >= 8; p += 8, n -= 8) put_word(s, p);
  for (; n > 0; n--) s->rest[s->n_rest++] = *p++;
}

typedef struct WordsFile {
  const Frame *frame;
  Str before, after;
} WordsFile;

static void write_words(FileWriter *w, const void *user) {
  const WordsFile *f = user;
  WordSink s = {.w = w, .big_endian = f->frame->opt->target->big_endian, .line = "  "};
  s.line[sizeof s.line - 1] = '\n';
  file_put(w, f->before.ptr, f->before.len);
  blob_whole(f->frame, sink_words, &s);
  if (s.column) {
    file_put(w, s.line, 2 + s.column * WORD_CHARS);
    file_put(w, "\n", 1);
  }
  file_put(w, f->after.ptr, f->after.len);
}

/* The members are what the kernels read it as. */
Str weights_union(const Frame *f) {
  const size_t words = f->common->weights_size / 8;
  StrBuf b = sb_new(f->arena);
  sb_printf(&b, "union %.*s_weights {\n  uint64_t word[%zu];\n  double f64[%zu];\n  float f32[%zu];\n", STR_WHOLE(f->name), words,
            words, words * 2);
  sb_printf(&b, "  uint32_t u32[%zu];\n  uint16_t u16[%zu];\n  unsigned char u8[%zu];\n};\n", words * 2, words * 4, words * 8);
  return sb_view(&b);
}

/* ---- the files ---- */
static Str file_name(const Frame *f, const char *suffix) { return arena_printf(f->arena, "%.*s%s", STR_WHOLE(f->name), suffix); }

static bool weights_c(const Frame *f, OutFile *ret) {
  bool words = frame_weights_in_c(f);
  TemplateValue values[] = {
      {"name", f->name},
      {"set_id", arena_printf(f->arena, "%016" PRIx64, f->common->set_id)},
      {"hash", arena_printf(f->arena, "%016" PRIx64 "%016" PRIx64, f->common->content_hash.hi, f->common->content_hash.lo)},
      {"bytes", arena_printf(f->arena, "%zu", f->common->weights_size)},
      {"weights_union", weights_union(f)},
      {"byte_order", f->opt->target->big_endian ? STR("BIG") : STR("LITTLE")},
  };
  StrBuf b = sb_new(f->arena), end = sb_new(f->arena);
  const size_t n = sizeof values / sizeof *values;
  const char *const head = frame_weights_asm(f) ? "weights_asm.c.in" : "weights_object.c.in";
  *ret = (OutFile){.name = file_name(f, "_weights.c")};
  if (!template_fill(&b, f->diags, head, values, n)) return false;
  if (f->opt->weights == WEIGHTS_EMBED && !template_fill(&b, f->diags, "weights_embed.c.in", values, n)) return false;
  if (words && !template_fill(&b, f->diags, "weights_words.c.in", values, n)) return false;
  ret->text = sb_view(&b);
  if (!words) return true;
  if (!template_fill(&end, f->diags, "weights_words_end.c.in", values, n)) return false;
  WordsFile *file = NEW(f->arena, WordsFile);
  *file = (WordsFile){.frame = f, .before = sb_view(&b), .after = sb_view(&end)};
  ret->write = write_words;
  ret->user = file;
  return true;
}

bool weights_files(Frame *f, FileSet *ret) {
  if (f->opt->weights != WEIGHTS_BIN) {
    OutFile c;
    if (!weights_c(f, &c)) return false;
    vec_push(ret->arena, ret->files, c);
  }
  if (f->opt->weights != WEIGHTS_C)
    vec_push(ret->arena, ret->files, ((OutFile){.name = file_name(f, "_weights.bin"), .write = write_bin, .user = f}));
  return true;
}
