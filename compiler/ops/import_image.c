/* ImageDecoder: by a function that the user's build supplies, castnet_decode_image, called as a custom operator is. */
#include "ops/shared.h"

bool import_image_decoder(OpContext *c) {
  Builder *b = &c->b;
  const Str format = op_str(c, "pixel_format", "RGB");
  const bool grey = str_is(format, "Grayscale");
  if (!grey && !str_is(format, "RGB") && !str_is(format, "BGR")) return op_fail(c, DIAG_E0304, "attribute 'pixel_format' is %s", diag_quote(b->ir->diags, format));
  if (!op_rank_in(c, 0, 1, 1)) return false;
  ExternAttrValue *value = NEW(op_arena(c), ExternAttrValue);
  *value = (ExternAttrValue){.name = STR("pixel_format"), .kind = EXTERN_STRING, .n = 1, .s = format};
  const ExternAttr attr = {.symbol = STR("castnet_decode_image"), .custom = true, .random = true, .measured = true, .attrs = value, .n_attrs = 1};
  const Dim *const dims[] = {bd_data_symbol(b, "height", 0, INT32_MAX, NULL), bd_data_symbol(b, "width", 0, INT32_MAX, NULL), bd_const(b, grey ? 1 : 3)};
  const Type type = type_tensor(b->ir, DT_u8, 3, dims);
  return build_extern(b, attr, c->in, 1, &type, 1, c->out);
}
