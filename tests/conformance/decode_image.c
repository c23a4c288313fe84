/* A castnet_decode_image over well-kept libraries, for tests: what a user's build supplies for ImageDecoder.
 * Link with -ljpeg -lpng -ltiff -lwebp -lopenjp2. Anything that is no picture has no rows and no columns. */
#include "../../runtime-lite/castnet_abi.h"

#include <openjpeg-2.5/openjpeg.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <webp/decode.h>

#include <jpeglib.h>

castnet_op castnet_decode_image;

typedef struct Bytes { const unsigned char *p; size_t n, at; } Bytes;
typedef struct Picture { size_t h, w; unsigned char *rgb; /* [h][w][3], malloc */ } Picture;

enum { MOST = 1 << 15 }; /* rows or columns */

static int picture_new(Picture *r, size_t h, size_t w) {
  if (h < 1 || w < 1 || h > MOST || w > MOST) return 0;
  r->rgb = calloc(h * w, 3);
  r->h = h, r->w = w;
  return r->rgb != NULL;
}

/* ---- JPEG ---- */
typedef struct JpegError { struct jpeg_error_mgr base; jmp_buf out; } JpegError;

static void jpeg_failed(j_common_ptr c) { longjmp(((JpegError *)c->err)->out, 1); }

static int decode_jpeg(Bytes b, Picture *r) {
  struct jpeg_decompress_struct d;
  JpegError error;
  d.err = jpeg_std_error(&error.base);
  error.base.error_exit = jpeg_failed;
  if (setjmp(error.out)) return jpeg_destroy_decompress(&d), 0;
  jpeg_create_decompress(&d);
  jpeg_mem_src(&d, b.p, (unsigned long)b.n);
  (void)jpeg_read_header(&d, TRUE);
  d.out_color_space = JCS_RGB;
  (void)jpeg_start_decompress(&d);
  if (!picture_new(r, d.output_height, d.output_width)) return jpeg_destroy_decompress(&d), 0;
  while (d.output_scanline < d.output_height) {
    JSAMPROW row = r->rgb + (size_t)d.output_scanline * r->w * 3;
    (void)jpeg_read_scanlines(&d, &row, 1);
  }
  (void)jpeg_finish_decompress(&d);
  jpeg_destroy_decompress(&d);
  return 1;
}

/* ---- PNG, WebP ---- */
static int decode_png(Bytes b, Picture *r) {
  png_image image;
  memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, b.p, b.n)) return 0;
  image.format = PNG_FORMAT_RGB;
  const int ok = picture_new(r, image.height, image.width) && png_image_finish_read(&image, NULL, r->rgb, 0, NULL);
  png_image_free(&image);
  return ok;
}

static int decode_webp(Bytes b, Picture *r) {
  int w, h;
  if (!WebPGetInfo(b.p, b.n, &w, &h) || !picture_new(r, (size_t)h, (size_t)w)) return 0;
  return WebPDecodeRGBInto(b.p, b.n, r->rgb, r->h * r->w * 3, w * 3) != NULL;
}

/* ---- TIFF ---- */
static tmsize_t tiff_read(thandle_t h, void *to, tmsize_t n) {
  Bytes *b = h;
  const size_t left = b->n - b->at, got = (size_t)n < left ? (size_t)n : left;
  memcpy(to, b->p + b->at, got);
  b->at += got;
  return (tmsize_t)got;
}

static tmsize_t tiff_write(thandle_t h, void *from, tmsize_t n) { return (void)h, (void)from, (void)n, 0; }

static toff_t tiff_seek(thandle_t h, toff_t to, int whence) {
  Bytes *b = h;
  const toff_t at = whence == SEEK_CUR ? b->at + to : whence == SEEK_END ? b->n + to : to;
  b->at = at < b->n ? (size_t)at : b->n;
  return b->at;
}

static int tiff_close(thandle_t h) { return (void)h, 0; }

static toff_t tiff_size(thandle_t h) { return ((Bytes *)h)->n; }

static int decode_tiff(Bytes b, Picture *r) {
  uint32_t w = 0, h = 0;
  TIFF *t = TIFFClientOpen("memory", "rm", &b, tiff_read, tiff_write, tiff_seek, tiff_close, tiff_size, NULL, NULL);
  if (!t) return 0;
  uint32_t *rgba = NULL;
  int ok = TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &w) && TIFFGetField(t, TIFFTAG_IMAGELENGTH, &h) && picture_new(r, h, w);
  ok = ok && (rgba = malloc(r->h * r->w * sizeof *rgba)) && TIFFReadRGBAImageOriented(t, w, h, rgba, ORIENTATION_TOPLEFT, 0);
  for (size_t i = 0; ok && i < r->h * r->w; i++) {
    r->rgb[3 * i] = (unsigned char)TIFFGetR(rgba[i]);
    r->rgb[3 * i + 1] = (unsigned char)TIFFGetG(rgba[i]);
    r->rgb[3 * i + 2] = (unsigned char)TIFFGetB(rgba[i]);
  }
  free(rgba);
  TIFFClose(t);
  return ok;
}

/* ---- JPEG 2000 ---- */
static OPJ_SIZE_T opj_read(void *to, OPJ_SIZE_T n, void *user) {
  const tmsize_t got = tiff_read(user, to, (tmsize_t)n);
  return got > 0 ? (OPJ_SIZE_T)got : (OPJ_SIZE_T)-1;
}

static OPJ_OFF_T opj_skip(OPJ_OFF_T n, void *user) {
  Bytes *b = user;
  const size_t left = b->n - b->at, by = n > 0 && (size_t)n < left ? (size_t)n : n > 0 ? left : 0;
  b->at += by;
  return (OPJ_OFF_T)by;
}

static OPJ_BOOL opj_seek(OPJ_OFF_T to, void *user) {
  Bytes *b = user;
  if (to < 0 || (size_t)to > b->n) return OPJ_FALSE;
  b->at = (size_t)to;
  return OPJ_TRUE;
}

static int opj_components(const opj_image_t *image, Picture *r) {
  const opj_image_comp_t *c = image->comps;
  if (image->numcomps < 1 || !picture_new(r, c[0].h, c[0].w)) return 0;
  for (size_t k = 0; k < 3; k++) {
    const opj_image_comp_t *from = &c[image->numcomps >= 3 ? k : 0];
    if (from->w != c[0].w || from->h != c[0].h || from->prec < 8) return 0;
    for (size_t i = 0; i < r->h * r->w; i++)
      r->rgb[3 * i + k] = (unsigned char)((from->data[i] + (from->sgnd ? 1 << (from->prec - 1) : 0)) >> (from->prec - 8));
  }
  return 1;
}

static int decode_jpeg2000(Bytes b, Picture *r) {
  opj_codec_t *codec = opj_create_decompress(b.n > 4 && b.p[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t *s = opj_stream_default_create(OPJ_TRUE);
  opj_image_t *image = NULL;
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_stream_set_user_data(s, &b, NULL);
  opj_stream_set_user_data_length(s, b.n);
  opj_stream_set_read_function(s, opj_read);
  opj_stream_set_skip_function(s, opj_skip);
  opj_stream_set_seek_function(s, opj_seek);
  const int ok = opj_setup_decoder(codec, &parameters) && opj_read_header(s, codec, &image) && opj_decode(codec, s, image) && opj_components(image, r);
  opj_image_destroy(image);
  opj_stream_destroy(s);
  opj_destroy_codec(codec);
  return ok;
}

/* ---- BMP: 24 and 32 bits a pixel, not compressed ---- */
static uint32_t le(const unsigned char *p, int n) {
  uint32_t v = 0;
  for (int i = n; i-- > 0;) v = v << 8 | p[i];
  return v;
}

static int decode_bmp(Bytes b, Picture *r) {
  if (b.n < 54) return 0;
  const size_t from = le(b.p + 10, 4), step = le(b.p + 28, 2) / 8;
  const int32_t height = (int32_t)le(b.p + 22, 4);
  const size_t w = le(b.p + 18, 4), h = (size_t)(height < 0 ? -(int64_t)height : height), line = (w * step + 3) / 4 * 4;
  if ((step != 3 && step != 4) || (step == 3 && le(b.p + 30, 4) != 0)) return 0;
  if (!picture_new(r, h, w) || from > b.n || (b.n - from) / line < h) return 0;
  for (size_t y = 0; y < h; y++) {
    const unsigned char *row = b.p + from + (height < 0 ? y : h - 1 - y) * line;
    for (size_t x = 0; x < w; x++)
      for (size_t k = 0; k < 3; k++) r->rgb[3 * (y * w + x) + k] = row[x * step + 2 - k];
  }
  return 1;
}

/* ---- PBM, PGM, PPM of up to 8 bits: P1 to P6 ---- */
static long pnm_number(Bytes *b) {
  long v = 0;
  for (;;) {
    while (b->at < b->n && (b->p[b->at] == ' ' || (b->p[b->at] >= '\t' && b->p[b->at] <= '\r'))) b->at++;
    if (b->at == b->n || b->p[b->at] != '#') break;
    while (b->at < b->n && b->p[b->at] != '\n') b->at++;
  }
  if (b->at == b->n || b->p[b->at] < '0' || b->p[b->at] > '9') return -1;
  while (b->at < b->n && b->p[b->at] >= '0' && b->p[b->at] <= '9' && v < 1 << 20) v = 10 * v + (b->p[b->at++] - '0');
  return v;
}

static int decode_pnm(Bytes b, Picture *r) {
  const int kind = b.p[1] - '0', bits = kind == 1 || kind == 4, text = kind <= 3;
  const size_t channels = kind == 3 || kind == 6 ? 3 : 1;
  b.at = 2;
  const long w = pnm_number(&b), h = pnm_number(&b), most = bits ? 1 : pnm_number(&b);
  if (w < 1 || h < 1 || most < 1 || most > 255 || !picture_new(r, (size_t)h, (size_t)w)) return 0;
  if (!text) b.at++;
  const size_t line = bits ? ((size_t)w + 7) / 8 : (size_t)w * channels;
  if (!text && (b.at > b.n || (b.n - b.at) / line < (size_t)h)) return 0;
  for (size_t i = 0; i < (size_t)h * (size_t)w * channels; i++) {
    const size_t row = i / ((size_t)w * channels), at = i % ((size_t)w * channels);
    const unsigned char *p = b.p + b.at + row * line;
    const long v = text ? pnm_number(&b) : bits ? p[at / 8] >> (7 - at % 8) & 1 : p[at];
    if (v < 0 || v > most) return 0;
    const long scaled = (bits ? 1 - v : v) * 255 / most;
    for (size_t k = 0; k < 3; k++)
      if (channels == 1 || k == i % 3) r->rgb[3 * (i / channels) + k] = (unsigned char)scaled;
  }
  return 1;
}

/* ---- by its first bytes ---- */
static int starts(Bytes b, const char *with, size_t n) { return b.n >= n && memcmp(b.p, with, n) == 0; }

static int decode(Bytes b, Picture *r) {
  if (starts(b, "\xff\xd8", 2)) return decode_jpeg(b, r);
  if (starts(b, "\x89PNG", 4)) return decode_png(b, r);
  if (starts(b, "RIFF", 4)) return decode_webp(b, r);
  if (starts(b, "II*", 3) || starts(b, "MM\0*", 4)) return decode_tiff(b, r);
  if (starts(b, "\xff\x4f\xff\x51", 4) || starts(b, "\0\0\0\x0cjP", 6)) return decode_jpeg2000(b, r);
  if (starts(b, "BM", 2)) return decode_bmp(b, r);
  if (b.n > 2 && b.p[0] == 'P' && b.p[1] >= '1' && b.p[1] <= '6') return decode_pnm(b, r);
  return 0;
}

int castnet_decode_image(const castnet_tensor *in, size_t n_in, castnet_tensor *out, size_t n_out, const castnet_attr *attrs, size_t n_attrs,
                         void *scratch, size_t scratch_size, const castnet_env *env) {
  const Bytes b = {in[0].data, (size_t)in[0].dims[0], 0};
  const castnet_string format = attrs[0].value.s;
  const int grey = format.length == 9, bgr = format.length == 3 && format.ptr[0] == 'B';
  const size_t channels = grey ? 1 : 3;
  unsigned char *y = out[0].data;
  Picture r = {0, 0, NULL};
  (void)n_in, (void)n_out, (void)n_attrs, (void)scratch, (void)scratch_size, (void)env;
  if (!decode(b, &r)) r.h = r.w = 0;
  out[0].dims[0] = (int64_t)r.h;
  out[0].dims[1] = (int64_t)r.w;
  out[0].dims[2] = (int64_t)channels;
  for (size_t i = 0; y && i < r.h * r.w; i++) {
    const unsigned char *p = r.rgb + 3 * i;
    if (grey) y[i] = (unsigned char)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16); /* ITU-R 601-2 */
    for (size_t k = 0; !grey && k < 3; k++) y[3 * i + k] = p[bgr ? 2 - k : k];
  }
  free(r.rgb);
  return CASTNET_OK;
}
