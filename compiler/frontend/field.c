/* One callback behind every length-delimited field, and the two passes over a message. */
#include <pb_common.h>

#include "frontend/reader.h"
#include "frontend/onnx.pb.h"

/* Debian's library is built without it; defining it here would give other structs to the same functions. */
#ifdef PB_FIELD_32BIT
#error "PB_FIELD_32BIT must not be defined: the system's nanopb library is built without it"
#endif
_Static_assert(sizeof(pb_size_t) == 2, "nanopb's library counts in 16 bits");

#define LITTLE_ENDIAN_HOST (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static bool in_file(const Reader *r, const void *p, size_t n) {
  uintptr_t at = (uintptr_t)p, file = (uintptr_t)r->file.ptr;
  return at >= file && at - file <= r->file.len && n <= r->file.len - (at - file);
}

static bool is_repeated(const pb_field_t *f) { return PB_HTYPE(f->type) == PB_HTYPE_REPEATED; }
static bool is_number(const pb_field_t *f) { return PB_LTYPE(f->type) <= PB_LTYPE_LAST_PACKABLE; }

/* Bytes of a packed number on the wire, 0 for varints. */
static size_t number_width(const pb_field_t *f) {
  return PB_LTYPE(f->type) == PB_LTYPE_FIXED32 ? 4 : PB_LTYPE(f->type) == PB_LTYPE_FIXED64 ? 8 : 0;
}

/* ---- numbers ---- */
static bool varint_get(const unsigned char **p, const unsigned char *end, uint64_t *ret) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70 && *p < end; shift += 7) {
    unsigned char c = *(*p)++;
    if (shift == 63 && c > 1) return false;
    v |= (uint64_t)(c & 0x7f) << shift;
    if (c < 0x80) {
      *ret = v;
      return true;
    }
  }
  return false;
}

static uint64_t fixed_get(const unsigned char *p, size_t width) {
  uint64_t v = 0;
  for (size_t i = 0; i < width; i++) v |= (uint64_t)p[i] << (8 * i);
  return v;
}

static void number_put(const OnnxField *f, unsigned char *p, uint64_t v) {
  if (f->flags & FIELD_DATA) {
    for (uint32_t i = 0; i < f->size; i++) p[i] = (unsigned char)(v >> (8 * i));
  } else if (f->size == 4) {
    memcpy(p, &(uint32_t){(uint32_t)v}, 4);
  } else {
    memcpy(p, &v, 8);
  }
}

/* A run of numbers: packed ones lie in the file, a single one in nanopb's stack temporary. */
static bool numbers_count(OnnxField *f, Str s, size_t width, bool packed) {
  size_t n = 0;
  if (width) {
    if (s.len % width || (!packed && s.len != width)) return false;
    n = s.len / width;
  } else {
    for (size_t i = 0; i < s.len; i++) n += (unsigned char)s.ptr[i] < 0x80;
    if (s.len && (unsigned char)s.ptr[s.len - 1] >= 0x80) return false;
    if (!packed && n != 1) return false;
  }
  if (!n) return true;
  f->count += n;
  f->packed = packed ? s : (Str){0};
  f->n_runs++;
  return true;
}

static bool numbers_fill(OnnxField *f, Str s, size_t width) {
  const unsigned char *p = (const unsigned char *)s.ptr, *end = p + s.len;
  unsigned char *out = *(unsigned char **)f->dst;
  if (width && width == f->size && LITTLE_ENDIAN_HOST) {
    size_t n = s.len / width;
    if (n > f->count - f->done) return false;
    memcpy(out + f->done * width, p, s.len);
    f->done += n;
    return true;
  }
  while (p < end) {
    uint64_t v;
    if (f->done == f->count) return false; /* the file changed since it was counted */
    if (width) {
      v = fixed_get(p, width);
      p += width;
    } else if (!varint_get(&p, end, &v)) {
      return false;
    }
    number_put(f, out + f->done++ * f->size, v);
  }
  return true;
}

/* ---- strings and submessages ---- */
static bool content_fill(Reader *r, OnnxField *f, const pb_field_t *field, Str s) {
  if (!f->read) { /* a string: the last one counts, as in protobuf */
    Str *out = is_repeated(field) ? *(Str **)f->dst + f->done : (Str *)f->dst;
    *out = s;
  } else if (f->flags & FIELD_INLINE) {
    if (!f->read(r, s, f->dst)) return false;
  } else if (f->flags & FIELD_POINTERS) {
    if (!f->read(r, s, (*(void ***)f->dst)[f->done])) return false;
  } else {
    if (!f->read(r, s, *(char **)f->dst + f->done * f->size)) return false;
  }
  f->done++;
  return true;
}

bool onnx_field(pb_istream_t *stream, pb_ostream_t *unused, const pb_field_t *field) {
  (void)unused;
  OnnxField *f = field->pData;
  Reader *r = f->reader;
  Str s = {stream->state, stream->bytes_left};
  if (!pb_read(stream, NULL, s.len)) return false;
  if (!f->dst) return true;
  bool packed = in_file(r, s.ptr, s.len);
  if (is_number(field)) {
    bool ok = r->counting ? numbers_count(f, s, number_width(field), packed) : numbers_fill(f, s, number_width(field));
    if (!ok) PB_RETURN_ERROR(stream, "bad list of numbers");
    return true;
  }
  if (!packed) PB_RETURN_ERROR(stream, "wrong wire type");
  if (r->counting) {
    f->count++;
    return true;
  }
  if (is_repeated(field) && f->done == f->count) PB_RETURN_ERROR(stream, "the file changes while it is read");
  return content_fill(r, f, field, s);
}

/* ---- the two passes ---- */
static bool message_pass(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m, bool counting) {
  pb_istream_t stream = pb_istream_from_buffer((const pb_byte_t *)bytes.ptr, bytes.len);
  r->counting = counting;
  bool ok = pb_decode_ex(&stream, desc, m, PB_DECODE_NOINIT);
  r->counting = false;
  if (ok) return true;
  /* nanopb drops the message of a callback that was given a number */
  const char *why = stream.errmsg ? stream.errmsg : "wrong wire type";
  return reader_fail(r, DIAG_E0101, stream.state, "damaged or truncated (%s)", why);
}

static bool field_alloc(Reader *r, OnnxField *f, const pb_field_t *field) {
  void *items = NULL;
  if (is_repeated(field)) {
    *f->n_dst = f->count;
    if (!f->count) return true;
    bool in_place = is_number(field) && (f->flags & FIELD_DATA) && f->n_runs == 1 && f->packed.ptr &&
                    number_width(field) && number_width(field) == f->size;
    if (in_place) {
      *(const void **)f->dst = f->packed.ptr;
      f->dst = NULL;
      return true;
    }
  }
  size_t size = f->read || is_number(field) ? f->size : sizeof(Str);
  if (!(items = reader_alloc(r, f->count, size))) return false;
  if (f->flags & FIELD_POINTERS) {
    void **pointers = reader_alloc(r, f->count, sizeof *pointers);
    if (!pointers) return false;
    for (size_t i = 0; i < f->count; i++) pointers[i] = (char *)items + i * size;
    items = pointers;
  }
  *(void **)f->dst = items;
  return true;
}

bool message_count(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m) {
  pb_field_iter_t it;
  if (!pb_field_iter_begin(&it, desc, m)) return true;
  do {
    if (PB_ATYPE(it.type) == PB_ATYPE_CALLBACK) ((OnnxField *)it.pData)->reader = r;
  } while (pb_field_iter_next(&it));
  return message_pass(r, bytes, desc, m, true);
}

bool message_fill(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m) {
  pb_field_iter_t it;
  if (!pb_field_iter_begin(&it, desc, m)) return true;
  do {
    if (PB_ATYPE(it.type) != PB_ATYPE_CALLBACK) continue;
    OnnxField *f = it.pData;
    if (!f->dst) continue;
    bool one = f->read && !is_repeated(&it);
    if (one && f->count > 1)
      return reader_fail(r, DIAG_E0101, bytes.ptr, "field %u is given %zu times", (unsigned)it.tag, f->count);
    bool needs_memory = is_repeated(&it) || (one && f->count && !(f->flags & FIELD_INLINE));
    if (needs_memory && !field_alloc(r, f, &it)) return false;
  } while (pb_field_iter_next(&it));
  if (r->depth == READER_MAX_DEPTH)
    return reader_fail(r, DIAG_E0102, bytes.ptr, "messages are nested more than %d levels deep", READER_MAX_DEPTH);
  r->depth++;
  bool ok = message_pass(r, bytes, desc, m, false);
  r->depth--;
  return ok;
}

bool message_read(Reader *r, Str bytes, const pb_msgdesc_t *desc, void *m) {
  return message_count(r, bytes, desc, m) && message_fill(r, bytes, desc, m);
}
