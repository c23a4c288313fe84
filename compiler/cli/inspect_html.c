/* The plan as a picture: buffers as rectangles over steps (across) and offsets (upwards), in one page without anything from
 * elsewhere. Its bytes follow from the model and the options alone. */
#include "cli/inspect.h"

#include <inttypes.h>

enum { WIDTH = 1200, HEIGHT = 600, LEFT = 90, TOP = 20 };

static void put_text(StrBuf *b, castnet_slice s) {
  StrBuf t = sb_new(b->arena);
  sb_escaped(&t, (Str){s.ptr, s.length}, 120);
  for (size_t i = 0; i < t.len; i++) {
    const char c = t.data[i];
    if (c == '<') sb_puts(b, "&lt;");
    else if (c == '>') sb_puts(b, "&gt;");
    else if (c == '&') sb_puts(b, "&amp;");
    else if (c == '"') sb_puts(b, "&quot;");
    else sb_putc(b, c);
  }
}

static void put_string(StrBuf *b, const char *s) { put_text(b, (castnet_slice){s, strlen(s)}); }

/* Neighbouring numbers get distant hues. */
static unsigned hue(size_t i) { return (unsigned)(i * 137 % 360); }

static void put_buffer(const castnet *m, StrBuf *b, size_t i, double peak, double steps) {
  const castnet_buffer u = castnet_get_buffer(m, i);
  if (u.offset < 0 || u.bytes <= 0) return;
  const double x = LEFT + WIDTH * (double)u.first / steps, w = WIDTH * (double)(u.last - u.first + 1) / steps;
  const double h = HEIGHT * (double)u.bytes / peak, y = TOP + HEIGHT - HEIGHT * (double)u.offset / peak - h;
  sb_printf(b, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%u 60%% %u%%)\"%s><title>", x, y, w, h < 0.5 ? 0.5 : h, hue(i),
            u.name.length ? 70 : 85, u.storage_of >= 0 ? " stroke-dasharray=\"3 2\"" : "");
  if (u.name.length) put_text(b, u.name);
  else sb_puts(b, "scratch, or a value without a name");
  sb_printf(b, "\n%" PRId64 " bytes at %" PRId64 ", steps %zu to %zu", u.bytes, u.offset, u.first, u.last);
  if (u.storage_of >= 0) sb_puts(b, "\nwritten in place");
  sb_puts(b, "</title></rect>\n");
}

static void put_axes(const castnet *m, StrBuf *b, uint64_t peak, size_t steps) {
  for (int i = 0; i <= 4; i++)
    sb_printf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRIu64 "</text><line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT - 8,
              TOP + HEIGHT - HEIGHT * i / 4 + 4, peak * (uint64_t)i / 4, LEFT, LEFT + WIDTH, TOP + HEIGHT - HEIGHT * i / 4, TOP + HEIGHT - HEIGHT * i / 4);
  for (size_t i = 0; i < steps; i++) { /* a strip a step below the picture: what runs there */
    const castnet_plan_step s = castnet_get_plan_step(m, i);
    sb_printf(b, "<rect class=\"s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"14\"><title>step %zu: %s", LEFT + WIDTH * (double)i / (double)steps, TOP + HEIGHT + 6,
              WIDTH / (double)steps, i, s.kind);
    if (s.op_type.length) sb_puts(b, ", "), put_text(b, s.op_type);
    if (s.node_name.length) sb_puts(b, "\n"), put_text(b, s.node_name);
    sb_puts(b, "</title></rect>\n");
  }
}

static void put_picture(const castnet *m, StrBuf *b) {
  const uint64_t peak = castnet_get_memory(m).workspace;
  const size_t steps = castnet_n_plan_steps(m);
  if (!castnet_get_memory(m).lower_bound || !peak || !steps) {
    sb_puts(b, "<p>Offsets are known at run time only: fix the dimensions with --dim for a picture.</p>\n");
    return;
  }
  sb_printf(b, "<svg viewBox=\"0 0 %d %d\" xmlns=\"http://www.w3.org/2000/svg\">\n", LEFT + WIDTH + 10, TOP + HEIGHT + 30);
  put_axes(m, b, peak, steps);
  for (size_t i = 0; i < castnet_n_buffers(m); i++) put_buffer(m, b, i, (double)peak, (double)steps);
  sb_puts(b, "</svg>\n");
}

static void put_steps(const castnet *m, StrBuf *b) {
  sb_puts(b, "<table><tr><th>step</th><th>operators</th><th>how</th><th>node</th><th>MACs</th><th>bytes</th></tr>\n");
  for (size_t i = 0; i < castnet_n_steps(m); i++) {
    const castnet_step s = castnet_get_step(m, i);
    sb_puts(b, "<tr><td>");
    put_string(b, s.function);
    sb_puts(b, "</td><td>");
    put_text(b, s.ops);
    sb_puts(b, "</td><td>");
    put_text(b, s.how);
    sb_puts(b, "</td><td>");
    put_text(b, s.node_name);
    sb_puts(b, "</td>");
    const int64_t v[] = {s.macs, s.bytes};
    for (int k = 0; k < 2; k++) {
      if (v[k] >= 0) sb_printf(b, "<td class=\"n\">%" PRId64 "</td>", v[k]);
      else sb_puts(b, "<td class=\"n\">?</td>");
    }
    sb_puts(b, "</tr>\n");
  }
  sb_puts(b, "</table>\n");
}

void inspect_print_html(const Inspection *n, StrBuf *b) {
  StrBuf text = sb_new(b->arena);
  inspect_print(n, &text);
  char *end = text.data ? strstr(text.data, "\n\nstep ") : NULL; /* the head; the tables follow as tables */
  if (end) *end = 0;
  sb_puts(b, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
  put_string(b, n->model);
  sb_puts(b, "</title>\n<style>body{font:14px sans-serif;max-width:1320px;margin:2em auto;padding:0 1em}svg{width:100%}"
             "rect{stroke:#333;stroke-width:.4}rect.s{fill:#ddd}line{stroke:#ccc}text{font-size:11px}"
             "td,th{padding:2px 10px;text-align:left}.n{text-align:right;font-variant-numeric:tabular-nums}</style></head>\n<body><pre>");
  for (const char *line = text.data; line && *line;) {
    const size_t len = strcspn(line, "\n");
    put_text(b, (castnet_slice){line, len});
    sb_putc(b, '\n');
    line += len + (line[len] == '\n');
  }
  sb_puts(b, "</pre>\n");
  put_picture(n->compiled, b);
  put_steps(n->compiled, b);
  sb_puts(b, "</body></html>\n");
}
