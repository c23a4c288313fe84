/* Attributes: `key=value`, by the table of fields. */
#include "ir/parse_priv.h"

/* ---- lists ---- */
typedef bool (*ItemFn)(Parse *p, const Node *n, void *item);

static bool parse_list(Parse *p, const Node *n, const char *open, const char *comma, const char *close, size_t size, ItemFn f, void **ret, size_t *ret_n) {
  size_t cap = 0;
  char *data = NULL;
  *ret_n = 0;
  if (!parse_want(p, open)) return false;
  while (!parse_is(p, close)) {
    if (*ret_n && !parse_want(p, comma)) return false;
    if (*ret_n == cap) data = vec_grow(p->a, data, &cap, size);
    if (!f(p, n, data + *ret_n * size)) return false;
    ++*ret_n;
  }
  *ret = data ? data : arena_alloc(p->a, size);
  return true;
}

static bool item_dim(Parse *p, const Node *n, void *item) {
  (void)n;
  const Dim *d = NULL;
  if (!parse_is(p, "?") && !parse_dim(p, &d)) return false;
  memcpy(item, &d, sizeof d);
  return true;
}

static bool item_int(Parse *p, const Node *n, void *item) {
  (void)n;
  return parse_int(p, item);
}

static bool item_label(Parse *p, const Node *n, void *item) {
  (void)n;
  uint64_t v;
  if (!parse_uint(p, UINT8_MAX, &v)) return false;
  *(uint8_t *)item = (uint8_t)v;
  return true;
}

static bool item_float(Parse *p, const Node *n, void *item) {
  (void)n;
  return parse_f32(p, item);
}

static bool item_string(Parse *p, const Node *n, void *item) {
  (void)n;
  return parse_string(p, item);
}

static bool item_act(Parse *p, const Node *n, void *item) {
  (void)n;
  RecurrentAct *act = item;
  const Str w = parse_word(p);
  int kind = 0;
  while (kind < ACT_KINDS && !str_is(w, act_names[kind])) kind++;
  if (kind == ACT_KINDS) return parse_fail(p, "an unknown activation");
  act->kind = (ActKind)kind;
  return parse_want(p, "(") && parse_f32(p, &act->alpha) && parse_want(p, ",") && parse_f32(p, &act->beta) && parse_want(p, ")");
}

/* ---- indices ---- */
static bool parse_affine(Parse *p, const Node *n, Affine *ret) {
  const uint32_t rank = attr_coordinates(n);
  DimCtx *c = p->ir->dims;
  const Dim **coef = NEW_ARRAY(p->a, const Dim *, rank + 1);
  ret->offset = c->zero;
  ret->coef = coef;
  do {
    const Dim *d = c->one;
    if (parse_is(p, "(")) {
      if (!parse_dim(p, &d) || !parse_want(p, ")")) return false;
      if (!parse_is(p, "*")) {
        ret->offset = dim_add(c, ret->offset, d);
        continue;
      }
    }
    uint64_t k;
    if (!parse_want(p, "o") || !parse_uint(p, UINT32_MAX, &k)) return false;
    if (k >= rank) return parse_fail(p, "a coordinate that is not there");
    coef[k] = coef[k] ? dim_add(c, coef[k], d) : d;
  } while (parse_is(p, "+"));
  return true;
}

static bool item_affine(Parse *p, const Node *n, void *item) { return parse_affine(p, n, item); }

static bool item_axis(Parse *p, const Node *n, void *item) {
  GatherAxis *g = item;
  uint64_t k;
  size_t count;
  void *place;
  *g = (GatherAxis){.inside = parse_is(p, "inside")};
  if (!parse_is(p, "in")) return parse_affine(p, n, &g->affine);
  g->indirect = true;
  if (!parse_uint(p, UINT32_MAX, &k) || !parse_list(p, n, "[", ",", "]", sizeof(Affine), item_affine, &place, &count)) return false;
  if (k >= n->n_in || !n->in[k] || n->in[k]->type.rank != count) return parse_fail(p, "the index operand's rank differs");
  g->operand = (uint32_t)k;
  g->place = place;
  return true;
}

/* ---- extern ---- */
static bool item_value(Parse *p, const Node *n, void *item) {
  ExternAttrValue *v = item;
  void *list;
  v->name = parse_word(p);
  v->n = 1;
  if (!parse_want(p, ":")) return false;
  const Str kind = parse_word(p);
  if (str_is(kind, "i")) return v->kind = EXTERN_INT, parse_int(p, &v->i);
  if (str_is(kind, "f")) return v->kind = EXTERN_FLOAT, parse_f32(p, &v->f);
  if (str_is(kind, "s")) return v->kind = EXTERN_STRING, parse_string(p, &v->s);
  const bool ints = str_is(kind, "is"), floats = str_is(kind, "fs");
  if (!ints && !floats && !str_is(kind, "ss")) return parse_fail(p, "expected i, f, s, is, fs or ss");
  v->kind = ints ? EXTERN_INTS : floats ? EXTERN_FLOATS : EXTERN_STRINGS;
  const size_t size = ints ? sizeof(int64_t) : floats ? sizeof(float) : sizeof(Str);
  if (!parse_list(p, n, "[", ",", "]", size, ints ? item_int : floats ? item_float : item_string, &list, &v->n)) return false;
  v->ints = list; /* whichever: one pointer */
  return true;
}

static bool parse_values(Parse *p, const Node *n, ExternAttr *ret) {
  void *list;
  if (!parse_list(p, n, "{", ";", "}", sizeof(ExternAttrValue), item_value, &list, &ret->n_attrs)) return false;
  ret->attrs = list;
  return true;
}

/* ---- fields ---- */
static bool parse_enum(Parse *p, const char *names, int *ret) {
  const Str w = parse_word(p);
  int at = 0;
  for (const char *name = names; *name; at++) {
    const size_t len = strcspn(name, " ");
    if (str_eq(w, (Str){name, len})) return *ret = at, true;
    name += len + (name[len] == ' ');
  }
  return parse_fail(p, arena_printf(p->a, "expected one of: %s", names).ptr);
}

static bool parse_array(Parse *p, Node *n, const AttrField *f, void *at) {
  static const struct { ItemFn item; size_t size; } kinds[] = {
      [ATTR_DIMS] = {item_dim, sizeof(const Dim *)}, [ATTR_INTS] = {item_int, sizeof(int64_t)}, [ATTR_LABELS] = {item_label, 1},
      [ATTR_ACTS] = {item_act, sizeof(RecurrentAct)}, [ATTR_AFFINES] = {item_affine, sizeof(Affine)}, [ATTR_AXES] = {item_axis, sizeof(GatherAxis)}};
  void *list;
  size_t count, want = 0;
  if (parse_is(p, "none")) return true;
  if (!parse_list(p, n, "[", ",", "]", kinds[f->kind].size, kinds[f->kind].item, &list, &count)) return false;
  const bool of_axes = f->kind == ATTR_AFFINES || f->kind == ATTR_AXES;
  if (of_axes ? (want = n->n_in && n->in[0] ? n->in[0]->type.rank : 0, false) : !attr_count(n, f, &want)) return parse_fail(p, "a list where the node has none");
  if (count != want) return parse_fail(p, arena_printf(p->a, "expected %zu elements, there are %zu", want, count).ptr);
  memcpy(at, &list, sizeof list);
  return true;
}

static bool parse_field(Parse *p, Node *n, const AttrField *f) {
  void *at = (char *)(uintptr_t)n->attr + f->at;
  uint64_t u = 0;
  switch (f->kind) {
    case ATTR_U8: return parse_uint(p, UINT8_MAX, &u) && (*(uint8_t *)at = (uint8_t)u, true);
    case ATTR_BOOL: return parse_uint(p, 1, &u) && (*(bool *)at = u != 0, true);
    case ATTR_U32:
    case ATTR_MASK: return parse_uint(p, UINT32_MAX, &u) && (*(uint32_t *)at = (uint32_t)u, true);
    case ATTR_I64: return parse_int(p, at);
    case ATTR_F32: return parse_f32(p, at);
    case ATTR_ENUM: return parse_enum(p, f->names, at);
    case ATTR_DTYPE: return (*(DType *)at = dtype_from_name(parse_word(p))) != DT_NONE || parse_fail(p, "expected an element type");
    case ATTR_FN: return (*(ScalarFn *)at = scalar_from_name(parse_word(p))) != SC_COUNT || parse_fail(p, "an unknown function");
    case ATTR_STR: return parse_string(p, at);
    case ATTR_DIM: return parse_dim(p, at);
    case ATTR_EXPR: return parse_expr(p, n->in, n->n_in, at);
    case ATTR_VALUES: return parse_values(p, n, at == NULL ? NULL : (ExternAttr *)(uintptr_t)n->attr);
    default: return parse_array(p, n, f, at);
  }
}

static const AttrField *find_field(Op op, Str name) {
  for (size_t i = 0; i < n_attr_fields; i++)
    if (attr_fields[i].op == op && str_is(name, attr_fields[i].name)) return &attr_fields[i];
  return NULL;
}

/* `slices.in`, of a struct */
static Str parse_field_name(Parse *p) {
  Str name = parse_word(p);
  if (!parse_is(p, ".")) return name;
  const Str member = parse_word(p);
  return (Str){name.ptr, (size_t)(member.ptr - name.ptr) + member.len};
}

bool parse_attrs(Parse *p, Node *n) {
  for (;;) {
    parse_blank(p);
    if (!p->s.len || *p->s.ptr == '\n' || *p->s.ptr == '#' || *p->s.ptr == '{') return true;
    const AttrField *f = find_field(n->op, parse_field_name(p));
    if (!f) return parse_fail(p, "an attribute that the operator does not have");
    if (!parse_want(p, "=") || !parse_field(p, n, f)) return false;
  }
}
