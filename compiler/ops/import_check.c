/* A node against its row: how many operands, of which types, which attributes. */
#include "ops/import_private.h"

typedef struct TypeSet {
  const char *name;
  uint32_t bits; /* of DType */
} TypeSet;
#define BIT(t) (1u << ((t) - 1)) /* of a DType but DT_NONE */
#define T(t) BIT(DT_##t)
enum {
  SINT = T(s8) | T(s16) | T(s32) | T(s64),
  UINT = T(u8) | T(u16) | T(u32) | T(u64),
  FLOAT = T(f16) | T(bf16) | T(f32) | T(f64),
  TENSORS = BIT(DT_COUNT) - 1, /* of any type */
  MAPS = 1u << 28, SEQUENCES = 1u << 29, OPTIONALS = 1u << 30, /* of tensors of any type */
  F8 = T(f8e4m3fn) | T(f8e4m3fnuz) | T(f8e5m2) | T(f8e5m2fnuz) | T(f8e8m0),
  F6 = T(f6e2m3) | T(f6e3m2)
};
_Static_assert(DT_COUNT - 1 <= 28, "element types have a bit each below those of maps, sequences and optionals");
static const TypeSet type_sets[] = {
    {"float", FLOAT}, {"sint", SINT}, {"uint", UINT}, {"int", SINT | UINT}, {"num", FLOAT | SINT | UINT}, {"f8", F8}, {"f6", F6},
    {"int4", T(u4) | T(s4) | T(u2) | T(s2)}, {"bool", T(b1)}, {"complex", T(c64) | T(c128)}, {"all", TENSORS},
    {"seq", SEQUENCES}, {"opt", OPTIONALS}, {"map", MAPS},
};

static Str next_word(Str *s, const char *stops) {
  while (s->len && *s->ptr == ' ') s->ptr++, s->len--;
  Str w = {s->ptr, 0};
  while (s->len && !strchr(stops, *s->ptr)) s->ptr++, s->len--, w.len++;
  return w;
}

/* The set that `types` gives a variable: tensors of all types when it is not named. */
static uint32_t variable_set(const char *types, Str variable) {
  Str s = str_c(types);
  while (s.len) {
    Str entry = next_word(&s, " ");
    Str name = next_word(&entry, ":");
    if (!str_eq(name, variable) || !entry.len) continue;
    uint32_t bits = 0;
    while (entry.len) {
      entry.ptr++, entry.len--; /* the colon or comma */
      Str item = next_word(&entry, ",");
      for (size_t i = 0; i < sizeof type_sets / sizeof *type_sets; i++)
        if (str_is(item, type_sets[i].name)) bits |= type_sets[i].bits;
      DType t = dtype_from_name(item);
      if (t != DT_NONE) bits |= BIT(t);
    }
    return bits;
  }
  return TENSORS;
}

/* Sequences and optionals are no tensors, but where a row says so. */
static bool check_kind(OpContext *c, size_t k, uint32_t set) {
  const SeqType *s = c->in[k]->type.seq;
  const MapType *m = c->in[k]->type.map;
  if (m && (set & MAPS)) return true;
  if (m) return op_fail(c, DIAG_E0401, "input %zu is %s, which %s does not take there", k, m->sequence ? "a sequence of maps" : "a map", c->row->type);
  if (s && (set & (s->form == SEQ_SEQUENCE ? SEQUENCES : OPTIONALS))) return true;
  if (s) return op_fail(c, DIAG_E0401, "input %zu is %s, which %s does not take there", k, s->form == SEQ_SEQUENCE ? "a sequence" : "an optional", c->row->type);
  if (set & TENSORS) return true;
  return op_fail(c, DIAG_E0401, "input %zu is a tensor, not %s", k, set & MAPS ? "a map" : set & SEQUENCES ? "a sequence" : "an optional");
}

typedef struct Slot { /* one word of a signature */
  Str variable;
  char mark; /* 0, '?', '*', '+' */
} Slot;

static size_t parse_slots(Str side, Slot *ret, size_t max) {
  size_t n = 0;
  while (side.len && n < max) {
    Str w = next_word(&side, " ");
    if (!w.len) break;
    char last = w.ptr[w.len - 1];
    bool marked = last == '?' || last == '*' || last == '+';
    ret[n++] = (Slot){{w.ptr, w.len - marked}, marked ? last : '\0'};
  }
  return n;
}

enum { MAX_SLOTS = 24 };

static bool count_ok(const Slot *s, size_t n_slots, size_t n) {
  size_t least = 0, most = n_slots;
  for (size_t i = 0; i < n_slots; i++) {
    if (s[i].mark == 0 || s[i].mark == '+') least = i + 1;
    if (s[i].mark == '*' || s[i].mark == '+') most = SIZE_MAX;
  }
  return n >= least && n <= most;
}

typedef struct Bound { Str variable; DType type; } Bound;

static bool check_types(OpContext *c, const Slot *slots, size_t n_slots) {
  Bound bound[MAX_SLOTS];
  size_t n_bound = 0;
  bool ok = true;
  for (size_t k = 0; k < c->n_in; k++) {
    const Slot *s = &slots[k < n_slots ? k : n_slots - 1];
    const bool variadic = s->mark == '*' || s->mark == '+', lower = s->variable.ptr[0] >= 'a' && s->variable.ptr[0] <= 'z';
    if (!c->in[k] && variadic && !lower) ok = op_fail(c, DIAG_E0305, "input %zu is left out, and it is required", k);
    if (!c->in[k]) continue;
    const uint32_t set = variable_set(c->row->types, s->variable);
    const bool kind_ok = check_kind(c, k, set);
    ok = ok && kind_ok;
    if (!kind_ok || c->in[k]->type.seq || c->in[k]->type.map) continue;
    DType t = c->in[k]->type.dtype;
    if (!(set & BIT(t))) ok = op_fail(c, DIAG_E0401, "input %zu has element type %s, which %s does not take", k, dtype_name(t), c->row->type);
    if (s->variable.ptr[0] >= 'a' && s->variable.ptr[0] <= 'z') continue;
    size_t i = 0;
    while (i < n_bound && !str_eq(bound[i].variable, s->variable)) i++;
    if (i == n_bound && n_bound < MAX_SLOTS) bound[n_bound++] = (Bound){s->variable, t};
    else if (bound[i].type != t) ok = op_fail(c, DIAG_E0401, "input %zu has element type %s, an earlier one of the same type parameter has %s", k, dtype_name(t), dtype_name(bound[i].type));
  }
  return ok;
}

static size_t output_slots(const OpContext *c, Slot *ret) { return parse_slots(str_c(strstr(c->row->signature, "->") + 2), ret, MAX_SLOTS); }

static bool check_operands(OpContext *c) {
  Slot in[MAX_SLOTS], out[MAX_SLOTS];
  const Str left = {c->row->signature, (size_t)(strstr(c->row->signature, "->") - c->row->signature)};
  size_t n_in = parse_slots(left, in, MAX_SLOTS), n_out = output_slots(c, out);
  if (!count_ok(in, n_in, c->n_in)) return op_fail(c, DIAG_E0305, "%zu inputs", c->n_in);
  if (!count_ok(out, n_out, c->n_out)) return op_fail(c, DIAG_E0305, "%zu outputs", c->n_out);
  for (size_t k = 0; k < n_in; k++)
    if (in[k].mark == 0 && !c->in[k]) return op_fail(c, DIAG_E0305, "input %zu is left out, and it is required", k);
  return check_types(c, in, n_in);
}

/* ---- attributes ---- */
static char attr_letter(const OnnxAttr *a) {
  static const char letters[] = {0, 'f', 'i', 's', 't', 'g', 'F', 'I', 'S', 'T', 'G', 'p', 'P', 'p', 'p'};
  if (a->type == 11) return 'p'; /* SPARSE_TENSOR */
  return a->type > 0 && a->type < (int)sizeof letters ? letters[a->type] : 0;
}

/* The row's entry for an attribute: its letter, or 0. */
static char attr_spec(const OnnxOpRow *row, Str name) {
  Str s = str_c(row->attrs);
  while (s.len) {
    Str entry = next_word(&s, " ");
    if (entry.len && *entry.ptr == '!') entry.ptr++, entry.len--;
    if (name.len && entry.len > name.len + 1 && memcmp(entry.ptr, name.ptr, name.len) == 0 && entry.ptr[name.len] == ':') return entry.ptr[name.len + 1];
    if (!entry.len) break;
  }
  return 0;
}

static bool check_attrs(OpContext *c) {
  bool ok = true;
  for (size_t i = 0; i < c->n_attrs; i++) {
    const OnnxAttr *a = &c->attrs[i];
    char want = attr_spec(c->row, a->name), got = attr_letter(a);
    if (!want) ok = op_fail(c, DIAG_E0304, "unknown attribute %s", diag_quote(c->b.ir->diags, a->name));
    else if (want != got) ok = op_fail(c, DIAG_E0304, "attribute %s is of the wrong type", diag_quote(c->b.ir->diags, a->name));
    for (size_t j = 0; j < i; j++)
      if (str_eq(c->attrs[j].name, a->name)) ok = op_fail(c, DIAG_E0304, "attribute %s is given twice", diag_quote(c->b.ir->diags, a->name));
  }
  Str s = str_c(c->row->attrs);
  while (s.len) {
    Str entry = next_word(&s, " ");
    if (!entry.len) break;
    if (*entry.ptr != '!') continue;
    Str name = {entry.ptr + 1, entry.len - 3};
    char text[64];
    memcpy(text, name.ptr, name.len);
    text[name.len] = 0;
    if (!op_has_attr(c, text)) ok = op_fail(c, DIAG_E0304, "attribute \"%s\" is required", text);
  }
  return ok;
}

/* Types that attributes choose. */
bool import_check_outputs(OpContext *c) {
  Slot slots[MAX_SLOTS];
  const size_t n = output_slots(c, slots);
  for (size_t k = 0; n && k < c->n_out; k++) {
    const Value *v = c->out[k];
    if (!v || v->type.seq || v->type.map) continue;
    if (!(variable_set(c->row->types, slots[k < n ? k : n - 1].variable) & BIT(v->type.dtype)))
      return op_fail(c, DIAG_E0401, "output %zu has element type %s, which %s does not give", k, dtype_name(v->type.dtype), c->row->type);
  }
  return true;
}

bool import_check(OpContext *c) {
  bool operands = check_operands(c);
  return check_attrs(c) && operands;
}
