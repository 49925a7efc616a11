#include "result.h"

#include "error.h"

/* Returns the reason why a value cannot be read, or null. */
static const char *reason_of(const TVMFFIAny *value) {
  if (value->type_index < 0) return "a function returned a value whose type index is negative";
  if (value->type_index < kTVMFFIStaticObjectBegin) return NULL;
  if (value->v_obj == NULL) return "a function returned an object that is null; without an object, the type index must be that of None";
  if (value->v_obj->type_index != value->type_index)
    return "a function returned an object with the type index of another type";
  return NULL;
}

int tn__check_result(TVMFFIAny *result) {
  const char *reason = reason_of(result);
  if (reason == NULL) {
    /* JavaScript finds there whether the text of an object was copied. */
    if (result->type_index >= kTVMFFIStaticObjectBegin) result->zero_padding = 0;
    return 0;
  }
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  return tn__packed_raise("InternalError", reason);
}
