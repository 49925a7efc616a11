/* Calls from JavaScript. Each takes the error, or copies text out, within the same native call. */
#include <stdlib.h>
#include <string.h>

#include "base/direction_flag.h"
#include "base/read_address.h"
#include "error.h"
#include "guarded.h"
#include "result.h"

/* Copies a text result to JavaScript if it fits, and releases the object. Then the padding is 1, the value its size. Returns whether it
 * fits. */
static bool copy_text_out(TVMFFIAny *result) {
  TVMFFIByteArray text = *TVMFFIBytesGetByteArrayPtr(result->v_obj);
  if (text.size > TN_PACKED_OUT_SIZE) return false;
  memcpy(tn__out(tn__stack_of(result)), text.data, text.size);
  TVMFFIObject *object = result->v_obj;
  result->zero_padding = 1;
  result->v_uint64 = text.size;
  tn__ffi.TVMFFIObjectDecRef(object);
  return true;
}

/* Returns the bits of `mask` (bit i for argument i of the frame) whose tensors native code holds after a call. */
static uint32_t kept_tensors(tn_packed_stack_t *stack, int32_t base, uint32_t mask) {
  TVMFFIObject *const *lent = tn__lent(stack) + base + 1;
  uint32_t kept = 0;
  for (uint32_t i = 0; mask >> i != 0; i++) {
    if ((mask >> i & 1) == 0) continue;
    uint64_t references = __atomic_load_n(&lent[i]->combined_ref_count, __ATOMIC_ACQUIRE);
    if ((references & 0xffffffffu) > 1) kept |= 1u << i;
  }
  return kept;
}

/* Performs the call that the head of a stack selects. Stores the span of the result in `text` if it is a text that JavaScript can read
 * until the next call, and returns its type index. */
static inline int32_t perform(tn_packed_stack_t *stack, TVMFFIByteArray *text) {
  tn_packed_head_t *head = &stack->head;
  int32_t base = (int32_t)(head->call & ((1u << TN_PACKED_CALL_SHIFT) - 1));
  int32_t count = (int32_t)((head->call & ~TN_PACKED_CALL_SELECTED) >> TN_PACKED_CALL_SHIFT);
  head->call = 0;
  TVMFFIAny *frame = tn__slots(stack) + base;
  const uint32_t tensors = head->tensors;
  if (tensors != 0) head->tensors = 0; /* they are not those of nested calls */
  TVMFFIObjectHandle function = tn__read_address(&frame->v_ptr);
  /* The frames of callbacks start above this one. */
  int32_t outer = head->top;
  head->top = base + count + 1;
  *frame = (TVMFFIAny){.type_index = kTVMFFINone};
  const TVMFFIObjectHandle before = tn__error_before(stack);
  int status = tn__ffi.TVMFFIFunctionCall(function, frame + 1, count, frame);
  tn__direction_clear(); /* text is copied below */
  head->top = outer;
  if (tensors != 0) head->tensors = kept_tensors(stack, base, tensors);
  if (status != 0) return tn__take_error(frame);
  tn__drop_left_error(stack, before);
  if (frame->type_index == kTVMFFISmallStr && frame->small_str_len < sizeof frame->v_bytes)
    *text = (TVMFFIByteArray){frame->v_bytes, frame->small_str_len};
  /* Negative numbers are large ones here. */
  if ((uint32_t)frame->type_index < kTVMFFIStaticObjectBegin) return frame->type_index;
  if (tn__check_result(frame) != 0) return tn__take_error(frame);
  const bool is_text = frame->type_index == kTVMFFIStr;
  if ((is_text || frame->type_index == kTVMFFIBytes) && copy_text_out(frame) && is_text)
    *text = (TVMFFIByteArray){tn__out(stack), frame->v_uint64};
  return frame->type_index;
}

int32_t tn_packed_call(tn_call_frame_t *call) {
  TVMFFIByteArray text = {NULL, 0};
  const int32_t type_index = perform(tn__read_address(&call->integers[0]), &text);
  /* At the end, because destructors of objects can make calls, which overwrite the frame. */
  call->results[0] = (uintptr_t)text.data;
  call->results[1] = text.size;
  return type_index;
}

int32_t tn_packed_end_exception(TVMFFIAny *slot, uint32_t tensors, int32_t status) {
  tn_packed_stack_t *stack = tn__stack_of(slot);
  tn_packed_head_t *head = &stack->head;
  head->top = (int32_t)(slot - tn__slots(stack));
  head->tensors = kept_tensors(stack, head->top, tensors);
  /* The result that the function has stored is not valid. */
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  if (status == TN_OK) return -1;
  tn__raise_exception(status);
  return tn__take_error(slot);
}

/* Stores the address and the size of a span in words 0 and 1. */
static void store_span(tn_packed_stack_t *stack, TVMFFIByteArray span) {
  stack->head.words[0] = (uintptr_t)span.data;
  stack->head.words[1] = span.size;
}

void tn_packed_text(tn_packed_stack_t *stack, const TVMFFIAny *slot) {
  if (slot->type_index == kTVMFFIRawStr)
    store_span(stack, (TVMFFIByteArray){slot->v_c_str, strlen(slot->v_c_str)});
  else if (slot->type_index == kTVMFFIByteArrayPtr)
    store_span(stack, *(const TVMFFIByteArray *)slot->v_ptr);
  else
    store_span(stack, *TVMFFIBytesGetByteArrayPtr(slot->v_obj));
}

int32_t tn_packed_make_text(TVMFFIAny *slot, const char *data, size_t size, int32_t is_bytes) {
  TVMFFIByteArray text = {data, size};
  int (*const make)(const TVMFFIByteArray *, TVMFFIAny *) =
      is_bytes ? tn__ffi.TVMFFIBytesFromByteArray : tn__ffi.TVMFFIStringFromByteArray;
  return make(&text, slot) == 0 ? TN_OK : TN_OUT_OF_MEMORY;
}

void tn_packed_clear(TVMFFIAny *slot) {
  if (slot->type_index >= kTVMFFIStaticObjectBegin) tn__ffi.TVMFFIObjectDecRef(slot->v_obj);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
}

void tn_packed_clear_owned(TVMFFIAny *owned, size_t count) {
  for (size_t i = 0; i < count; i++) tn_packed_clear(&owned[i]);
}

int32_t tn_packed_own(TVMFFIAny *slot, size_t count, TVMFFIAny *owned) {
  for (size_t i = 0; i < count; i++) {
    if (tn__ffi.TVMFFIAnyViewToOwnedAny(&slot[i + 1], &owned[i]) == 0) continue;
    tn_packed_clear_owned(owned, i);
    return tn__take_error(slot);
  }
  return 0;
}

/* Copies the objects of owned values to `objects` if it is not null. Returns their number. */
static size_t objects_of(const TVMFFIAny *owned, size_t count, TVMFFIObject **objects) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (owned[i].type_index < kTVMFFIStaticObjectBegin) continue;
    if (objects != NULL) objects[found] = owned[i].v_obj;
    found++;
  }
  return found;
}

int32_t tn_packed_call_owned(TVMFFIAny *slot, TVMFFIObjectHandle function, TVMFFIAny *owned, size_t count) {
  /* The function may overwrite the values. */
  const size_t held = objects_of(owned, count, NULL);
  TVMFFIObject **objects = held == 0 ? NULL : malloc(held * sizeof *objects);
  if (held != 0 && objects == NULL) {
    tn_packed_clear_owned(owned, count);
    return tn__packed_fail(slot, "MemoryError", "out of memory for a container");
  }
  objects_of(owned, count, objects);
  const tn_packed_stack_t *stack = tn__stack_of(slot);
  const TVMFFIObjectHandle before = tn__error_before(stack);
  *slot = (TVMFFIAny){.type_index = kTVMFFINone};
  const int status = tn__guarded_call(function, owned, (int32_t)count, slot);
  if (status == 0) tn__drop_left_error(stack, before);
  for (size_t i = 0; i < held; i++) tn__ffi.TVMFFIObjectDecRef(objects[i]);
  free(objects);
  return status == 0 && tn__check_result(slot) == 0 ? slot->type_index : tn__take_error(slot);
}

void tn_packed_retain(TVMFFIObjectHandle object) { tn__ffi.TVMFFIObjectIncRef(object); }

void tn_packed_release(TVMFFIObjectHandle object) { tn__ffi.TVMFFIObjectDecRef(object); }

int32_t tn_packed_type_key(tn_packed_stack_t *stack, int32_t type_index) {
  if (type_index < 0) return 0;
  store_span(stack, tn__ffi.TVMFFIGetTypeInfo(type_index)->type_key);
  return 1;
}

int32_t tn_packed_get_global(TVMFFIAny *slot, const char *name, size_t size) {
  TVMFFIByteArray span = {name, size};
  TVMFFIObjectHandle function = NULL;
  int status = tn__ffi.TVMFFIFunctionGetGlobal(&span, &function);
  return tn__leave(slot, status, function == NULL ? kTVMFFINone : kTVMFFIFunction, function);
}

int32_t tn_packed_set_global(TVMFFIAny *slot, const char *name, size_t size, TVMFFIObjectHandle function,
                             int32_t allow_override) {
  TVMFFIByteArray span = {name, size};
  return tn__ffi.TVMFFIFunctionSetGlobal(&span, function, allow_override) == 0 ? 0 : tn__take_error(slot);
}

int32_t tn_packed_dtype_parse(TVMFFIAny *slot, const char *text, size_t size) {
  TVMFFIByteArray span = {text, size};
  DLDataType dtype;
  if (tn__ffi.TVMFFIDataTypeFromString(&span, &dtype) != 0) return tn__take_error(slot);
  *slot = (TVMFFIAny){.type_index = kTVMFFIDataType, .v_uint64 = 0};
  slot->v_dtype = dtype;
  return 0;
}

int32_t tn_packed_dtype_text(TVMFFIAny *slot) {
  DLDataType dtype = slot->v_dtype;
  if (tn__ffi.TVMFFIDataTypeToString(&dtype, slot) != 0) return tn__take_error(slot);
  if (slot->type_index == kTVMFFIStr) copy_text_out(slot);
  return 0;
}
