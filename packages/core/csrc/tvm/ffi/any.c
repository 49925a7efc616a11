/* Tagged values: making, copying and clearing them. */
#include "internal.h"

TVMFFIAny tn__none(void) { return (TVMFFIAny){.type_index = kTVMFFINone}; }

TVMFFIAny tn__int(int64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = value}; }

TVMFFIAny tn__bool(bool value) { return (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = value}; }

TVMFFIAny tn__object(void *object) {
  if (object == NULL) return tn__none();
  return (TVMFFIAny){.type_index = ((TVMFFIObject *)object)->type_index, .v_obj = object};
}

TVMFFIAny tn__copy(const TVMFFIAny *value) {
  if (tn__is_object(value)) tn__retain(value->v_obj);
  return *value;
}

void tn__clear(TVMFFIAny *value) {
  TVMFFIAny old = *value;
  *value = tn__none();
  if (tn__is_object(&old)) tn__release(old.v_obj);
}

int TVMFFIAnyViewToOwnedAny(const TVMFFIAny *view, TVMFFIAny *out) {
  switch (view->type_index) {
    case kTVMFFIRawStr:
      return tn__text(view->v_c_str, strlen(view->v_c_str), out);
    case kTVMFFIByteArrayPtr:
      return TVMFFIBytesFromByteArray(view->v_ptr, out);
    case kTVMFFIDLTensorPtr:
      return tn__raise("RuntimeError", "Cannot hold a DLTensor* in Any: it is only lent to the call");
    case kTVMFFIObjectRValueRef: {
      TVMFFIObject **slot = view->v_ptr;
      if (*slot == NULL) return tn__raise("InternalError", "RValueRef already moved");
      TVMFFIObject *object = *slot;
      *slot = NULL;
      *out = tn__object(object);
      return 0;
    }
    default:
      *out = tn__copy(view);
      return 0;
  }
}
