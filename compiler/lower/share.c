#include "lower/share.h"

#include "lower/virt.h"
#include "lower/winograd.h"

#include "kernels/recurrent.h"

/* Shares: enough of them to even out threads of unequal speed; fewer where each needs scratch. Always an even number: the last of three
 * would be one thread's, while the other waits. More threads than two may take up to FINER times as many. */
enum { SHARES = 16, FINER = 4, MOST_SLOTS = 8, FEWEST_SLOTS = 2, SLOT_ALIGN = 64, UNIT_GRAIN = 16 };
/* Fewer heads than these part their queries. Where each share packs an operand for itself (keys and values, a product's columns) there are few, and
 * products take so many times as long as packing. */
enum { MANY_HEADS = 8, PACKING_SHARES = 4, PACK_WORTH = 2 };
/* What a step in shares costs beside, in round trips of a cache line between the threads: being handed out, reading what another computed.
 * From so much saved, in nanoseconds, that matters nowhere. */
enum { TRIPS = 3, MOST_SAVED = 100000000 };
/* What handing out costs must be little: half a microsecond while the threads spin, a tenth each share; some ten when they have to be woken,
 * which few shares alone do not do. A thread that takes some goes through the weights: a step has eight only where each is worth it, four where it is long
 * enough for four threads. Of a size that only the call knows (OPEN) all SHARES are handed out. In picoseconds. */
enum { STEP_LEAST = 3000000, OPEN_LEAST = 8000000, SHARE_LEAST = 8000000, FOUR_LEAST = 16000000, TURN_LEAST = 1500000, MODEL_LEAST = 40000000 };
/* A phase that a kernel hands out to more than two threads takes some 1.5 microseconds beside its work; and how many times as long as a fast machine the
 * times below are for what has phases. */
enum { HAND = 1500000, FAST_TILES = 8, FAST_HEADS = 4, MOST_SPREAD = 1024 };
/* Rough times, of a lane or a byte: only how they compare to the above matters. */
enum { PS_MAC = 350, PS_OPERATION = 500, PS_ELEMENT = 800, PS_SOFTMAX = 12000, PS_NORM = 4000, PS_WEIGHT = 20, PS_CACHED = 5, PS_PACK = 200, TYPICAL = 128 };

static int64_t known(const Dim *d) {
  int64_t n = TYPICAL;
  (void)dim_is_const(d, &n);
  return n > INT64_C(1) << 40 ? INT64_C(1) << 40 : n;
}

/* The product of numbers that are not negative, or 2^40 where it is more. */
static int64_t times(int64_t a, int64_t b) {
  const int64_t most = INT64_C(1) << 40;
  return b && a > most / b ? most : a * b;
}

static int64_t known_product(const Dim *const *d, uint32_t n) {
  int64_t r = 1;
  for (uint32_t i = 0; i < n; i++) r = times(r, known(d[i]));
  return r;
}

/* ---- time ---- */
static int64_t nest_operations(const Nest *n) {
  const int64_t one = (int64_t)virt_expr_cost(&n->map) + 1;
  if (n->mode != NEST_REDUCE) return one;
  return one * known_product(n->extent + (n->n_axes - n->n_reduce), n->n_reduce) + (int64_t)virt_expr_cost(&n->post);
}

/* Products of a depthwise convolution for each element of the result that is computed from its own. */
static int64_t before_products(const Program *p, const Step *s) {
  const ConvStep *v = s->attr, *before = v->before.conv;
  const int64_t blocks = known(p->tensors.data[v->before.image].dims[1]), own = known(p->tensors.data[s->out[0]].dims[1]);
  return times(known_product(before->kernel, before->attr.n_spatial), blocks) / (own > 0 ? own : 1);
}

/* Picoseconds an element of the result, on one thread. */
static int64_t element_time(const Program *p, const Target *t, const Step *s) {
  const int64_t lanes = t->vector_bits / 32;
  const int64_t few = INT64_C(1) << 40; /* no product below overflows */
  int64_t n = 0, each = PS_MAC;
  if (s->kind == STEP_CONTRACT) n = known(((const ContractStep *)s->attr)->k);
  if (s->kind == STEP_ATTENTION) n = 2 * known(((const AttentionStep *)s->attr)->scores.n);
  if (s->kind == STEP_CONV) {
    const ConvStep *v = s->attr;
    n = times(known(v->channels), known_product(v->kernel, v->attr.n_spatial));
    if (v->before.conv) n += before_products(p, s);
  }
  if (s->kind == STEP_POOL) {
    const PoolAttr *a = &((const PoolStep *)s->attr)->attr;
    n = 1;
    for (uint32_t i = 0; i < a->n_spatial; i++) n = times(n, a->kernel[i]);
    each = PS_OPERATION;
  }
  if (s->kind == STEP_LRN) n = 1, each = PS_NORM;
  if (s->kind == STEP_SOFTMAX) n = 1, each = PS_SOFTMAX;
  if (s->kind == STEP_NORM) n = 1, each = PS_NORM;
  if (s->kind == STEP_NEST) n = nest_operations(s->attr), each = PS_OPERATION;
  (void)p;
  return (n < 0 || n > few / PS_SOFTMAX ? few / PS_SOFTMAX : n) * each / lanes + PS_ELEMENT;
}

/* Picoseconds that weights take to come from memory, each once: more than computing does where there is one row. */
static int64_t weight_time(const Program *p, const Step *s) {
  const int64_t most = INT64_C(1) << 40;
  int64_t n = 0;
  for (uint32_t i = 0; i < s->n_in; i++) {
    if (s->in[i] == NO_TENSOR) continue;
    const PTensor *t = &p->tensors.data[s->in[i]];
    if (p->buffers.data[t->buffer].kind == BUF_CONST) n += known_product(t->dims, t->rank) * dtype_rows[t->dtype].bits / 8;
  }
  return (n < most ? n : most) * PS_WEIGHT;
}

/* Of the state's part of one step of a recurrent layer, whose weights are read again and again. */
static int64_t recurrence_time(const Program *p, const Target *t, const Step *s) {
  const RecurrentStep *r = s->attr;
  const int64_t most = INT64_C(1) << 20, hidden = r->attr.hidden < most ? (int64_t)r->attr.hidden : most;
  const int64_t weights = hidden * hidden * (int64_t)r->gates, batch = known(p->tensors.data[s->in[0]].dims[1]);
  return weights * (int64_t)sizeof(float) * PS_CACHED + weights * (batch < 1024 ? batch : 1024) * PS_MAC / (t->vector_bits / 32);
}

/* Whether sequences of a recurrent layer go through all steps by themselves. */
static bool by_sequences(const Program *p, const Step *s) {
  const RecurrentStep *r = s->attr;
  int64_t batch;
  return dim_is_const(p->tensors.data[s->in[0]].dims[1], &batch) && cn_recurrent_groups((size_t)batch, (size_t)r->attr.hidden, r->gates) > 1;
}

/* Whether its two directions do: where a second cache keeps the weights of one; else threads that have part of a direction's weights each read less. */
static bool by_directions(const Program *p, const Step *s) {
  const RecurrentStep *r = s->attr;
  return r->attr.direction == 2 && cn_recurrent_kept((size_t)r->attr.hidden, r->gates) && !by_sequences(p, s);
}

/* How often a recurrent layer is handed out: each step, but for what goes through all steps by itself. */
static int64_t recurrence_turns(const Program *p, const Step *s) {
  return by_sequences(p, s) || by_directions(p, s) ? 1 : known(p->tensors.data[s->in[0]].dims[0]);
}

/* Whether a call lays out the second operand of its product. */
static bool packs(const Step *s) {
  const ContractStep *g = s->attr;
  return s->kind == STEP_CONTRACT && !g->b_packed && !g->thin;
}

/* Picoseconds that it takes. */
static int64_t pack_time(const Step *s) {
  const ContractStep *g = s->attr;
  if (!packs(s)) return 0;
  int64_t n = known(g->k);
  const int64_t rest[] = {known(g->n), known_product(g->batch, g->n_batch)}, most = INT64_C(1) << 40;
  for (int i = 0; i < 2; i++) n = rest[i] && n > most / rest[i] ? most : n * rest[i];
  return n * PS_PACK;
}

static int64_t step_time(const Program *p, const Target *t, const Step *s) {
  if (s->kind == STEP_RECURRENT) {
    const int64_t one = recurrence_time(p, t, s), steps = known(p->tensors.data[s->in[0]].dims[0]);
    return one * (one < MODEL_LEAST && steps < MODEL_LEAST ? steps : 1); /* beyond that more is as good */
  }
  const PTensor *out = &p->tensors.data[s->out[0]];
  const int64_t most = INT64_C(1) << 50, n = known_product(out->dims, out->rank), each = element_time(p, t, s);
  return (n > most / each ? most : n * each) + weight_time(p, s) + pack_time(s);
}

/* ---- what is parted ---- */
/* Whether neighbours along the axis lie side by side in what is read at every point. */
static bool reads_lines(const Nest *n, const Access *a, uint32_t axis) {
  bool others = false;
  for (uint32_t j = 0; j < n->n_axes; j++) others |= j != axis && !dim_is(a->stride[j], 0);
  return others && dim_is(a->stride[axis], 1);
}

bool share_by_lines(const Nest *n, uint32_t axis) {
  bool lines = dim_is(n->store.stride[axis], 1);
  for (uint32_t k = 0; k < n->n_loads && !lines; k++) lines = reads_lines(n, &n->loads[k], axis);
  return lines;
}

/* The outermost axis that gives each share some. */
static bool nest_axis(const Nest *n, uint32_t *ret) {
  const uint32_t outer = n->mode == NEST_REDUCE ? n->n_axes - n->n_reduce : n->mode == NEST_SCAN ? n->n_axes - 1 : n->n_axes;
  int64_t best = 1;
  for (uint32_t j = 0; j < outer && best < SHARES; j++) {
    if (dim_is(n->store.stride[j], 0)) continue;
    const int64_t parts = share_by_lines(n, j) ? known(n->extent[j]) / UNIT_GRAIN : known(n->extent[j]);
    if (parts > best) best = parts, *ret = j;
  }
  return best > 1;
}

/* The first error in order is the call's, so nothing that may fail is parted. */
static bool may_fail(const Access *a) {
  for (uint32_t k = 0; k < a->n_indirect; k++)
    if (!a->indirect[k].sure) return true;
  return false;
}

/* The step of the axis with the least one beyond `least` (0: none); and how far its places reach. */
static int64_t next_stride(const Nest *n, int64_t least, int64_t *ret_reach) {
  int64_t best = 0, extent, stride;
  for (uint32_t j = 0; j < n->n_axes; j++) {
    if (!dim_is_const(n->extent[j], &extent) || !dim_is_const(n->store.stride[j], &stride)) return -1;
    if (stride < 0) stride = -stride;
    if (extent <= 1 || stride < least || (best && stride >= best)) continue;
    best = stride;
    *ret_reach = (extent - 1) * stride;
  }
  return best;
}

/* Whether sizes alone say that no two points store at one place: each axis steps over all that those with shorter steps reach. */
static bool stores_apart(const Nest *n) {
  int64_t beyond = 0, stride, reach = 0;
  uint32_t left = 0;
  for (uint32_t j = 0; j < n->n_axes; j++) left += !dim_is(n->extent[j], 1);
  for (; left && (stride = next_stride(n, beyond + 1, &reach)) > 0; left--) beyond += reach;
  return left == 0;
}

static bool nest_parts(const Program *p, const Nest *n, uint32_t *ret) {
  if (n->store.n_indirect || dtype_rows[p->tensors.data[n->store.tensor].dtype].bits < 8) return false;
  if (n->mode == NEST_SCATTER && (n->scatter != SCATTER_SET || !stores_apart(n))) return false;
  for (uint32_t k = 0; k < n->n_loads; k++)
    if (may_fail(&n->loads[k])) return false;
  for (uint32_t k = 0; k < n->n_post_loads; k++)
    if (may_fail(&n->post_loads[k])) return false;
  return nest_axis(n, ret);
}

static bool moves(const Dim *const *strides, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!dim_is(strides[i], 0)) return true;
  return false;
}

/* The longest axis of batches that are as many as `least`. */
static bool long_batch(const ContractStep *g, int64_t least, uint32_t *ret) {
  int64_t best = least - 1, extent;
  for (uint32_t i = 0; i < g->n_batch; i++) {
    if (dim_is(g->c_batch[i], 0) || !dim_is_const(g->batch[i], &extent) || extent <= best) continue;
    best = extent;
    *ret = i;
  }
  return best >= least;
}

/* Batches where there are at least four, else the kernel's tasks: not where each share would have to pack the second operand for few rows. */
static bool contract_parts(const Target *t, const Step *s, uint32_t *ret) {
  const ContractStep *g = s->attr;
  const bool packed = g->b_packed || g->thin;
  if (packed || moves(g->b_batch, g->n_batch)) {
    if (long_batch(g, 4, ret) || packed) return true;
    for (uint32_t i = 0; i < g->n_batch; i++)
      if (!dim_is_const(g->batch[i], NULL) && !dim_is(g->c_batch[i], 0)) *ret = i;
  }
  return *ret != SHARE_TASKS || known(g->m) * PS_MAC * 32 / t->vector_bits >= PACK_WORTH * PS_PACK;
}

static bool step_parts(const Program *p, const Target *t, const Step *s, uint32_t *ret) {
  const ConvStep *conv = s->attr;
  *ret = SHARE_TASKS;
  switch (s->kind) {
    case STEP_NEST: return nest_parts(p, s->attr, ret);
    case STEP_CONTRACT: return ((const ContractStep *)s->attr)->thin != THIN_FEW && contract_parts(t, s, ret);
    case STEP_ATTENTION: (void)long_batch(&((const AttentionStep *)s->attr)->scores, MANY_HEADS, ret); return true;
    case STEP_CONV: return conv->depthwise || conv->w_packed;
    case STEP_SOFTMAX: return !dim_is(((const SoftmaxStep *)s->attr)->outer, 1) || !dim_is(((const SoftmaxStep *)s->attr)->inner, 1);
    case STEP_POOL: case STEP_LRN: case STEP_NORM: return true;
    default: return false;
  }
}

static StepShare recurrent_share(const Program *p, const Target *t, const Step *s) {
  const int64_t turns = recurrence_turns(p, s), time = turns == 1 ? step_time(p, t, s) : recurrence_time(p, t, s), n = time / TURN_LEAST;
  if (n < 2 && !p->parts_all) return (StepShare){0};
  if (by_directions(p, s)) return (StepShare){.n = 2, .few = 2, .axis = SHARE_DIRECTIONS};
  const uint32_t shares = n < 4 ? 2 : n < 8 ? 4 : 8;
  return (StepShare){.n = shares, .few = shares, .axis = SHARE_TASKS};
}

/* The most shares that go into `few` evenly, up to FINER in each. */
static uint32_t finer(uint32_t few) {
  uint32_t n = few;
  while (n && 2 * n <= SHARES && 2 * n <= FINER * few) n *= 2;
  return n;
}

/* Whether a step of open sizes fills a table that is short at usual ones: what reads no tensor, such as the places and weights of a resized axis. */
static bool is_short_table(const Step *s, const StepShare *r) {
  int64_t n;
  return s->kind == STEP_NEST && !((const Nest *)s->attr)->n_loads && dim_eval(r->elements, NULL, &n) && n < r->least;
}

StepShare step_share(const Program *p, const Target *t, const Step *s) {
  StepShare r = {0};
  if (s->kind == STEP_RECURRENT) return recurrent_share(p, t, s);
  if (!step_parts(p, t, s, &r.axis)) return r;
  const PTensor *out = &p->tensors.data[s->out[0]];
  const int64_t time = element_time(p, t, s);
  int64_t elements = 0;
  r.elements = dim_product(p->dims, out->dims, out->rank);
  r.least = p->parts_all ? 0 : (OPEN_LEAST + time - 1) / time;
  r.few = r.axis == SHARE_TASKS && (s->kind == STEP_ATTENTION || packs(s)) ? PACKING_SHARES : SHARES;
  r.n = finer(r.few);
  if (!dim_is_const(r.elements, &elements)) return is_short_table(s, &r) ? (StepShare){0} : r;
  const int64_t all = step_time(p, t, s);
  if (!p->parts_all && all < STEP_LEAST) return (StepShare){0};
  if (all / SHARE_LEAST < r.few) r.few = all < FOUR_LEAST ? 2 : all / SHARE_LEAST < 6 ? 4 : (uint32_t)(all / SHARE_LEAST) / 2 * 2;
  r.n = finer(r.few);
  r.elements = NULL;
  return r;
}

/* ---- memory ---- */
typedef struct Life { size_t first, last; int64_t bytes; bool used; } Life;

/* By buffer: from the first to the last step that names it. */
static Life *buffer_lives(Arena *a, const Program *p, int64_t (*bytes)(const Program *p, uint32_t tensor)) {
  Life *lives = NEW_ARRAY(a, Life, p->buffers.n);
  for (size_t i = 0; i < p->main.steps.n; i++) {
    const Step *s = &p->main.steps.data[i];
    for (uint32_t k = 0; k < s->n_in + s->n_out; k++) {
      const uint32_t t = k < s->n_in ? s->in[k] : s->out[k - s->n_in];
      if (t == NO_TENSOR) continue;
      Life *l = &lives[p->tensors.data[t].buffer];
      if (!l->used) *l = (Life){i, i, 0, true};
      const int64_t own = bytes(p, t);
      if (own > l->bytes) l->bytes = own;
      l->last = i;
    }
  }
  return lives;
}

int64_t *share_live_bytes(Arena *a, const Program *p, int64_t (*bytes)(const Program *p, uint32_t tensor)) {
  const Life *lives = buffer_lives(a, p, bytes);
  int64_t *live = NEW_ARRAY(a, int64_t, p->main.steps.n + 1);
  for (size_t b = 0; b < p->buffers.n; b++) {
    if (!lives[b].used || p->buffers.data[b].kind != BUF_ARENA) continue;
    live[lives[b].first] += lives[b].bytes;
    live[lives[b].last + 1] -= lives[b].bytes;
  }
  for (size_t i = 1; i < p->main.steps.n; i++) live[i] += live[i - 1];
  return live;
}

/* Of a tensor's buffer, as far as that is known. */
static int64_t known_bytes(const Program *p, uint32_t tensor) {
  const Buffer *b = &p->buffers.data[p->tensors.data[tensor].buffer];
  int64_t n;
  return dim_is_const(b->n, &n) && n < INT64_C(1) << 40 ? n * dtype_rows[b->dtype].bits / 8 : 0;
}

/* Of up to n shares as many as take whole bands each, since each transforms its bands' input for itself; of a single band
 * its groups in two halves, which costs less than a transform more. */
static uint32_t band_shares(const Program *p, const Step *s, uint32_t n) {
  const int64_t bands = (int64_t)((const ConvStep *)s->attr)->winograd.bands * known(p->tensors.data[s->in[0]].dims[0]);
  while (n > 2 && bands < WINOGRAD_MANY_BANDS && (n % 2 != 0 || bands % n != 0)) n--;
  return n;
}

static bool copies_rows(const Step *s) { return s->kind == STEP_CONTRACT && ((const ContractStep *)s->attr)->lines; }

int64_t share_computed_bytes(const ConvStep *s, uint32_t n) {
  const ConvBefore *b = &s->before;
  const size_t own = (s->most.tasks + n - 1) / n * b->least;
  const size_t pixels = own < b->least ? b->least : own > b->most ? b->most : own;
  return (int64_t)(sizeof(float) * (b->fixed + pixels * b->pixel));
}

/* Bytes of scratch of one of n shares. */
static const Dim *slot_of(Program *p, const Step *s, const Dim *scratch, uint32_t n) {
  const ConvStep *v = s->kind == STEP_CONV ? s->attr : NULL;
  if (v && v->before.conv) scratch = dim_const(p->dims, share_computed_bytes(v, n));
  return dim_mulc(p->dims, dim_ceildiv(p->dims, scratch, dim_const(p->dims, SLOT_ALIGN)), SLOT_ALIGN);
}

/* Whether n slots of n shares, each of what one of them needs, take no more than `room` bytes. */
static bool slots_fit(Program *p, const Step *s, const Dim *scratch, uint32_t n, int64_t room) {
  int64_t bytes;
  return dim_is_const(slot_of(p, s, scratch, n), &bytes) && bytes <= room / n;
}

/* Slots that the workspace hardly grows for: with them the step needs little more than some other does anyway. room: bytes that it may take. A product's
 * copies of rows are small beside its weights, and few shares would cost it more than copies gain. */
static void share_scratch(Program *p, Step *s, int64_t room) {
  PTensor *scratch = &p->tensors.data[s->scratch];
  const Dim *one = scratch->dims[0], **dims = NEW(p->arena, const Dim *);
  StepShare *share = &s->share;
  if (share->few > MOST_SLOTS) share->few = MOST_SLOTS;
  while (!copies_rows(s) && share->few > FEWEST_SLOTS && !slots_fit(p, s, one, share->few, room)) share->few -= 2;
  const bool tiles = s->kind == STEP_CONV && ((const ConvStep *)s->attr)->winograd.side;
  if (tiles) share->few = band_shares(p, s, share->few);
  share->n = tiles || share->axis == SHARE_DIRECTIONS ? share->few : finer(share->few);
  while (share->n > share->few && !slots_fit(p, s, one, share->n, room)) share->n /= 2;
  share->slot = slot_of(p, s, one, share->n);
  dims[0] = dim_mulc(p->dims, share->slot, share->n);
  scratch->dims = dims;
  p->buffers.data[scratch->buffer].n = dims[0];
}

/* How often a kernel would hand out phases of the step: Winograd's three of each band, packing and products of each head. 0: it does not. */
static int64_t step_phases(const Program *p, const Step *s) {
  const ConvStep *conv = s->attr;
  if (s->kind == STEP_CONV && conv->winograd.side) return times(3 * (int64_t)conv->winograd.bands, known(p->tensors.data[s->in[0]].dims[0]));
  if (s->kind != STEP_ATTENTION || !s->share.slot) return 0;
  const ContractStep *scores = &((const AttentionStep *)s->attr)->scores;
  return dim_is_const(scores->m, NULL) ? times(2, known_product(scores->batch, scores->n_batch)) : 0;
}

/* From how many threads on phases are done sooner than shares are, of which the workspace has room for few: time / threads + phases * hand < time / n + hand. */
static uint32_t spread_from(const Program *p, const Target *t, const Step *s) {
  const int64_t phases = step_phases(p, s), time = step_time(p, t, s) / (s->kind == STEP_CONV ? FAST_TILES : FAST_HEADS), n = s->share.n;
  if (!phases || s->share.elements) return 0;
  const int64_t rest = time / n - times(phases - 1, HAND);
  if (p->parts_all) return s->share.n + 1;
  return rest > 0 && time / rest < MOST_SPREAD ? (uint32_t)(time / rest + 1) : 0;
}

/* A model whose parts that can be shared take no longer than waking threads does runs on one. */
static bool model_is_worth_it(const Program *p, const Target *t) {
  int64_t time = 0;
  for (size_t i = 0; i < p->main.steps.n && time < MODEL_LEAST; i++) {
    const Step *s = &p->main.steps.data[i];
    if (!s->share.n) continue;
    if (s->share.elements) return true;
    const int64_t one = step_time(p, t, s);
    time += one < MODEL_LEAST ? one : MODEL_LEAST;
  }
  return time >= MODEL_LEAST;
}

/* Nanoseconds that two threads save, at least: the times above are several times those of a fast machine. */
static int64_t saved_time(const Program *p, const Target *t, const Step *s) {
  const int64_t saved = step_time(p, t, s) / 1000 / (s->kind == STEP_RECURRENT ? 4 : 12);
  return saved < MOST_SAVED ? saved : MOST_SAVED;
}

/* The longest round trip of a line between threads with which they save more than they cost; 0: any, or only the call knows the sizes. */
static uint32_t longest_trip(const Program *p, const Target *t) {
  int64_t saved = 0, trips = 0;
  for (size_t i = 0; i < p->main.steps.n && saved < MOST_SAVED; i++) {
    const Step *s = &p->main.steps.data[i];
    if (!s->share.n) continue;
    if (s->share.elements) return 0;
    saved += saved_time(p, t, s);
    trips += TRIPS * (s->kind == STEP_RECURRENT ? recurrence_turns(p, s) : 1);
  }
  return saved < MOST_SAVED && trips ? (uint32_t)(saved / trips + 1) : 0;
}

void program_share(Program *p, const Target *t, bool all) {
  p->parts_all = all;
  for (size_t i = 0; i < p->main.steps.n; i++) p->main.steps.data[i].share = step_share(p, t, &p->main.steps.data[i]);
  Arena *scratch = arena_new(arena_door(p->arena), 0);
  const int64_t *live = share_live_bytes(scratch, p, known_bytes);
  int64_t least = 0; /* what the workspace has at least */
  for (size_t i = 0; i < p->main.steps.n; i++)
    if (live[i] > least) least = live[i];
  const bool worth = p->parts_all || model_is_worth_it(p, t);
  for (size_t i = 0; i < p->main.steps.n; i++) {
    Step *s = &p->main.steps.data[i];
    if (!worth) s->share = (StepShare){0};
    else if (s->share.n && s->scratch != NO_TENSOR && (s->kind != STEP_RECURRENT || s->share.axis == SHARE_DIRECTIONS)) share_scratch(p, s, least + least / 10 - live[i]);
    if (s->share.n) s->share.spread = spread_from(p, t, s);
  }
  p->longest_trip = worth && !all ? longest_trip(p, t) : 0;
  arena_free(scratch);
}

/* ---- once memory is planned ---- */
static uint32_t root(const Program *p, uint32_t tensor) {
  uint32_t b = p->tensors.data[tensor].buffer;
  while (p->buffers.data[b].alias_of != NO_BUFFER) b = p->buffers.data[b].alias_of;
  return b;
}

/* A load from the result's own memory takes just what its point then replaces. */
bool share_is_safe(const Program *p, const Nest *n) {
  const uint32_t out = root(p, n->store.tensor);
  for (uint32_t k = 0; k < n->n_post_loads; k++)
    if (root(p, n->post_loads[k].tensor) == out) return false;
  for (uint32_t k = 0; k < n->n_loads; k++) {
    const Access *a = &n->loads[k];
    if (root(p, a->tensor) != out) continue;
    if (n->mode != NEST_MAP || p->tensors.data[a->tensor].offset != p->tensors.data[n->store.tensor].offset || a->offset != n->store.offset) return false;
    for (uint32_t j = 0; j < n->n_axes; j++)
      if (a->stride[j] != n->store.stride[j]) return false;
  }
  return true;
}
