/* Calls from JavaScript: the error is taken, and text copied out, within the same native call. */
#include <string.h>

#include "host.h"

/* What a text object holds. */
static TVMFFIByteArray text_of(const TVMFFIAny *value) {
  return *(const TVMFFIByteArray *)(const void *)(value->v_obj + 1);
}

/* Copies the text of a result to JavaScript and gives the object back, if it fits: then the padding is 1 and the value
 * its size in bytes. */
static void hand_over_text(TVMFFIAny *result) {
  TVMFFIByteArray text = text_of(result);
  if (text.size > TN_STACK_OUT_SIZE) return;
  memcpy(tn__out(tn__stack_of(result)), text.data, text.size);
  TVMFFIObject *object = result->v_obj;
  result->zero_padding = 1;
  result->v_uint64 = text.size;
  tn__ffi.TVMFFIObjectDecRef(object);
}

/* Tells in the stack which of the arguments that `mask` names (bit i for argument i) native code holds after a call. */
static void tell_kept(tn_packed_stack_t *stack, const TVMFFIAny *arguments, uint32_t mask) {
  uint32_t kept = 0;
  for (uint32_t i = 0; mask >> i != 0; i++) {
    if ((mask >> i & 1) == 0) continue;
    uint64_t references = __atomic_load_n(&arguments[i].v_obj->combined_ref_count, __ATOMIC_ACQUIRE);
    if ((references & 0xffffffffu) > 1) kept |= 1u << i;
  }
  stack->tensors = kept;
}

int32_t tn_packed_call(void) {
  tn_packed_stack_t *stack = tn__calling_stack();
  int32_t base = (int32_t)(stack->call & ((1u << TN_CALL_SHIFT) - 1));
  int32_t count = (int32_t)((stack->call & ~TN_CALL_MEANT) >> TN_CALL_SHIFT);
  stack->call = 0;
  uint32_t tensors = stack->tensors;
  if (tensors != 0) stack->tensors = 0; /* not for calls within this one */
  TVMFFIAny *frame = tn__slots(stack) + base;
  TVMFFIObjectHandle function = frame->v_ptr;
  /* What is called back takes its frames above this one. */
  int32_t outer = stack->top;
  stack->top = base + count + 1;
  tn__cross(stack);
  *frame = (TVMFFIAny){.type_index = kTVMFFINone};
  int status = tn__ffi.TVMFFIFunctionCall(function, frame + 1, count, frame);
  stack->top = outer;
  tn__cross(stack);
  if (tensors != 0) tell_kept(stack, frame + 1, tensors);
  if (status != 0) return tn__take_error(frame);
  if (frame->type_index == kTVMFFIStr || frame->type_index == kTVMFFIBytes) hand_over_text(frame);
  return frame->type_index;
}

/* The address and size of the text of a value in a slot, into the words. */
TN_API void tn_packed_text(tn_packed_stack_t *stack, const TVMFFIAny *slot) {
  TVMFFIByteArray text;
  if (slot->type_index == kTVMFFIRawStr) {
    text = (TVMFFIByteArray){slot->v_c_str, strlen(slot->v_c_str)};
  } else {
    text = slot->type_index == kTVMFFIByteArrayPtr ? *(const TVMFFIByteArray *)slot->v_ptr : text_of(slot);
  }
  stack->words[0] = (uintptr_t)text.data;
  stack->words[1] = text.size;
}

/* Leaves an owned string, or bytes, in a slot. Returns a status; the slot is to be cleared with tn_packed_clear(). */
TN_API int32_t tn_packed_make_text(TVMFFIAny *slot, const char *data, size_t size, int32_t is_bytes) {
  TVMFFIByteArray text = {data, size};
  int status = is_bytes ? tn__ffi.TVMFFIBytesFromByteArray(&text, slot) : tn__ffi.TVMFFIStringFromByteArray(&text, slot);
  return status == 0 ? TN_OK : TN_OUT_OF_MEMORY;
}

/* Gives back what an owned value in a slot holds. */
TN_API void tn_packed_clear(TVMFFIAny *slot) {
  if (slot->type_index >= kTVMFFIStaticObjectBegin) tn__ffi.TVMFFIObjectDecRef(slot->v_obj);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
}

/* Gives back what owned values hold that don't lie in slots. */
TN_API void tn_packed_clear_owned(TVMFFIAny *owned, size_t count) {
  for (size_t i = 0; i < count; i++) tn_packed_clear(&owned[i]);
}

/* Leaves owned values for the `count` arguments after `slot` at `owned`. 0, or -1 with the error in the slot, and then none. */
TN_API int32_t tn_packed_own(TVMFFIAny *slot, size_t count, TVMFFIAny *owned) {
  for (size_t i = 0; i < count; i++) {
    if (tn__ffi.TVMFFIAnyViewToOwnedAny(&slot[i + 1], &owned[i]) == 0) continue;
    tn_packed_clear_owned(owned, i);
    return tn__take_error(slot);
  }
  return 0;
}

/* Calls a function with more arguments than the stack has room for: owned values, which are given back. As tn_packed_call(), with the
 * result, or the error, in the slot. */
TN_API int32_t tn_packed_call_owned(TVMFFIAny *slot, TVMFFIObjectHandle function, TVMFFIAny *owned, size_t count) {
  tn_packed_stack_t *stack = tn__own_stack();
  tn__cross(stack);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  int status = tn__ffi.TVMFFIFunctionCall(function, owned, (int32_t)count, slot);
  tn__cross(stack);
  tn_packed_clear_owned(owned, count);
  return status == 0 ? slot->type_index : tn__take_error(slot);
}

/* Adds a reference to an object, and gives one back. */
TN_API void tn_packed_retain(TVMFFIObjectHandle object) { tn__ffi.TVMFFIObjectIncRef(object); }
TN_API void tn_packed_release(TVMFFIObjectHandle object) { tn__ffi.TVMFFIObjectDecRef(object); }

/* The key of a type, static, as address and size in the words; false (0) if the index is none of an object's. */
TN_API int32_t tn_packed_type_key(tn_packed_stack_t *stack, int32_t type_index) {
  if (type_index < 0) return 0;
  const TVMFFITypeInfo *info = tn__ffi.TVMFFIGetTypeInfo(type_index);
  stack->words[0] = (uintptr_t)info->type_key.data;
  stack->words[1] = info->type_key.size;
  return 1;
}

/* The global function of a name into a slot: None if there is none. Returns a status. */
TN_API int32_t tn_packed_get_global(TVMFFIAny *slot, const char *name, size_t size) {
  TVMFFIByteArray span = {name, size};
  TVMFFIObjectHandle function = NULL;
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  if (tn__ffi.TVMFFIFunctionGetGlobal(&span, &function) != 0) return tn__take_error(slot);
  if (function != NULL) *slot = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function};
  return 0;
}

/* Registers a global function. 0, or -1 with the error in the slot. */
TN_API int32_t tn_packed_set_global(TVMFFIAny *slot, const char *name, size_t size, TVMFFIObjectHandle function,
                                    int32_t allow_override) {
  TVMFFIByteArray span = {name, size};
  if (tn__ffi.TVMFFIFunctionSetGlobal(&span, function, allow_override) != 0) return tn__take_error(slot);
  return 0;
}

/* Text to element type and back, in the slot: 0, or -1 with the error in it. */
TN_API int32_t tn_packed_dtype_parse(TVMFFIAny *slot, const char *text, size_t size) {
  TVMFFIByteArray span = {text, size};
  DLDataType dtype;
  if (tn__ffi.TVMFFIDataTypeFromString(&span, &dtype) != 0) return tn__take_error(slot);
  *slot = (TVMFFIAny){.type_index = kTVMFFIDataType, .v_uint64 = 0};
  slot->v_dtype = dtype;
  return 0;
}

TN_API int32_t tn_packed_dtype_text(TVMFFIAny *slot) {
  DLDataType dtype = slot->v_dtype;
  if (tn__ffi.TVMFFIDataTypeToString(&dtype, slot) != 0) return tn__take_error(slot);
  if (slot->type_index == kTVMFFIStr) hand_over_text(slot);
  return 0;
}
