/* The libraries that packed functions need: libtvm_ffi, libtenon_packed and, for kernels of TVM to 0.20, libtvm_runtime. */
#ifndef TENON_HOST_PACKED_RUNTIME_H
#define TENON_HOST_PACKED_RUNTIME_H

#include "tvm/ffi_table.h"

/* Opens and connects the libraries, at the first call. Then tn__ffi is filled. Any status but TN_OK leaves a text for
 * tn__packed_runtime_error(). */
int32_t tn__packed_runtime_load(bool is_legacy);

const char *tn__packed_runtime_error(void);

/* Global functions of tvm-ffi that are called often. */
typedef enum {
  TN__MAKE_ARRAY,
  TN__MAKE_MAP,
  TN__MAKE_SHAPE,
  TN__ARRAY_SIZE,
  TN__ARRAY_ITEM,
  TN__LIST_SIZE,
  TN__LIST_ITEM,
  TN__MAP_SIZE,
  TN__MAP_CURSOR,
  TN__DICT_SIZE,
  TN__DICT_CURSOR,
  TN__LOAD_MODULE,
  TN__LOAD_LEGACY_MODULE,
  TN__MODULE_FUNCTION,
  TN__GLOBALS,
} tn__global_t;

/* Calls a global function with borrowed arguments. 0 and an owned result, or -1 with an error raised. */
int tn__call_global(tn__global_t which, TVMFFIAny *args, int32_t count, TVMFFIAny *result);

/* Raises an error and returns -1. */
int tn__raise_error(const char *kind, const char *message);

/* Releases the object of an owned value, if it has one, and leaves None. */
static inline void tn__drop(TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) tn__ffi.TVMFFIObjectDecRef(value->v_obj);
  *value = (TVMFFIAny){.type_index = kTVMFFINone};
}

static inline void tn__drop_all(TVMFFIAny *values, size_t count) {
  for (size_t i = 0; i < count; i++) tn__drop(&values[i]);
}

#endif
