/* Conversion of values between the two conventions: by a table where possible. */
#include "error.h"
#include "runtime.h"

static int no_such(const char *direction, int code) {
  return tn__legacy_raise("TypeError", "a value of code %d cannot be passed to %s", code, direction);
}

/* A view of an object; a null handle is None. */
static TVMFFIAny view_of(TVMFFIObject *object) {
  if (object == NULL) return (TVMFFIAny){.type_index = kTVMFFINone};
  return (TVMFFIAny){.type_index = object->type_index, .v_obj = object};
}

int tn__legacy_to_ffi(const TVMValue *value, int code, TVMFFIAny *out) {
  static const int8_t same[] = {
      [kTVMArgInt] = kTVMFFIInt,                         [kTVMArgBool] = kTVMFFIBool,
      [kTVMArgFloat] = kTVMFFIFloat,                     [kTVMOpaqueHandle] = kTVMFFIOpaquePtr,
      [kTVMDLTensorHandle] = kTVMFFIDLTensorPtr,         [kTVMStr] = kTVMFFIRawStr,
      [kTVMBytes] = kTVMFFIByteArrayPtr,                 [kTVMObjectRValueRefArg] = kTVMFFIObjectRValueRef,
  };
  *out = (TVMFFIAny){.type_index = kTVMFFINone};
  switch (code) {
    case kTVMNullptr:
      return 0;
    case kTVMDataType:
      out->type_index = kTVMFFIDataType;
      out->v_dtype = value->v_type;
      return 0;
    case kDLDevice:
      out->type_index = kTVMFFIDevice;
      out->v_device = value->v_device;
      return 0;
    case kTVMObjectHandle:
    case kTVMModuleHandle:
    case kTVMPackedFuncHandle:
      *out = view_of(value->v_handle);
      return 0;
    case kTVMNDArrayHandle:
      *out = view_of(value->v_handle == NULL ? NULL : tn__object_of_array(value->v_handle));
      return 0;
    default:
      if (code < 0 || code >= (int)sizeof same || same[code] == 0) return no_such("tvm-ffi", code);
      *out = (TVMFFIAny){.type_index = same[code], .v_int64 = value->v_int64};
      return 0;
  }
}

static int give_bytes(TVMFFIByteArray span, TVMValue *out, int *code, TVMByteArray *bytes) {
  *bytes = (TVMByteArray){span.data, span.size};
  out->v_handle = bytes;
  *code = kTVMBytes;
  return 0;
}

int tn__ffi_to_legacy(const TVMFFIAny *value, TVMValue *out, int *code, TVMByteArray *bytes) {
  static const int8_t same[] = {
      [kTVMFFINone] = kTVMNullptr,                       [kTVMFFIInt] = kTVMArgInt,
      [kTVMFFIBool] = kTVMArgBool,                       [kTVMFFIFloat] = kTVMArgFloat,
      [kTVMFFIOpaquePtr] = kTVMOpaqueHandle,             [kTVMFFIDataType] = kTVMDataType,
      [kTVMFFIDevice] = kDLDevice,                       [kTVMFFIDLTensorPtr] = kTVMDLTensorHandle,
      [kTVMFFIRawStr] = kTVMStr,                         [kTVMFFIByteArrayPtr] = kTVMBytes,
      [kTVMFFIObjectRValueRef] = kTVMObjectRValueRefArg, [kTVMFFISmallStr] = kTVMStr,
      [kTVMFFIStr] = kTVMStr,                            [kTVMFFITensor] = kTVMNDArrayHandle,
      [kTVMFFIFunction] = kTVMPackedFuncHandle,          [kTVMFFIModule] = kTVMModuleHandle,
  };
  const int32_t type = value->type_index;
  *out = (TVMValue){.v_int64 = value->v_int64};
  *code = type >= 0 && type < (int)sizeof same ? same[type] : 0;
  if (*code == 0 && type >= kTVMFFIStaticObjectBegin) *code = kTVMObjectHandle;
  switch (type) {
    case kTVMFFISmallStr:
      out->v_str = value->v_bytes;
      return 0;
    case kTVMFFISmallBytes:
      return give_bytes((TVMFFIByteArray){value->v_bytes, value->small_str_len}, out, code, bytes);
    case kTVMFFIStr:
      out->v_str = TVMFFIBytesGetByteArrayPtr(value->v_obj)->data;
      return 0;
    case kTVMFFIBytes:
      return give_bytes(*TVMFFIBytesGetByteArrayPtr(value->v_obj), out, code, bytes);
    case kTVMFFITensor:
      out->v_handle = TVMFFITensorGetDLTensorPtr(value->v_obj);
      return 0;
    default:
      return *code == 0 && type != kTVMFFIInt ? no_such("a kernel of TVM to 0.20", type) : 0;
  }
}
