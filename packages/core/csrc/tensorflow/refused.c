/* Functions of the C API that Tenon does not support. A library that imports them loads, because all of its symbols are bound. Each sets its
 * status, whose place among the parameters is in the table, and returns 0. All parameters are integers or pointers. */
#include <stdio.h>

#include "internal.h"

#define REFUSED_TEXT " is not supported: Tenon has no resources, devices, graphs or sessions of TensorFlow"

/* The numbers of parameters before the status. */
#define BEFORE_1 void *p1
#define BEFORE_2 BEFORE_1, void *p2
#define BEFORE_3 BEFORE_2, void *p3
#define BEFORE_4 BEFORE_3, void *p4
#define BEFORE_5 BEFORE_4, void *p5
#define BEFORE_6 BEFORE_5, void *p6
#define BEFORE_7 BEFORE_6, void *p7
#define UNUSED_1 (void)p1
#define UNUSED_2 UNUSED_1, (void)p2
#define UNUSED_3 UNUSED_2, (void)p3
#define UNUSED_4 UNUSED_3, (void)p4
#define UNUSED_5 UNUSED_4, (void)p5
#define UNUSED_6 UNUSED_5, (void)p6
#define UNUSED_7 UNUSED_6, (void)p7

#define REFUSED(name, before)                                                         \
  TF_CAPI_EXPORT void *name(BEFORE_##before, TF_Status *status);                      \
  void *name(BEFORE_##before, TF_Status *status) {                                    \
    return UNUSED_##before, TF_SetStatus(status, TF_UNIMPLEMENTED, #name REFUSED_TEXT), NULL; \
  }
/* Functions without a status. */
#define REFUSED_SILENTLY(name)     \
  TF_CAPI_EXPORT void *name(void); \
  void *name(void) { return NULL; }

#include "refused.def"

/* It has no status, and returns a struct. */
typedef struct {
  void *members[4];
} rendezvous_t;
TF_CAPI_EXPORT rendezvous_t TF_GetRendezvous(TF_OpKernelContext *context);
rendezvous_t TF_GetRendezvous(TF_OpKernelContext *context) { return (void)context, (rendezvous_t){{NULL}}; }
