/* Values that a client has written, as values of tvm-ffi. */
#include <stdlib.h>
#include <string.h>

#include "tvm/tensor.h"
#include "value.h"

/* The axes of a tensor. */
#define MOST_AXES 256

static bool fail(tn__value_reader_t *reader, const char *wrong) {
  if (reader->wrong == NULL) reader->wrong = wrong;
  return false;
}

/* Moves the error that tvm-ffi has raised away. */
static bool fail_native(tn__value_reader_t *reader) {
  tn__ffi_drop_raised();
  return fail(reader, "a value could not be made of the bytes");
}

static bool read_item(tn__value_reader_t *reader, TVMFFIAny *out, int depth);

/* Reads items. They are freed again after a failure. */
static bool read_items(tn__value_reader_t *reader, uint64_t count, int depth, tn__values_t *out) {
  *out = (tn__values_t){NULL, 0};
  /* Each item takes a byte or more. */
  if (count > reader->bytes.left || count > INT32_MAX) return fail(reader, "a value ends before its last item");
  if (depth > TN__VALUE_DEEPEST) return fail(reader, "values are nested too deeply");
  out->items = calloc((size_t)count + 1, sizeof *out->items);
  if (out->items == NULL) return fail(reader, "there is no memory for the items of a value");
  for (uint64_t i = 0; i < count; i++) {
    if (!read_item(reader, &out->items[i], depth)) {
      tn__values_free(out);
      return false;
    }
    out->count++;
  }
  return true;
}

void tn__values_free(tn__values_t *values) {
  tn__drop_all(values->items, (size_t)values->count);
  free(values->items);
  *values = (tn__values_t){NULL, 0};
}

static bool read_container(tn__value_reader_t *reader, tn__global_t maker, uint64_t count, int depth, TVMFFIAny *out) {
  tn__values_t values;
  if (!read_items(reader, count, depth + 1, &values)) return false;
  const int status = tn__call_global(maker, values.items, values.count, out);
  tn__values_free(&values);
  return status == 0 || fail_native(reader);
}

static bool read_text(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  const TVMFFIByteArray text = {(const char *)item->bytes, item->size};
  const int status = item->kind == TN__PACK_STR ? tn__ffi.TVMFFIStringFromByteArray(&text, out)
                                                : tn__ffi.TVMFFIBytesFromByteArray(&text, out);
  return status == 0 || fail_native(reader);
}

/* --- extensions ----------------------------------------------------------------------------------------------------- */

static bool read_shape(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  if (item->size % 8 != 0 || item->size > INT32_MAX) return fail(reader, "a shape must have 8 bytes for each dimension");
  const uint32_t count = item->size / 8;
  TVMFFIAny *sizes = calloc(count + 1, sizeof *sizes);
  if (sizes == NULL) return fail(reader, "there is no memory for a shape");
  for (uint32_t i = 0; i < count; i++) {
    sizes[i].type_index = kTVMFFIInt;
    memcpy(&sizes[i].v_int64, item->bytes + 8 * (size_t)i, 8);
  }
  const int status = tn__call_global(TN__MAKE_SHAPE, sizes, (int32_t)count, out);
  free(sizes);
  return status == 0 || fail_native(reader);
}

/* Reads the type of a tensor into a description without memory. The dimensions go to `shape`. */
static bool read_type(tn__value_reader_t *reader, const uint8_t *dtype, const uint8_t *dimensions, uint64_t rank,
                      int64_t *shape, DLTensor *out, size_t *size) {
  *out = (DLTensor){.device = {kDLCPU, 0}, .ndim = (int32_t)rank, .shape = shape};
  memcpy(&out->dtype, dtype, sizeof out->dtype);
  if (rank > 0) memcpy(shape, dimensions, 8 * (size_t)rank);
  const uint64_t bits = (uint64_t)out->dtype.bits * out->dtype.lanes;
  return (bits > 0 && tn__tensor_byte_size(out, bits, size)) || fail(reader, "a tensor must have a type and sizes");
}

static bool give_tensor(tn__value_reader_t *reader, DLManagedTensorVersioned *managed, TVMFFIAny *out) {
  TVMFFIObjectHandle object = NULL;
  if (tn__ffi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &object) != 0) {
    managed->deleter(managed);
    return fail_native(reader);
  }
  *out = (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = object};
  return true;
}

static void free_borrowing(DLManagedTensorVersioned *managed) { free(managed); }

/* A tensor over an operand. */
static bool read_tensor(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  const tn__request_t *request = reader->request;
  int64_t shape[MOST_AXES];
  DLTensor type;
  size_t size;
  uint32_t index;
  if (item->size < 8 || item->size % 8 != 0 || item->size > 8 + 8 * MOST_AXES)
    return fail(reader, "a tensor must have an operand, a type and at most 256 dimensions");
  memcpy(&index, item->bytes, sizeof index);
  const uint64_t rank = item->size / 8 - 1;
  if (!read_type(reader, item->bytes + 4, item->bytes + 8, rank, shape, &type, &size)) return false;
  if (index >= request->count) return fail(reader, "a tensor must lie in an operand of its request");
  if (size > request->operands[index].length) return fail(reader, "a tensor must have at most as many bytes as its operand");
  DLManagedTensorVersioned *managed = calloc(1, sizeof *managed + 2 * 8 * (size_t)rank);
  if (managed == NULL) return fail(reader, "there is no memory for a tensor");
  int64_t *numbers = (int64_t *)(void *)(managed + 1);
  managed->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed->deleter = free_borrowing;
  managed->dl_tensor = type;
  managed->dl_tensor.data = request->addresses[index];
  managed->dl_tensor.shape = numbers;
  managed->dl_tensor.strides = numbers + rank;
  if (rank > 0) memcpy(numbers, shape, 8 * (size_t)rank);
  tn__row_major_strides(shape, type.ndim, numbers + rank);
  return give_tensor(reader, managed, out);
}

/* A tensor by value. */
static bool read_copy(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  int64_t shape[MOST_AXES];
  DLTensor type;
  size_t size;
  uint32_t rank;
  if (item->size < 8) return fail(reader, "a tensor must have a type");
  memcpy(&rank, item->bytes + 4, sizeof rank);
  if (rank > MOST_AXES || 8 + 8 * (uint64_t)rank > item->size) return fail(reader, "a tensor must have at most 256 dimensions");
  if (!read_type(reader, item->bytes, item->bytes + 8, rank, shape, &type, &size)) return false;
  const size_t start = 8 + 8 * (size_t)rank;
  if (size != item->size - start) return fail(reader, "a tensor must have the bytes of its type");
  DLManagedTensorVersioned *managed = tn__tensor_new(&type, size);
  if (managed == NULL) return fail(reader, "there is no memory for a tensor");
  if (size > 0) memcpy(managed->dl_tensor.data, item->bytes + start, size);
  return give_tensor(reader, managed, out);
}

static bool read_function(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  uint32_t id;
  if (item->size != sizeof id) return fail(reader, "a function must have an id");
  memcpy(&id, item->bytes, sizeof id);
  return reader->make_function(id, out) == 0 || fail_native(reader);
}

static bool read_plain(tn__value_reader_t *reader, const tn__pack_item_t *item, int32_t type_index, TVMFFIAny *out) {
  const size_t size = type_index == kTVMFFIDevice ? sizeof out->v_device : sizeof out->v_dtype;
  if (item->size != size) return fail(reader, "a device must have 8 bytes, and a data type 4");
  *out = (TVMFFIAny){.type_index = type_index};
  memcpy(&out->v_uint64, item->bytes, size);
  return true;
}

static bool read_extension(tn__value_reader_t *reader, const tn__pack_item_t *item, TVMFFIAny *out) {
  switch (item->type) {
    case TN__VALUE_TENSOR: return read_tensor(reader, item, out);
    case TN__VALUE_SHAPE: return read_shape(reader, item, out);
    case TN__VALUE_DTYPE: return read_plain(reader, item, kTVMFFIDataType, out);
    case TN__VALUE_DEVICE: return read_plain(reader, item, kTVMFFIDevice, out);
    case TN__VALUE_FUNCTION: return read_function(reader, item, out);
    case TN__VALUE_COPY: return read_copy(reader, item, out);
    default: return fail(reader, "the type of a value must be known");
  }
}

static bool read_item(tn__value_reader_t *reader, TVMFFIAny *out, int depth) {
  tn__pack_item_t item;
  *out = (TVMFFIAny){.type_index = kTVMFFINone};
  if (!tn__pack_read(&reader->bytes, &item)) return fail(reader, "the bytes must be MessagePack with integers of 64 bits");
  switch (item.kind) {
    case TN__PACK_NIL: return true;
    case TN__PACK_BOOL: *out = (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = item.integer}; return true;
    case TN__PACK_INT: *out = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = item.integer}; return true;
    case TN__PACK_FLOAT: *out = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = item.number}; return true;
    case TN__PACK_STR: case TN__PACK_BIN: return read_text(reader, &item, out);
    case TN__PACK_ARRAY: return read_container(reader, TN__MAKE_ARRAY, item.size, depth, out);
    case TN__PACK_MAP: return read_container(reader, TN__MAKE_MAP, 2 * (uint64_t)item.size, depth, out);
    default: return read_extension(reader, &item, out);
  }
}

bool tn__value_read(tn__value_reader_t *reader, TVMFFIAny *out) { return read_item(reader, out, 1); }

bool tn__values_read(tn__value_reader_t *reader, tn__values_t *out) {
  tn__pack_item_t item;
  *out = (tn__values_t){NULL, 0};
  if (!tn__pack_read(&reader->bytes, &item) || item.kind != TN__PACK_ARRAY)
    return fail(reader, "the arguments must be an array of MessagePack");
  return read_items(reader, item.size, 1, out);
}
