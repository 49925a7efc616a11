/* The host of TensorFlow's C API, libtenon_tensorflow, which is loaded for libraries that need it. */
#ifndef TENON_HOST_TENSORFLOW_RUNTIME_H
#define TENON_HOST_TENSORFLOW_RUNTIME_H

#include <stdbool.h>

#include "tenon_tensorflow.h"

/* Its functions. All are null until it is loaded. */
typedef struct {
  __typeof__(&tn_tf_initialize) initialize;
  __typeof__(&tn_tf_list) list;
  __typeof__(&tn_tf_create) create;
  __typeof__(&tn_tf_delete) delete;
  __typeof__(&tn_tf_run) run;
  __typeof__(&tn_tf_end_exception) end_exception;
  __typeof__(&tn_tf_shape) shape;
  __typeof__(&tn_tf_take) take;
  __typeof__(&tn_tf_failure) failure;
} tn__tensorflow_t;

extern tn__tensorflow_t tn__tensorflow;

/* Whether the loader has refused a library because it lacks TensorFlow's C API. */
bool tn__tensorflow_is_missing(const char *reason);

/* Loads the host so that libraries that are opened later find its symbols. */
int32_t tn__tensorflow_load(void);

#endif
