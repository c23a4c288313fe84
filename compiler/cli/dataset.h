/* Data sets: folders with input_0.pb ... and output_0.pb ..., or .npy files of the same names. */
#ifndef CASTNET_DATASET_H
#define CASTNET_DATASET_H

#include "base/diag.h"
#include "castnet.h"
#include "frontend/model.h"

typedef struct DataSet {
  const char *dir;
  const OnnxValue **inputs;  /* [n_inputs] */
  const OnnxValue **outputs; /* [n_outputs], NULL where nothing was recorded */
} DataSet;

/* Values are matched with the model's by name where the files have names, else by position. False after diagnostics. */
bool dataset_load(Arena *a, Diags *d, const char *dir, const castnet_interface *m, DataSet *ret);
/* The same without outputs, of which there need be none. */
bool dataset_load_inputs(Arena *a, Diags *d, const char *dir, const castnet_interface *m, DataSet *ret);
/* One value from a .pb or .npy file; NULL after a diagnostic. */
const OnnxValue *dataset_load_value(Arena *a, Diags *d, const char *path, const castnet_type *type);
/* Whether the value can be this field's: kind, element type, constant dimensions. False after E0601. */
bool dataset_fits(Diags *d, const char *path, const castnet_field *f, const OnnxValue *v);
/* The folders test_data_set_* beside a model, by number. */
size_t datasets_beside(Arena *a, const char *model, const char *const **ret);

#endif
