/* Tagged values: copying, clearing, and turning views into owned values. */
#include "internal.h"

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
      return tn__raise("RuntimeError", "Cannot hold a DLTensor* in Any: it is only borrowed for the call");
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
