/* Steps that copy, and where what they move lies on either side: for steps that do without a copy of an operand or of their result. */
#ifndef CASTNET_LOWER_COPIES_H
#define CASTNET_LOWER_COPIES_H

#include "lower/lower_private.h"

enum { COPY_AXES = 5 };

/* Where the elements of a tensor of COPY_AXES axes, or those of one side of a copy, lie in a buffer; all in elements. */
typedef struct CopyLayout {
  uint32_t buffer;
  int64_t offset, stride[COPY_AXES];
} CopyLayout;

typedef struct Copy {
  uint32_t n; /* axes */
  int64_t extent[COPY_AXES];
  CopyLayout from, to;
} Copy;

bool copy_known(const Dim *const *d, uint32_t n, int64_t *ret); /* constants that fit 31 bits */
bool copy_layout(const PTensor *t, CopyLayout *ret);            /* of COPY_AXES axes */
int64_t copy_elements(const int64_t *dims, uint32_t n);
/* Whether a step is a nest that copies f32 elements. */
bool copy_of(const Program *p, const Step *s, Copy *ret);
/* A tensor's layout on the near side of a copy as one on the far side. dims: the tensor's, an axis of one element has any stride. */
bool copy_through(const Copy *c, const CopyLayout *near, const CopyLayout *far, const int64_t *dims, CopyLayout *layout);
/* A tensor as another that lies so. */
uint32_t copy_moved(Lower *l, uint32_t tensor, const CopyLayout *layout);
/* Whether one of the steps that are left reads or writes the buffer. */
bool copy_touches(const Program *p, size_t from, size_t to, uint32_t buffer, const bool *gone);
/* How often the step itself reads the buffer. */
uint32_t copy_own_reads(const Program *p, const Step *s, uint32_t buffer);

#endif
