/* The figures of `castnet bench`, for people and as JSON. */
#include "cli/bench.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

/* The rate of the smallest block measured that holds so many bytes. */
static double read_rate(const BenchResult *r, double bytes) {
  for (size_t i = 0; i < r->n_reads; i++)
    if (bytes <= r->reads[i].bytes) return r->reads[i].rate;
  return r->n_reads ? r->reads[r->n_reads - 1].rate : 0;
}

double bench_limit(const BenchResult *r, double macs, double bytes) {
  const double compute = 2e-3 * macs / r->peak, rate = read_rate(r, bytes), memory = rate > 0 ? 1e-3 * bytes / rate : 0;
  return compute > memory ? compute : memory;
}

typedef struct Totals { double macs, steps, limit; } Totals;

static Totals add_up(const BenchResult *r) {
  Totals t = {0};
  for (size_t i = 0; i < r->n_steps; i++) {
    const castnet_step s = castnet_get_step(r->compiled, i);
    if (s.macs > 0) t.macs += (double)s.macs;
    t.steps += r->steps[i];
    if (s.macs >= 0 && s.bytes >= 0 && r->steps[i] > 0) t.limit += bench_limit(r, (double)s.macs, (double)s.bytes);
  }
  return t;
}

static double percentile(const BenchResult *r, double p) {
  const size_t i = (size_t)(p * (double)r->n_times);
  return r->times[i < r->n_times ? i : r->n_times - 1];
}

static void print_step(const BenchResult *r, StrBuf *b, size_t i, const Totals *t) {
  const castnet_step s = castnet_get_step(r->compiled, i);
  const double us = r->steps[i];
  sb_printf(b, "%-44.44s %10.2f %5.1f%%", s.function, us, t->steps > 0 ? 100 * us / t->steps : 0);
  if (s.macs > 0 && us > 0) sb_printf(b, " %8.1f", 2e-3 * (double)s.macs / us);
  else sb_puts(b, "        -");
  if (s.bytes >= 0 && us > 0) sb_printf(b, " %7.1f", 1e-3 * (double)s.bytes / us);
  else sb_puts(b, "       -");
  if (s.macs >= 0 && s.bytes >= 0 && us > 0) sb_printf(b, " %5.0f%%", 100 * bench_limit(r, (double)s.macs, (double)s.bytes) / us);
  sb_putc(b, '\n');
}

void bench_print(const BenchResult *r, StrBuf *b) {
  const Totals t = add_up(r);
  const bool levels = strcmp(r->target, r->level) != 0;
  sb_printf(b, "%s, %s%s%s: min %.2f us, median %.2f, p99 %.2f (%zu samples of %zu)\n", r->model, r->target, levels ? " at " : "", levels ? r->level : "", r->times[0], percentile(r, 0.5),
            percentile(r, 0.99), r->n_times, r->batch);
  sb_printf(b, "%.1f GFLOP/s of %.1f, the FMA peak%s; read", 2e-3 * t.macs / r->times[0], r->peak, r->threads > 1 ? " of all threads" : "");
  for (size_t i = 0; i < r->n_reads; i++) sb_printf(b, "%s %.0f GB/s from %.0f KiB", i ? "," : "", r->reads[i].rate, r->reads[i].bytes / 1024);
  if (r->far > 0) sb_printf(b, "\na cache line takes %.0f to %.0f ns to the furthest thread and back (castnet_env.line_ns)", r->near, r->far);
  sb_printf(b, "\n\n%-44s %10s %6s %8s %7s %6s\n", "step", "us", "time", "GFLOP/s", "GB/s", "limit");
  for (size_t i = 0; i < r->n_steps; i++) print_step(r, b, i, &t);
  sb_printf(b, "%-44s %10.2f %6s %8s %7s %5.0f%%\n", "all steps", t.steps, "", "", "", t.steps > 0 ? 100 * t.limit / t.steps : 0);
}

static json_t *step_json(const BenchResult *r, size_t i) {
  const castnet_step s = castnet_get_step(r->compiled, i);
  json_t *o = json_object();
  json_object_set_new(o, "function", json_string(s.function));
  json_object_set_new(o, "node", json_stringn(s.node_name.ptr, s.node_name.length));
  json_object_set_new(o, "op", json_stringn(s.op_type.ptr, s.op_type.length));
  json_object_set_new(o, "us", json_real(r->steps[i]));
  json_object_set_new(o, "macs", s.macs >= 0 ? json_integer(s.macs) : json_null());
  json_object_set_new(o, "bytes", s.bytes >= 0 ? json_integer(s.bytes) : json_null());
  if (s.macs >= 0 && s.bytes >= 0) json_object_set_new(o, "limit_us", json_real(bench_limit(r, (double)s.macs, (double)s.bytes)));
  return o;
}

void bench_print_json(const BenchResult *r, StrBuf *b) {
  json_t *o = json_object(), *steps = json_array(), *reads = json_array();
  for (size_t i = 0; i < r->n_steps; i++) json_array_append_new(steps, step_json(r, i));
  for (size_t i = 0; i < r->n_reads; i++) {
    json_t *row = json_object();
    json_object_set_new(row, "bytes", json_real(r->reads[i].bytes));
    json_object_set_new(row, "gbytes_per_s", json_real(r->reads[i].rate));
    json_array_append_new(reads, row);
  }
  json_object_set_new(o, "schema", json_string("castnet-bench-1"));
  json_object_set_new(o, "model", json_string(r->model));
  json_object_set_new(o, "target", json_string(r->target));
  json_object_set_new(o, "level", json_string(r->level));
  json_object_set_new(o, "samples", json_integer((json_int_t)r->n_times));
  json_object_set_new(o, "batch", json_integer((json_int_t)r->batch));
  json_object_set_new(o, "min_us", json_real(r->times[0]));
  json_object_set_new(o, "median_us", json_real(percentile(r, 0.5)));
  json_object_set_new(o, "p99_us", json_real(percentile(r, 0.99)));
  json_object_set_new(o, "threads", json_integer((json_int_t)r->threads));
  if (r->far > 0) {
    json_t *range = json_array();
    json_array_append_new(range, json_real(r->near));
    json_array_append_new(range, json_real(r->far));
    json_object_set_new(o, "line_ns", range);
  }
  json_object_set_new(o, "peak_gflops", json_real(r->peak));
  json_object_set_new(o, "read", reads);
  json_object_set_new(o, "steps", steps);
  char *text = json_dumps(o, JSON_PRESERVE_ORDER | JSON_INDENT(1) | JSON_REAL_PRECISION(7));
  json_decref(o);
  sb_puts(b, text ? text : "");
  sb_putc(b, '\n');
  free(text);
}
