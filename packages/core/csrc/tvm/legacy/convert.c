/* Values of one convention as values of the other: a table, and what needs more. */
#include <stdio.h>

#include "convert.h"

int tn__legacy_raise(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static int no_such(const char *direction, int code) {
  char message[96];
  snprintf(message, sizeof message, "a value of code %d can't be passed to %s", code, direction);
  return tn__legacy_raise("TypeError", message);
}

int tn__legacy_to_ffi(const TVMValue *value, int code, TVMFFIAny *out) {
  static const int8_t same[] = {
      [kTVMArgInt] = kTVMFFIInt,           [kTVMArgFloat] = kTVMFFIFloat,
      [kTVMOpaqueHandle] = kTVMFFIOpaquePtr, [kTVMDLTensorHandle] = kTVMFFIDLTensorPtr,
      [kTVMNDArrayHandle] = kTVMFFIDLTensorPtr, [kTVMPackedFuncHandle] = kTVMFFIFunction,
      [kTVMModuleHandle] = kTVMFFIModule,  [kTVMStr] = kTVMFFIRawStr,
      [kTVMBytes] = kTVMFFIByteArrayPtr,   [kTVMArgBool] = kTVMFFIBool,
      [kTVMObjectRValueRefArg] = kTVMFFIObjectRValueRef,
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
      *out = (TVMFFIAny){.type_index = ((TVMFFIObject *)value->v_handle)->type_index, .v_obj = value->v_handle};
      return 0;
    default:
      if (code < 0 || code >= (int)sizeof same || same[code] == 0) return no_such("tvm-ffi", code);
      *out = (TVMFFIAny){.type_index = same[code], .v_int64 = value->v_int64};
      return 0;
  }
}

int tn__ffi_to_legacy(const TVMFFIAny *value, TVMValue *out, int *code, TVMByteArray *bytes) {
  static const int8_t same[] = {
      [kTVMFFIInt] = kTVMArgInt,         [kTVMFFIBool] = kTVMArgBool,          [kTVMFFIFloat] = kTVMArgFloat,
      [kTVMFFIOpaquePtr] = kTVMOpaqueHandle, [kTVMFFIDLTensorPtr] = kTVMDLTensorHandle, [kTVMFFIRawStr] = kTVMStr,
      [kTVMFFIByteArrayPtr] = kTVMBytes, [kTVMFFIObjectRValueRef] = kTVMObjectRValueRefArg,
  };
  *out = (TVMValue){.v_int64 = value->v_int64};
  switch (value->type_index) {
    case kTVMFFINone:
      *code = kTVMNullptr;
      return 0;
    case kTVMFFIDataType:
      *code = kTVMDataType;
      return 0;
    case kTVMFFIDevice:
      *code = kDLDevice;
      return 0;
    case kTVMFFISmallStr:
      out->v_str = value->v_bytes;
      *code = kTVMStr;
      return 0;
    case kTVMFFISmallBytes:
      *bytes = (TVMByteArray){value->v_bytes, value->small_str_len};
      out->v_handle = bytes;
      *code = kTVMBytes;
      return 0;
    case kTVMFFIStr:
      out->v_str = ((const TVMFFIByteArray *)(const void *)(value->v_obj + 1))->data;
      *code = kTVMStr;
      return 0;
    case kTVMFFIBytes: /* the cell of bytes has the layout of a TVMByteArray */
      out->v_handle = value->v_obj + 1;
      *code = kTVMBytes;
      return 0;
    case kTVMFFITensor:
      out->v_handle = value->v_obj + 1;
      *code = kTVMDLTensorHandle;
      return 0;
    case kTVMFFIFunction:
      *code = kTVMPackedFuncHandle;
      return 0;
    case kTVMFFIModule:
      *code = kTVMModuleHandle;
      return 0;
    default:
      if (value->type_index >= kTVMFFIStaticObjectBegin) {
        *code = kTVMObjectHandle;
        return 0;
      }
      if (value->type_index < 0 || value->type_index >= (int)sizeof same) return no_such("a kernel of TVM to 0.20", value->type_index);
      *code = same[value->type_index];
      return 0;
  }
}
