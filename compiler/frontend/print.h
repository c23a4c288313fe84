/* Text form of a decoded file, for people: --dump=model. */
#ifndef CASTNET_FRONTEND_PRINT_H
#define CASTNET_FRONTEND_PRINT_H

#include "frontend/model.h"

void onnx_print_model(StrBuf *b, const OnnxModel *m);

#endif
