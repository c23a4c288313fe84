/* The figures of `castnet inspect`, for people and as JSON. */
#include "cli/inspect.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

typedef struct Work {
  int64_t macs, bytes;
  bool complete; /* every step's costs are known */
} Work;

static Work add_up(const castnet *m) {
  Work w = {.complete = true};
  for (size_t i = 0; i < castnet_n_steps(m); i++) {
    const castnet_step s = castnet_get_step(m, i);
    if (s.macs < 0 || s.bytes < 0) w.complete = false;
    if (s.macs > 0) w.macs += s.macs;
    if (s.bytes > 0) w.bytes += s.bytes;
  }
  return w;
}

static void print_type(StrBuf *b, const castnet_interface *m, const castnet_type *t) {
  static const char *const kinds[] = {"", "sequence", "optional", "map"};
  static const char *const names[] = {"?", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double", "uint32", "uint64",
                                      "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
                                      "float4e2m1", "float8e8m0", "uint2", "int2"};
  if (t->kind != CASTNET_KIND_TENSOR) {
    sb_puts(b, kinds[t->kind]);
    return;
  }
  sb_puts(b, t->dtype > 0 && (size_t)t->dtype < sizeof names / sizeof *names ? names[t->dtype] : "?");
  for (size_t i = 0; i < t->rank; i++) {
    if (t->dims[i].symbol >= 0) sb_printf(b, "[%s]", m->dims[t->dims[i].symbol].c_name);
    else if (t->dims[i].value >= 0) sb_printf(b, "[%" PRId64 "]", t->dims[i].value);
    else sb_puts(b, "[?]");
  }
}

static void print_fields(StrBuf *b, const castnet_interface *m, const char *title, const castnet_field *f, size_t n) {
  for (size_t i = 0; i < n; i++) {
    sb_printf(b, "%-8s %s ", i ? "" : title, f[i].c_name);
    print_type(b, m, &f[i].type);
    sb_putc(b, '\n');
  }
}

static void print_memory(const Inspection *n, StrBuf *b) {
  const castnet_memory mem = castnet_get_memory(n->compiled);
  const Measured *m = &n->measured;
  const castnet_size size = castnet_get_size(n->compiled);
  if (mem.lower_bound) {
    sb_printf(b, "RAM      workspace %" PRIu64 " bytes; least possible for this order %" PRIu64 ", gap %.2f %%\n", mem.workspace, mem.lower_bound,
              100.0 * ((double)mem.workspace / (double)mem.lower_bound - 1));
  } else {
    sb_puts(b, mem.workspace ? "RAM      workspace " : "RAM      workspace: depends on the dimensions (N_workspace_size)\n");
    if (mem.workspace) sb_printf(b, "%" PRIu64 " bytes\n", mem.workspace);
  }
  if (mem.file_order_peak) sb_printf(b, "         node by node, unfused, it would be %" PRIu64 "\n", mem.file_order_peak);
  if (m->has_stack) sb_printf(b, "         stack %" PRIu64 " bytes at most (%s), memcpy and the compiler's own functions apart\n", m->stack, m->compiler);
  else sb_puts(b, "         stack not measured (needs gcc's call graph)\n");
  sb_printf(b, "flash    weights %" PRIu64 " bytes", size.weights);
  if (m->has_code) sb_printf(b, ", code %" PRIu64 " (%s), together %" PRIu64 "\n", m->code, m->compiler, m->code + size.weights);
  else sb_puts(b, "; code not measured (no C compiler)\n");
}

/* Of a target that is code for several levels: what each needs, and what constants cost that more than one packs in its own way. */
static void print_levels(const castnet *m, StrBuf *b) {
  const size_t n = castnet_n_levels(m);
  for (size_t i = 0; n > 1 && i < n; i++) {
    const castnet_level l = castnet_get_level(m, i);
    sb_printf(b, "%-8s %-16s ", i ? "" : "levels", l.target);
    if (l.workspace) sb_printf(b, "workspace %" PRIu64 ", ", l.workspace);
    sb_printf(b, "weights %" PRIu64 ", of them %" PRIu64 " for no other level\n", l.weights, l.own_weights);
  }
}

static json_t *levels_json(const castnet *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < castnet_n_levels(m); i++) {
    const castnet_level l = castnet_get_level(m, i);
    json_t *o = json_object();
    json_object_set_new(o, "target", json_string(l.target));
    json_object_set_new(o, "isa", json_integer((json_int_t)l.isa));
    json_object_set_new(o, "workspace", l.workspace ? json_integer((json_int_t)l.workspace) : json_null());
    json_object_set_new(o, "weights", json_integer((json_int_t)l.weights));
    json_object_set_new(o, "own_weights", json_integer((json_int_t)l.own_weights));
    json_array_append_new(list, o);
  }
  return list;
}

static void print_steps(const castnet *m, StrBuf *b) {
  sb_printf(b, "\n%-40s %-24s %-20s %14s %12s\n", "step", "operators", "how", "MACs", "bytes");
  for (size_t i = 0; i < castnet_n_steps(m); i++) {
    const castnet_step s = castnet_get_step(m, i);
    StrBuf ops = sb_new(b->arena);
    sb_escaped(&ops, (Str){s.ops.ptr, s.ops.length}, 24);
    sb_printf(b, "%-40.40s %-24s %-20.*s ", s.function, ops.len ? ops.data : "", (int)s.how.length, s.how.ptr);
    if (s.macs > 0) sb_printf(b, "%14" PRId64, s.macs);
    else sb_printf(b, "%14s", s.macs < 0 ? "?" : "-");
    if (s.bytes >= 0) sb_printf(b, " %12" PRId64 "\n", s.bytes);
    else sb_printf(b, " %12s\n", "?");
  }
}

enum { MAP_ROWS = 16, MAP_COLUMNS = 96 };

static bool takes(const castnet_buffer *u, double from, double to, size_t first, size_t last) {
  return u->first <= last && u->last >= first && (double)u->offset < to && (double)(u->offset + u->bytes) > from;
}

/* The workspace from bottom (offset 0) to top over the steps from left to right: one letter a buffer. */
static void print_map(const castnet *m, StrBuf *b) {
  const uint64_t peak = castnet_get_memory(m).workspace;
  const size_t steps = castnet_n_plan_steps(m), buffers = castnet_n_buffers(m);
  if (!castnet_get_memory(m).lower_bound || !peak || !steps) return;
  const size_t columns = steps < MAP_COLUMNS ? steps : MAP_COLUMNS;
  sb_printf(b, "\nworkspace, %" PRIu64 " bytes high, over %zu steps\n", peak, steps);
  for (int row = MAP_ROWS; row-- > 0;) {
    const double from = (double)peak * row / MAP_ROWS, to = (double)peak * (row + 1) / MAP_ROWS;
    sb_printf(b, "%12.0f |", to);
    for (size_t x = 0; x < columns; x++) {
      const size_t first = x * steps / columns, last = (x + 1) * steps / columns - 1;
      char ch = ' ';
      for (size_t i = 0; i < buffers; i++) {
        const castnet_buffer u = castnet_get_buffer(m, i);
        if (u.offset >= 0 && u.bytes > 0 && takes(&u, from, to, first, last > first ? last : first)) ch = (char)('a' + i % 26);
      }
      sb_putc(b, ch);
    }
    sb_putc(b, '\n');
  }
}

void inspect_print(const Inspection *n, StrBuf *b) {
  const castnet_interface *m = castnet_get_interface(n->compiled);
  const castnet_size size = castnet_get_size(n->compiled);
  const Work w = add_up(n->compiled);
  sb_printf(b, "%s for %s\n", n->model, n->target);
  print_fields(b, m, "inputs", m->inputs, m->n_inputs);
  print_fields(b, m, "outputs", m->outputs, m->n_outputs);
  for (size_t i = 0; i < m->n_dims; i++)
    sb_printf(b, "%-8s %s %" PRId64 "..%" PRId64 "\n", i ? "" : "sizes", m->dims[i].c_name, m->dims[i].lo, m->dims[i].hi);
  sb_printf(b, "model    %" PRIu64 " nodes, %" PRIu64 " parameters (%" PRIu64 " bytes)\n", size.nodes, size.parameters, size.parameter_bytes);
  if (size.subnormal_parameters) sb_printf(b, "         %" PRIu64 " of them are subnormal: see --keep-subnormals and --flush-subnormals\n", size.subnormal_parameters);
  sb_printf(b, "work     %s%" PRId64 " MACs, %s%" PRId64 " bytes moved, %zu steps\n", w.complete ? "" : "at least ", w.macs, w.complete ? "" : "at least ",
            w.bytes, castnet_n_steps(n->compiled));
  print_memory(n, b);
  print_levels(n->compiled, b);
  print_steps(n->compiled, b);
  print_map(n->compiled, b);
}

/* ---- JSON ---- */
static json_t *number(int64_t v) { return v >= 0 ? json_integer(v) : json_null(); }
static json_t *text(castnet_slice s) { return json_stringn(s.ptr, s.length); }

static json_t *fields_json(Arena *a, const castnet_interface *m, const castnet_field *f, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) {
    StrBuf type = sb_new(a);
    print_type(&type, m, &f[i].type);
    json_t *o = json_object();
    json_object_set_new(o, "name", text(f[i].name));
    json_object_set_new(o, "c_name", json_string(f[i].c_name));
    json_object_set_new(o, "type", json_string(type.data ? type.data : ""));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *steps_json(const castnet *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < castnet_n_steps(m); i++) {
    const castnet_step s = castnet_get_step(m, i);
    json_t *o = json_object();
    json_object_set_new(o, "function", json_string(s.function));
    json_object_set_new(o, "node", text(s.node_name));
    json_object_set_new(o, "op", text(s.op_type));
    json_object_set_new(o, "ops", text(s.ops));
    json_object_set_new(o, "how", text(s.how));
    json_object_set_new(o, "macs", number(s.macs));
    json_object_set_new(o, "bytes", number(s.bytes));
    json_array_append_new(list, o);
  }
  return list;
}

static json_t *buffers_json(const castnet *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < castnet_n_buffers(m); i++) {
    const castnet_buffer u = castnet_get_buffer(m, i);
    json_t *o = json_object();
    json_object_set_new(o, "name", text(u.name));
    json_object_set_new(o, "offset", number(u.offset));
    json_object_set_new(o, "bytes", number(u.bytes));
    json_object_set_new(o, "first", json_integer((json_int_t)u.first));
    json_object_set_new(o, "last", json_integer((json_int_t)u.last));
    if (u.storage_of >= 0) json_object_set_new(o, "storage_of", json_integer(u.storage_of));
    json_array_append_new(list, o);
  }
  return list;
}

void inspect_print_json(const Inspection *n, StrBuf *b) {
  const castnet_interface *m = castnet_get_interface(n->compiled);
  const castnet_size size = castnet_get_size(n->compiled);
  const castnet_memory mem = castnet_get_memory(n->compiled);
  const Work w = add_up(n->compiled);
  json_t *o = json_object();
  json_object_set_new(o, "schema", json_string("castnet-inspect-1"));
  json_object_set_new(o, "model", json_string(n->model));
  json_object_set_new(o, "target", json_string(n->target));
  json_object_set_new(o, "inputs", fields_json(b->arena, m, m->inputs, m->n_inputs));
  json_object_set_new(o, "outputs", fields_json(b->arena, m, m->outputs, m->n_outputs));
  json_object_set_new(o, "nodes", json_integer((json_int_t)size.nodes));
  json_object_set_new(o, "parameters", json_integer((json_int_t)size.parameters));
  json_object_set_new(o, "parameter_bytes", json_integer((json_int_t)size.parameter_bytes));
  json_object_set_new(o, "subnormal_parameters", json_integer((json_int_t)size.subnormal_parameters));
  json_object_set_new(o, "macs", json_integer(w.macs));
  json_object_set_new(o, "bytes_moved", json_integer(w.bytes));
  json_object_set_new(o, "work_complete", json_boolean(w.complete));
  json_object_set_new(o, "workspace", mem.workspace ? json_integer((json_int_t)mem.workspace) : json_null());
  json_object_set_new(o, "workspace_bound", mem.lower_bound ? json_integer((json_int_t)mem.lower_bound) : json_null());
  json_object_set_new(o, "file_order_peak", mem.file_order_peak ? json_integer((json_int_t)mem.file_order_peak) : json_null());
  json_object_set_new(o, "weights", json_integer((json_int_t)size.weights));
  json_object_set_new(o, "levels", levels_json(n->compiled));
  json_object_set_new(o, "compiler", n->measured.compiler ? json_string(n->measured.compiler) : json_null());
  json_object_set_new(o, "code", n->measured.has_code ? json_integer((json_int_t)n->measured.code) : json_null());
  json_object_set_new(o, "stack", n->measured.has_stack ? json_integer((json_int_t)n->measured.stack) : json_null());
  json_object_set_new(o, "steps", steps_json(n->compiled));
  json_object_set_new(o, "buffers", buffers_json(n->compiled));
  char *dump = json_dumps(o, JSON_PRESERVE_ORDER | JSON_INDENT(1));
  json_decref(o);
  sb_puts(b, dump ? dump : "");
  sb_putc(b, '\n');
  free(dump);
}
