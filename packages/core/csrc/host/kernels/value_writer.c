/* Values of tvm-ffi, as bytes that a client reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tvm/tensor.h"
#include "value.h"

/* The axes of a tensor. */
#define MOST_AXES 256

/* What every extension of a tensor has besides its bytes: the code of MessagePack, a number, and the type. */
#define TENSOR_HEAD 14

static int write_value(tn__value_writer_t *writer, const TVMFFIAny *value, int depth);

static int write_text(tn__value_writer_t *writer, const char *data, size_t size, bool is_text) {
  if (is_text)
    tn__pack_str(&writer->bytes, data, size);
  else
    tn__pack_bin(&writer->bytes, data, size);
  return 0;
}

static int write_object_text(tn__value_writer_t *writer, TVMFFIObject *object, bool is_text) {
  const TVMFFIByteArray *text = TVMFFIBytesGetByteArrayPtr(object);
  return write_text(writer, text->data, text->size, is_text);
}

static int write_shape(tn__value_writer_t *writer, TVMFFIObject *object) {
  const TVMFFIShapeCell *shape = (const TVMFFIShapeCell *)(const void *)(object + 1);
  tn__pack_ext(&writer->bytes, TN__VALUE_SHAPE, 8 * shape->size);
  tn__pack_raw(&writer->bytes, shape->data, 8 * shape->size);
  return 0;
}

static int write_plain(tn__value_writer_t *writer, int8_t type, const void *bytes, size_t size) {
  tn__pack_ext(&writer->bytes, type, size);
  tn__pack_raw(&writer->bytes, bytes, size);
  return 0;
}

/* --- containers ----------------------------------------------------------------------------------------------------- */

static int read_size(tn__global_t which, TVMFFIAny *container, int64_t *out) {
  TVMFFIAny size;
  if (tn__call_global(which, container, 1, &size) != 0) return -1;
  *out = size.type_index == kTVMFFIInt && size.v_int64 > 0 ? size.v_int64 : 0;
  tn__drop(&size);
  return 0;
}

static int write_sequence(tn__value_writer_t *writer, TVMFFIAny sequence, int depth) {
  const bool is_array = sequence.type_index == kTVMFFIArray;
  int64_t size;
  if (read_size(is_array ? TN__ARRAY_SIZE : TN__LIST_SIZE, &sequence, &size) != 0) return -1;
  tn__pack_array(&writer->bytes, (size_t)size);
  for (int64_t i = 0; i < size; i++) {
    TVMFFIAny args[2] = {sequence, {.type_index = kTVMFFIInt, .v_int64 = i}};
    TVMFFIAny item;
    if (tn__call_global(is_array ? TN__ARRAY_ITEM : TN__LIST_ITEM, args, 2, &item) != 0) return -1;
    const int status = write_value(writer, &item, depth + 1);
    tn__drop(&item);
    if (status != 0) return -1;
  }
  return 0;
}

/* A cursor is a function that takes what it shall do. */
enum { CURSOR_KEY = 0, CURSOR_VALUE = 1, CURSOR_NEXT = 2 };

static int ask_cursor(TVMFFIObjectHandle cursor, int64_t what, TVMFFIAny *out) {
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = what};
  *out = (TVMFFIAny){.type_index = kTVMFFINone};
  return tn__ffi.TVMFFIFunctionCall(cursor, &argument, 1, out) == 0 ? 0 : -1;
}

static int write_entries(tn__value_writer_t *writer, TVMFFIObjectHandle cursor, int64_t size, int depth) {
  for (int64_t i = 0; i < size; i++) {
    for (int64_t what = CURSOR_KEY; what <= CURSOR_NEXT; what++) {
      TVMFFIAny item;
      if (ask_cursor(cursor, what, &item) != 0) return -1;
      const int status = what == CURSOR_NEXT ? 0 : write_value(writer, &item, depth + 1);
      tn__drop(&item);
      if (status != 0) return -1;
    }
  }
  return 0;
}

static int write_map(tn__value_writer_t *writer, TVMFFIAny map, int depth) {
  const bool is_map = map.type_index == kTVMFFIMap;
  int64_t size;
  TVMFFIAny cursor;
  if (read_size(is_map ? TN__MAP_SIZE : TN__DICT_SIZE, &map, &size) != 0) return -1;
  tn__pack_map(&writer->bytes, (size_t)size);
  if (size == 0) return 0;
  if (tn__call_global(is_map ? TN__MAP_CURSOR : TN__DICT_CURSOR, &map, 1, &cursor) != 0) return -1;
  const int status = cursor.type_index == kTVMFFIFunction ? write_entries(writer, cursor.v_obj, size, depth)
                                                          : tn__raise_error("TypeError", "a map must have a cursor");
  tn__drop(&cursor);
  return status;
}

/* --- tensors -------------------------------------------------------------------------------------------------------- */

/* Copies elements of a tensor in row-major order. Returns where the next one goes. */
static uint8_t *gather(uint8_t *to, const uint8_t *from, const DLTensor *tensor, int32_t axis, size_t size) {
  if (axis == tensor->ndim) {
    memcpy(to, from, size);
    return to + size;
  }
  for (int64_t i = 0; i < tensor->shape[axis]; i++)
    to = gather(to, from + i * tensor->strides[axis] * (int64_t)size, tensor, axis + 1, size);
  return to;
}

/* A tensor that is written. */
typedef struct {
  const DLTensor *tensor;
  TVMFFIObjectHandle object; /* of the tensor; null for a borrowed one */
  const uint8_t *data;
  size_t size;
  bool is_row_major;
} source_t;

static void copy_elements(const source_t *source, uint8_t *to) {
  const DLTensor *tensor = source->tensor;
  if (source->size == 0) return;
  if (source->is_row_major)
    memcpy(to, source->data, source->size);
  else
    gather(to, source->data, tensor, 0, (size_t)tensor->dtype.bits * tensor->dtype.lanes / 8);
}

static int check_tensor(source_t *source) {
  const DLTensor *tensor = source->tensor;
  const uint64_t bits = (uint64_t)tensor->dtype.bits * tensor->dtype.lanes;
  if (tensor->device.device_type != kDLCPU)
    return tn__raise_error("ValueError", "a tensor on another device than the CPU cannot leave the process of its kernel");
  if (tensor->ndim < 0 || tensor->ndim > MOST_AXES || !tn__tensor_byte_size(tensor, bits, &source->size))
    return tn__raise_error("ValueError", "a tensor must have at most 256 axes and a size");
  source->is_row_major = tn__is_row_major(tensor);
  if (!source->is_row_major && bits % 8 != 0)
    return tn__raise_error("ValueError", "a tensor whose elements are not whole bytes must be row-major");
  source->data = (const uint8_t *)tensor->data + tensor->byte_offset;
  return 0;
}

/* Writes a tensor whose bytes are elsewhere: in an operand or a part of this number. */
static void write_type(tn__value_writer_t *writer, int8_t type, const uint32_t *number, const DLTensor *tensor) {
  const size_t rank = (size_t)tensor->ndim;
  tn__pack_ext(&writer->bytes, type, 8 + 8 * rank);
  tn__pack_raw(&writer->bytes, number, sizeof *number);
  tn__pack_raw(&writer->bytes, &tensor->dtype, sizeof tensor->dtype);
  tn__pack_raw(&writer->bytes, tensor->shape, 8 * rank);
}

static int write_copy(tn__value_writer_t *writer, const source_t *source) {
  const DLTensor *tensor = source->tensor;
  const uint32_t rank = (uint32_t)tensor->ndim;
  tn__pack_ext(&writer->bytes, TN__VALUE_COPY, 8 + 8 * (size_t)rank + source->size);
  tn__pack_raw(&writer->bytes, &tensor->dtype, sizeof tensor->dtype);
  tn__pack_raw(&writer->bytes, &rank, sizeof rank);
  tn__pack_raw(&writer->bytes, tensor->shape, 8 * (size_t)rank);
  uint8_t *to = tn__pack_reserve(&writer->bytes, source->size);
  if (to != NULL) copy_elements(source, to);
  return 0;
}

/* The operand that begins with a tensor, or the number of operands. `is_inside` says whether the tensor lies in any. */
static uint32_t operand_of(const tn__value_writer_t *writer, const source_t *source, bool *is_inside) {
  const tn__request_t *request = writer->request;
  *is_inside = false;
  for (uint32_t i = 0; i < request->count; i++) {
    const uint8_t *start = request->addresses[i];
    const uint64_t length = request->operands[i].length;
    if (start == NULL || (uintptr_t)source->data - (uintptr_t)start >= length) continue;
    *is_inside = true;
    if (start == source->data && source->is_row_major && source->size <= length) return i;
  }
  return request->count;
}

static int write_part(tn__value_writer_t *writer, const source_t *source, bool is_inside) {
  tn__part_t part = {source->data, source->size, NULL, NULL};
  /* The memory of an operand may be mapped elsewhere when the part is fetched. */
  if (source->is_row_major && !is_inside && source->object != NULL) {
    tn__ffi.TVMFFIObjectIncRef(source->object);
    part.object = source->object;
  } else {
    part.memory = malloc(source->size + 1);
    if (part.memory == NULL) return tn__raise_error("MemoryError", "out of memory for a result");
    copy_elements(source, part.memory);
    part.bytes = part.memory;
  }
  const uint32_t number = tn__kept_add(writer->kept, part);
  if (number == 0) return tn__raise_error("MemoryError", "out of memory for a result");
  write_type(writer, TN__VALUE_PART, &number, source->tensor);
  return 0;
}

static int write_tensor(tn__value_writer_t *writer, const DLTensor *tensor, TVMFFIObjectHandle object) {
  source_t source = {.tensor = tensor, .object = object};
  bool is_inside;
  if (check_tensor(&source) != 0) return -1;
  const uint32_t operand = operand_of(writer, &source, &is_inside);
  if (operand < writer->request->count) {
    write_type(writer, TN__VALUE_TENSOR, &operand, tensor);
    return 0;
  }
  const size_t copied = TENSOR_HEAD + 8 * (size_t)tensor->ndim + source.size;
  const bool is_copied = writer->kept == NULL || source.size == 0 ||
                         (source.size <= TN__VALUE_COPIED && writer->bytes.used + copied <= TN_HOST_BODY_SIZE);
  return is_copied ? write_copy(writer, &source) : write_part(writer, &source, is_inside);
}

/* --- values --------------------------------------------------------------------------------------------------------- */

static int refuse(int32_t type_index) {
  static const char *const plain[] = {[kTVMFFIOpaquePtr] = "void*", [kTVMFFIObjectRValueRef] = "object&&"};
  const bool is_plain = type_index == kTVMFFIOpaquePtr || type_index == kTVMFFIObjectRValueRef;
  char message[256];
  TVMFFIByteArray name = {"an unknown type", 15};
  if (is_plain)
    name = (TVMFFIByteArray){plain[type_index], strlen(plain[type_index])};
  else if (type_index >= kTVMFFIStaticObjectBegin)
    name = tn__ffi.TVMFFIGetTypeInfo(type_index)->type_key;
  snprintf(message, sizeof message, "a value of type %.*s cannot leave the process of its kernel",
           name.size > 128 ? 128 : (int)name.size, name.data);
  return tn__raise_error("TypeError", message);
}

static int write_value(tn__value_writer_t *writer, const TVMFFIAny *value, int depth) {
  tn__pack_writer_t *bytes = &writer->bytes;
  if (depth > TN__VALUE_DEEPEST) return tn__raise_error("RecursionError", "values must be nested at most 64 deep");
  if (bytes->has_failed) return tn__raise_error("MemoryError", "out of memory for a value");
  switch (value->type_index) {
    case kTVMFFINone: tn__pack_nil(bytes); return 0;
    case kTVMFFIInt: tn__pack_int(bytes, value->v_int64); return 0;
    case kTVMFFIBool: tn__pack_bool(bytes, value->v_int64 != 0); return 0;
    case kTVMFFIFloat: tn__pack_float(bytes, value->v_float64); return 0;
    case kTVMFFIDataType: return write_plain(writer, TN__VALUE_DTYPE, &value->v_dtype, sizeof value->v_dtype);
    case kTVMFFIDevice: return write_plain(writer, TN__VALUE_DEVICE, &value->v_device, sizeof value->v_device);
    case kTVMFFIDLTensorPtr: return write_tensor(writer, value->v_ptr, NULL);
    case kTVMFFIRawStr: return write_text(writer, value->v_c_str, strlen(value->v_c_str), true);
    case kTVMFFIByteArrayPtr: {
      const TVMFFIByteArray *span = value->v_ptr;
      return write_text(writer, span->data, span->size, false);
    }
    case kTVMFFISmallStr: return write_text(writer, value->v_bytes, value->small_str_len & 7, true);
    case kTVMFFISmallBytes: return write_text(writer, value->v_bytes, value->small_str_len & 7, false);
    case kTVMFFIStr: return write_object_text(writer, value->v_obj, true);
    case kTVMFFIBytes: return write_object_text(writer, value->v_obj, false);
    case kTVMFFIShape: return write_shape(writer, value->v_obj);
    case kTVMFFITensor: return write_tensor(writer, TVMFFITensorGetDLTensorPtr(value->v_obj), value->v_obj);
    case kTVMFFIArray: case kTVMFFIList: return write_sequence(writer, *value, depth);
    case kTVMFFIMap: case kTVMFFIDict: return write_map(writer, *value, depth);
    default: return refuse(value->type_index);
  }
}

int tn__value_write(tn__value_writer_t *writer, const TVMFFIAny *value) { return write_value(writer, value, 1); }

int tn__values_write(tn__value_writer_t *writer, const TVMFFIAny *values, int32_t count) {
  tn__pack_array(&writer->bytes, count > 0 ? (size_t)count : 0);
  for (int32_t i = 0; i < count; i++)
    if (write_value(writer, &values[i], 1) != 0) return -1;
  return 0;
}
