/* Two flows over the steps, with branches and loops: what may have been written before a point, what may be read from there on. A buffer
 * is held where both are so. What an iteration makes anew does not flow into the next one. */
#include "lower/held.h"

enum { NOWHERE = -1 };

typedef struct Flow {
  const Program *p;
  size_t n_steps, n_words;
  Held written, read;    /* before the step; from it on */
  int64_t *next, *other; /* [steps] the steps that may follow; NOWHERE: no other one */
  uint64_t *anew;        /* [steps][n_words] at a loop's end: buffers that are first touched in it, to be written */
} Flow;

static uint64_t *point(const Held *h, size_t i) { return h->words + i * h->n_words; }

static void put(uint64_t *set, uint32_t buffer) { set[buffer / 64] |= (uint64_t)1 << buffer % 64; }

static uint32_t buffer_of(const Flow *f, uint32_t tensor) { return f->p->tensors.data[tensor].buffer; }

static void put_all(const Flow *f, uint64_t *set, const uint32_t *tensors, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (tensors[k] != NO_TENSOR) put(set, buffer_of(f, tensors[k]));
}

/* ---- the steps ---- */
/* IF, ELSE, LOOP and what ends them; the others follow one another. */
static void find_next(Flow *f, Arena *a) {
  VEC(size_t) open = {0};
  for (size_t i = 0; i < f->n_steps; i++) {
    const StepKind kind = f->p->main.steps.data[i].kind;
    f->next[i] = (int64_t)i + 1;
    f->other[i] = NOWHERE;
    if (kind == STEP_ELSE || kind == STEP_END_IF || kind == STEP_END_LOOP) {
      const size_t begin = open.data[--open.n];
      if (kind == STEP_END_LOOP) f->next[i] = (int64_t)begin;
      if (kind == STEP_ELSE || kind == STEP_END_LOOP) f->other[begin] = (int64_t)i + 1;
      else if (f->p->main.steps.data[begin].kind == STEP_ELSE) f->next[begin] = (int64_t)i;
      else f->other[begin] = (int64_t)i;
    }
    if (kind == STEP_IF || kind == STEP_ELSE || kind == STEP_LOOP) vec_push(a, open, i);
  }
}

/* The first step in the list that touches each buffer; NOWHERE: it reads what it finds. */
static int64_t *find_first(const Flow *f, Arena *a) {
  int64_t *first = NEW_ARRAY(a, int64_t, f->p->buffers.n);
  for (size_t b = 0; b < f->p->buffers.n; b++) first[b] = (int64_t)f->n_steps;
  for (size_t i = 0; i < f->n_steps; i++) {
    const Step *s = &f->p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in; k++)
      if (s->in[k] != NO_TENSOR && first[buffer_of(f, s->in[k])] == (int64_t)f->n_steps) first[buffer_of(f, s->in[k])] = NOWHERE;
    for (uint32_t k = 0; k < s->n_out; k++)
      if (s->out[k] != NO_TENSOR && first[buffer_of(f, s->out[k])] == (int64_t)f->n_steps) first[buffer_of(f, s->out[k])] = (int64_t)i;
  }
  return first;
}

/* What a loop fills by parts is touched at its head. */
static void find_anew(Flow *f, Arena *a) {
  const int64_t *first = find_first(f, a);
  for (size_t i = 0; i < f->n_steps; i++)
    for (uint32_t b = 0; f->p->main.steps.data[i].kind == STEP_END_LOOP && b < f->p->buffers.n; b++)
      if (first[b] > f->next[i]) put(f->anew + i * f->n_words, b);
}

/* The marks behind a condition's first one name it only to keep it. */
static bool reads(const Step *s) { return s->kind != STEP_ELSE && s->kind != STEP_END_IF && s->kind != STEP_END_LOOP; }

/* ---- the flows ---- */
static bool join(uint64_t *to, const uint64_t *from, const uint64_t *but, size_t n) {
  bool more = false;
  for (size_t w = 0; w < n; w++) {
    const uint64_t v = to[w] | (from[w] & ~but[w]);
    more = more || v != to[w];
    to[w] = v;
  }
  return more;
}

/* Whether it changed anything: once more then. */
static bool pass_written(Flow *f) {
  bool more = false;
  for (size_t i = 0; i < f->n_steps; i++) {
    const Step *s = &f->p->main.steps.data[i];
    const int64_t to[] = {f->next[i], f->other[i]};
    for (size_t k = 0; k < 2; k++) {
      if (to[k] == NOWHERE) continue;
      uint64_t *set = point(&f->written, (size_t)to[k]);
      more = join(set, point(&f->written, i), f->anew + i * f->n_words, f->n_words) || more;
      put_all(f, set, s->out, s->kind == STEP_END_LOOP ? 0 : s->n_out);
    }
  }
  return more;
}

static bool pass_read(Flow *f) {
  bool more = false;
  for (size_t i = f->n_steps; i-- > 0;) {
    const Step *s = &f->p->main.steps.data[i];
    const uint64_t *anew = f->anew + i * f->n_words;
    uint64_t *set = point(&f->read, i);
    more = join(set, point(&f->read, (size_t)f->next[i]), anew, f->n_words) || more;
    if (f->other[i] != NOWHERE) more = join(set, point(&f->read, (size_t)f->other[i]), anew, f->n_words) || more;
    if (reads(s)) put_all(f, set, s->in, s->n_in);
  }
  return more;
}

static Held held_new(Arena *a, size_t points, size_t n_words) { return (Held){n_words, NEW_ARRAY(a, uint64_t, points * n_words)}; }

Held program_held(Arena *a, const Program *p, const bool *at_end) {
  const size_t n = p->main.steps.n, n_words = p->buffers.n / 64 + 1;
  Flow f = {.p = p, .n_steps = n, .n_words = n_words, .written = held_new(a, n + 1, n_words), .read = held_new(a, n + 1, n_words),
            .next = NEW_ARRAY(a, int64_t, n), .other = NEW_ARRAY(a, int64_t, n), .anew = NEW_ARRAY(a, uint64_t, n * n_words)};
  find_next(&f, a);
  find_anew(&f, a);
  for (uint32_t b = 0; b < p->buffers.n; b++)
    if (at_end[b]) put(point(&f.read, n), b);
  while (pass_written(&f)) {}
  while (pass_read(&f)) {}
  for (size_t w = 0; w < (n + 1) * n_words; w++) f.read.words[w] &= f.written.words[w];
  return f.read;
}
