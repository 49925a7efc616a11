/* Attributes of an instance, which the kernel reads while it is created. Their records follow the operands of a description.
 *
 * A record has four 32-bit words: its size, its kind, the number of values of a list or -1, and the size of its name; then the name and the
 * values. Values have 64-bit words: an integer, boolean or type has one, and a float one as a double. A string has its size and its bytes, padded
 * to 8. A shape has its rank, or -1 if that is unknown, and its axes. A tensor has its address, byte size and type, and a shape. */
#include "internal.h"

typedef enum { STRING = 1, INT, FLOAT, BOOL, TYPE, SHAPE, TENSOR } kind_t;

static const char *const kinds[] = {"", "string", "int", "float", "bool", "type", "shape", "tensor"};

typedef struct {
  uint32_t size, kind;
  int32_t count; /* -1 for a single value */
  uint32_t name_size;
  char name[];
} record_t;

static size_t padded(size_t size) { return (size + 7) & ~(size_t)7; }

const char *tn__tf_operand(const char *at, const char **name, uint32_t *count) {
  uint32_t head[2];
  memcpy(head, at, sizeof head);
  *count = head[0];
  *name = at + sizeof head;
  return at + sizeof head + padded(head[1] + 1);
}

static const record_t *find(const TF_OpKernelConstruction *construction, const char *name) {
  const char *at = construction->instance->attributes;
  for (uint32_t i = 0; i < construction->instance->description.attribute_count; i++) {
    const record_t *record = (const record_t *)(const void *)at;
    if (strcmp(record->name, name) == 0) return record;
    at += record->size;
  }
  return NULL;
}

static const int64_t *values_of(const record_t *record) {
  return (const int64_t *)(const void *)(record->name + padded(record->name_size + 1));
}

/* Returns the value after one. */
static const int64_t *after(const record_t *record, const int64_t *value) {
  if (record->kind == STRING) return value + 1 + padded((size_t)*value) / sizeof *value;
  if (record->kind == SHAPE) return value + 1 + (*value < 0 ? 0 : *value);
  return record->kind == TENSOR ? value + 4 + value[3] : value + 1;
}

static double float_of(const int64_t *value) {
  double number;
  memcpy(&number, value, sizeof number);
  return number;
}

/* Returns a record of a kind, and otherwise null with the reason in the status. An empty list is of all kinds. */
static const record_t *require(const TF_OpKernelConstruction *construction, const char *name, kind_t kind, int is_list, TF_Code missing,
                               TF_Status *status) {
  const record_t *record = find(construction, name);
  const char *operation = construction->instance->name;
  if (record == NULL) {
    tn__tf_set(status, missing, "%s has no attribute %s", operation, name);
  } else if ((record->count >= 0) != is_list || (record->kind != kind && record->count != 0)) {
    tn__tf_set(status, TF_INVALID_ARGUMENT, "attribute %s of %s is %s%s, not %s%s", name, operation, record->count < 0 ? "" : "a list of ",
               kinds[record->kind], is_list ? "a list of " : "", kinds[kind]);
  } else {
    tn__tf_ok(status);
    return record;
  }
  return NULL;
}

bool TF_OpKernelConstruction_HasAttr(TF_OpKernelConstruction *construction, const char *name, TF_Status *status) {
  (void)status;
  return find(construction, name) != NULL;
}

TF_StringView TF_OpKernelConstruction_GetName(TF_OpKernelConstruction *construction) {
  return (TF_StringView){construction->instance->name, strlen(construction->instance->name)};
}

/* The size of a string, and the axes of a shape. */
static int32_t size_of(const record_t *record, const int64_t *value) {
  return record->kind == STRING || record->kind == SHAPE ? (int32_t)*value : -1;
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *construction, const char *name, int32_t *list_size, int32_t *total_size,
                                         TF_Status *status) {
  *list_size = *total_size = -1;
  const record_t *record = find(construction, name);
  if (record == NULL) tn__tf_set(status, TF_INVALID_ARGUMENT, "%s has no attribute %s", construction->instance->name, name);
  if (TF_GetCode(status) != TF_OK) return;
  const int64_t *value = values_of(record);
  if (record->count < 0) {
    *total_size = size_of(record, value);
    return;
  }
  *list_size = record->count;
  if (record->count == 0 || (record->kind != STRING && record->kind != SHAPE)) return;
  *total_size = 0;
  for (int32_t i = 0; i < record->count; i++, value = after(record, value))
    if (*value > 0) *total_size += size_of(record, value);
}

#define GET_ATTRIBUTE(name_of_kind, type, kind, expression)                                                                              \
  void TF_OpKernelConstruction_GetAttr##name_of_kind(TF_OpKernelConstruction *construction, const char *name, type *out,                 \
                                                     TF_Status *status) {                                                                \
    const record_t *record = require(construction, name, kind, 0, TF_NOT_FOUND, status);                                                 \
    if (record == NULL) return;                                                                                                          \
    const int64_t *value = values_of(record);                                                                                            \
    if (sizeof(type) == 4 && (kind) == INT && *value != (int32_t)*value)                                                                 \
      return tn__tf_set(status, TF_INVALID_ARGUMENT, "attribute %s of %s must fit an int32, got %lld", name,                             \
                        construction->instance->name, (long long)*value);                                                                \
    *out = (type)(expression);                                                                                                           \
  }                                                                                                                                      \
  void TF_OpKernelConstruction_GetAttr##name_of_kind##List(TF_OpKernelConstruction *construction, const char *name, type *out,           \
                                                           int max_values, TF_Status *status) {                                          \
    const record_t *record = require(construction, name, kind, 1, TF_INVALID_ARGUMENT, status);                                          \
    if (record == NULL) return;                                                                                                          \
    const int64_t *value = values_of(record);                                                                                            \
    for (int i = 0; i < record->count && i < max_values; i++, value++) out[i] = (type)(expression);                                      \
  }

GET_ATTRIBUTE(Type, TF_DataType, TYPE, *value)
GET_ATTRIBUTE(Int32, int32_t, INT, *value)
GET_ATTRIBUTE(Int64, int64_t, INT, *value)
GET_ATTRIBUTE(Float, float, FLOAT, float_of(value))
GET_ATTRIBUTE(Bool, TF_Bool, BOOL, *value)

void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction *construction, const char *name, char *out, size_t max_length,
                                           TF_Status *status) {
  const record_t *record = require(construction, name, STRING, 0, TF_NOT_FOUND, status);
  if (record == NULL) return;
  const int64_t *value = values_of(record);
  const size_t size = (size_t)*value < max_length ? (size_t)*value : max_length;
  if (size > 0) memcpy(out, value + 1, size);
}

void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction *construction, const char *name, char **values, size_t *lengths,
                                               int max_values, void *storage, size_t storage_size, TF_Status *status) {
  const record_t *record = require(construction, name, STRING, 1, TF_NOT_FOUND, status);
  if (record == NULL) return;
  const int64_t *value = values_of(record);
  char *at = storage;
  for (int i = 0; i < record->count && i < max_values; i++, value = after(record, value)) {
    const size_t size = (size_t)*value;
    values[i] = at;
    lengths[i] = size;
    if (size > storage_size) return tn__tf_set(status, TF_INVALID_ARGUMENT, "the storage is too small for the strings of attribute %s", name);
    if (size > 0) memcpy(at, value + 1, size);
    at += size;
    storage_size -= size;
  }
}

void TF_OpKernelConstruction_GetAttrTensorShape(TF_OpKernelConstruction *construction, const char *name, int64_t *dims, size_t num_dims,
                                                TF_Status *status) {
  const record_t *record = require(construction, name, SHAPE, 0, TF_NOT_FOUND, status);
  if (record == NULL) return;
  const int64_t *value = values_of(record);
  if (tn__tf_count(value + 1, (int)*value) < 0)
    return tn__tf_set(status, TF_INVALID_ARGUMENT, "attribute %s must be a shape whose axes are known", name);
  if ((size_t)*value != num_dims)
    return tn__tf_set(status, TF_INVALID_ARGUMENT, "attribute %s has %d axes, not %zu", name, (int)*value, num_dims);
  if (num_dims > 0) memcpy(dims, value + 1, num_dims * sizeof *dims);
}

/* Returns a copy, because the instance may outlive the memory of the caller. */
static TF_Tensor *tensor_of(const int64_t *value, TF_Status *status) {
  TF_Tensor *tensor = tn__tf_allocate((TF_DataType)value[2], value + 4, (int)value[3], status);
  if (tensor != NULL && value[1] > 0) memcpy(tensor->memory->data, tn__tf_pointer((uint64_t)value[0]), (size_t)value[1]);
  return tensor;
}

void TF_OpKernelConstruction_GetAttrTensor(TF_OpKernelConstruction *construction, const char *name, TF_Tensor **out, TF_Status *status) {
  *out = NULL;
  const record_t *record = require(construction, name, TENSOR, 0, TF_NOT_FOUND, status);
  if (record != NULL) *out = tensor_of(values_of(record), status);
}

void TF_OpKernelConstruction_GetAttrTensorList(TF_OpKernelConstruction *construction, const char *name, TF_Tensor **out, int max_values,
                                               TF_Status *status) {
  const record_t *record = require(construction, name, TENSOR, 1, TF_NOT_FOUND, status);
  if (record == NULL) return;
  const int64_t *value = values_of(record);
  for (int i = 0; i < record->count && i < max_values; i++, value = after(record, value))
    if ((out[i] = tensor_of(value, status)) == NULL) return;
}
