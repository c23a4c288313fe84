/* post_transform of ai.onnx.ml: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT over the last axis of scores. */
#ifndef CASTNET_ML_POST_H
#define CASTNET_ML_POST_H

#include "ops/import.h"

typedef enum PostTransform { POST_NONE, POST_LOGISTIC, POST_SOFTMAX, POST_SOFTMAX_ZERO, POST_PROBIT } PostTransform;
bool ml_post_attr(OpContext *c, PostTransform *ret); /* reads attribute post_transform */
Value *ml_post(Builder *b, Value *scores /* [N][C] f32 */, PostTransform post);

#endif
