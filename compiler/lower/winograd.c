#include "lower/winograd.h"

#include "kernels/winograd.h"

enum { TAPS = 3, MOST_PLACES = 6 };

/* Of one dimension: n results of n + 2 products of transformed inputs and transformed weights, A^T ((G g) * (B^T d)). */
typedef struct Transform {
  size_t places;
  double g[MOST_PLACES][TAPS], a[MOST_PLACES][4], b[MOST_PLACES][MOST_PLACES]; /* by place; b: of the input's values */
} Transform;

/* Points 0, 1, -1 and infinity with the customary signs. */
static const Transform two = {
    4,
    {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    {{1, 0}, {1, 1}, {1, -1}, {0, -1}},
    {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
};

/* Toom and Cook's for points p: row i of B has the coefficients of the product of (x - p[j]), j other than i, which at p[i] is what
 * G divides by; infinity's is the product of all. */
static Transform of_points(const double *p, size_t n) {
  Transform t = {.places = n + 1};
  for (size_t i = 0; i <= n; i++) {
    double size = 1, power = 1;
    t.b[i][0] = 1;
    for (size_t j = 0, degree = 0; j < n; j++) {
      if (j == i) continue;
      degree++;
      for (size_t k = degree; k > 0; k--) t.b[i][k] = t.b[i][k - 1] - p[j] * t.b[i][k];
      t.b[i][0] *= -p[j];
      if (i < n) size *= p[i] - p[j];
    }
    for (size_t k = 0; k < 4; k++, power *= i < n ? p[i] : 0) {
      t.a[i][k] = i < n ? power : k == n - 2;
      if (k < TAPS) t.g[i][k] = i < n ? power / size : k + 1 == TAPS;
    }
  }
  return t;
}

static Transform transform_of(size_t side) {
  const double a = CN_WINOGRAD_A, b = CN_WINOGRAD_B, points[] = {0, a, -a, b, -b};
  return side == 2 ? two : of_points(points, sizeof points / sizeof points[0]);
}

/* G g G^T */
static void transform_filter(const Transform *t, const float *g, double (*ret)[MOST_PLACES]) {
  double half[MOST_PLACES][TAPS];
  for (size_t i = 0; i < t->places; i++)
    for (size_t x = 0; x < TAPS; x++)
      half[i][x] = t->g[i][0] * (double)g[x] + t->g[i][1] * (double)g[TAPS + x] + t->g[i][2] * (double)g[2 * TAPS + x];
  for (size_t i = 0; i < t->places; i++)
    for (size_t j = 0; j < t->places; j++) ret[i][j] = half[i][0] * t->g[j][0] + half[i][1] * t->g[j][1] + half[i][2] * t->g[j][2];
}

/* ---- error ---- */
/* Roundings of a transformed value and its weight beside those of the sum over channels, as so many more terms of it. */
enum { TRANSFORM_ROUNDINGS = 8 };
/* Products that are summed before that is added to the sums of others: by the direct kernel over 16 channels, and by ONNX Runtime. */
enum { DIRECT_PART = 144 };

/* The mean square of the roundings of a sum of n terms by parts, in units of the sum's variance and of one rounding's. */
static double sum_roundings(double n, double part) { return n <= part ? n / 2 : part / 2 + n / part / 2; }

/* The mean square, over a tile's results, of a place's weight in them, times the variance of the transformed input there. */
static void place_gains(const Transform *t, double *ret) {
  const size_t n = t->places - 2;
  for (size_t i = 0; i < t->places; i++) {
    double a = 0, b = 0;
    for (size_t k = 0; k < n; k++) a += t->a[i][k] * t->a[i][k] / (double)n;
    for (size_t k = 0; k < t->places; k++) b += t->b[i][k] * t->b[i][k];
    ret[i] = a * b;
  }
}

#define UNBOUNDED 1e30

/* The error of a convolution by tiles of `side` RMS over inputs of one size without a pattern, as a multiple of
 * the direct one's (docs/NUMERICS.md), squared, for each rounding of a tile's sums; too large for a bound where there is
 * nothing to compare with: weights of zero, or not finite. */
static double rounding_error(size_t side, const float *weights, size_t m, size_t c) {
  const Transform t = transform_of(side);
  double gain[MOST_PLACES], u[MOST_PLACES][MOST_PLACES], tiles = 0, direct = 0;
  place_gains(&t, gain);
  for (size_t f = 0; f < m * c; f++) {
    const float *g = weights + f * TAPS * TAPS;
    transform_filter(&t, g, u);
    for (size_t i = 0; i < t.places; i++)
      for (size_t j = 0; j < t.places; j++) tiles += gain[i] * gain[j] * u[i][j] * u[i][j];
    for (size_t k = 0; k < TAPS * TAPS; k++) direct += (double)g[k] * (double)g[k];
  }
  const double ratio = tiles / (direct * sum_roundings((double)(TAPS * TAPS * c), DIRECT_PART));
  return direct > 0 && ratio < UNBOUNDED ? ratio : UNBOUNDED;
}

/* A layer's error is at most 3 times the direct one's, so that a model's stays under 4 times. */
#define MOST_ERROR 3

/* Channels whose products are summed at once: shorter sums have less error, and cost loads and stores. */
enum { MOST_PART = 32, LEAST_PART = 16 };

/* The longest part that keeps the error's bound; 0: none does. */
static size_t part_within(size_t side, const float *weights, size_t m, size_t c) {
  const double each = rounding_error(side, weights, m, c);
  size_t part = MOST_PART;
  while (part >= LEAST_PART && each * (sum_roundings((double)c, (double)part) + TRANSFORM_ROUNDINGS) > MOST_ERROR * MOST_ERROR) part /= 2;
  return part >= LEAST_PART ? part : 0;
}

/* ---- time ---- */
/* In vector operations, of which a core does two a cycle: measured on Zen 5, only how they compare matters. A tile's transform of
 * one block of channels; weights, a byte: from memory, and again for each further band, from the second cache, where that holds them, or from the last one, whose
 * rate differs most between machines; of a hundred, how many of the products' operations come in time. */
enum { TRANSFORM_2 = 160, TRANSFORM_4 = 400, MEMORY_100 = 32, LAST_100 = 14, SECOND_100 = 8, SECOND = 1 << 20, PRODUCTS_OF_100 = 85, DIRECT_OF_100 = 97 };

typedef struct Layer {
  int64_t c, lanes, in_blocks, out_blocks, pixels; /* c: channels that are multiplied */
} Layer;

static int64_t longer(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t direct_time(const Layer *y) {
  const int64_t weights = TAPS * TAPS * y->c * y->out_blocks;
  return longer(weights * y->pixels * 100 / DIRECT_OF_100, weights * y->lanes * (int64_t)sizeof(float) * MEMORY_100 / 100);
}

static int64_t tiles_time(const Layer *y, size_t side, int64_t tiles, int64_t bands) {
  const int64_t weights = (int64_t)cn_winograd_places(side) * y->c * y->out_blocks, bytes = weights * y->lanes * (int64_t)sizeof(float);
  const int64_t again = bytes <= SECOND ? SECOND_100 : LAST_100;
  const int64_t products = weights * tiles * 100 / PRODUCTS_OF_100, memory = bytes * (MEMORY_100 + (bands - 1) * again) / 100;
  return tiles * (y->in_blocks + y->out_blocks) * (side == 2 ? TRANSFORM_2 : TRANSFORM_4) + longer(products, memory);
}

/* ---- choice ---- */
/* Less than a tenth of the time is not worth another order of sums, nor larger tiles their error. */
enum { WORTH_OF_100 = 90, LEAST_BAND = 512 << 10, LEAST_SHARED_BLOCKS = 6 };

/* Tiles of each of `least` bands or a few more: of one, of an even number, or of so many that one more or less is little. */
static int64_t even_band(int64_t tiles, int64_t least) {
  for (int64_t n = least; n < tiles; n++) {
    const int64_t band = (tiles + n - 1) / n, bands = (tiles + band - 1) / band;
    if (bands == 1 || bands % 2 == 0 || bands >= WINOGRAD_MANY_BANDS) return band;
  }
  return (tiles + least - 1) / least;
}

/* Tiles of a band: before and after their products they take half the weights' room, since these are read once a band. */
static int64_t band_of(const cn_window *w, const Layer *y, size_t side, int64_t room) {
  const int64_t tiles = (int64_t)cn_winograd_tiles(w, side), places = (int64_t)cn_winograd_places(side), one = places * (int64_t)sizeof(float);
  const int64_t each = one * y->lanes * (y->in_blocks + y->out_blocks), lines = one * 32;
  const int64_t wanted = longer(LEAST_BAND, one * y->c * y->lanes * y->out_blocks / 2), most = wanted < room - lines ? wanted : room - lines;
  if (most < each) return 0;
  return even_band(tiles, (tiles + most / each - 1) / (most / each));
}

/* One band of all tiles is for two threads to share: each half of the output blocks, in groups that are not too narrow for the
 * products, or half of the tiles. */
static void share_band(int64_t tiles, int64_t blocks, Winograd *v) {
  if (blocks % 2 == 0 && blocks >= LEAST_SHARED_BLOCKS) v->groups = (v->groups + 1) / 2 * 2;
  else v->band = (size_t)even_band(tiles, 2);
}

Winograd winograd_choose(const Target *t, const cn_window *w, const float *weights, size_t m, int64_t room, bool shared) {
  const int64_t lanes = t->vector_bits / 32, blocks = (int64_t)w->m / lanes, most = target_tile(t, "blocked_f32")->mr;
  const size_t c = w->c * w->kernel[0];
  const Layer y = {(int64_t)c, lanes, ((int64_t)c + lanes - 1) / lanes, blocks, (int64_t)cn_volume(w->out)};
  Winograd best = {0};
  int64_t least = direct_time(&y);
  if (y.pixels < 1) return best;
  for (size_t side = 2; side <= 4; side += 2) {
    const int64_t band = band_of(w, &y, side, room), tiles = (int64_t)cn_winograd_tiles(w, side);
    if (band < 1) continue;
    const int64_t time = tiles_time(&y, side, tiles, (tiles + band - 1) / band);
    if (time > least / 100 * WORTH_OF_100) continue;
    const size_t part = part_within(side, weights, m, c);
    if (part == 0) continue;
    least = time;
    best = (Winograd){.side = side, .band = (size_t)band, .groups = (size_t)((blocks + most - 1) / most), .part = part};
    if (shared && band == tiles) share_band(tiles, blocks, &best);
    best.bands = (size_t)((tiles + (int64_t)best.band - 1) / (int64_t)best.band);
  }
  return best;
}

/* ---- weights ---- */
float *winograd_pack(Arena *a, const Winograd *v, const float *weights, size_t m, size_t c, size_t lanes) {
  const Transform t = transform_of(v->side);
  const size_t blocks = (m + lanes - 1) / lanes, place = blocks * lanes * c;
  float *packed = NEW_ARRAY(a, float, place * cn_winograd_places(v->side));
  double u[MOST_PLACES][MOST_PLACES];
  for (size_t g = 0; g < v->groups; g++) {
    const size_t b0 = cn_winograd_block(blocks, v->groups, g), width = (cn_winograd_block(blocks, v->groups, g + 1) - b0) * lanes;
    for (size_t o = 0; o < width && b0 * lanes + o < m; o++) {
      for (size_t i = 0; i < c; i++) {
        float *dst = packed + b0 * lanes * c + i * width + o;
        transform_filter(&t, weights + ((b0 * lanes + o) * c + i) * TAPS * TAPS, u);
        for (size_t e = 0; e < t.places * t.places; e++) dst[e * place] = (float)u[e / t.places][e % t.places];
      }
    }
  }
  return packed;
}
