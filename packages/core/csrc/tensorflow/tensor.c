/* Tensors: references to memory that is counted. */
#include <stdio.h>

#include "internal.h"
#include "tenon_tstring.h"

atomic_size_t tn__tf_memories;

static const uint8_t sizes[] = {
    [TF_FLOAT] = 4,    [TF_DOUBLE] = 8,   [TF_INT32] = 4,   [TF_UINT8] = 1,   [TF_INT16] = 2,       [TF_INT8] = 1,
    [TF_COMPLEX64] = 8, [TF_INT64] = 8,   [TF_BOOL] = 1,    [TF_QINT8] = 1,   [TF_QUINT8] = 1,      [TF_QINT32] = 4,
    [TF_BFLOAT16] = 2, [TF_QINT16] = 2,   [TF_QUINT16] = 2, [TF_UINT16] = 2,  [TF_COMPLEX128] = 16, [TF_HALF] = 2,
    [TF_UINT32] = 4,   [TF_UINT64] = 8,   [TF_FLOAT8_E5M2] = 1, [TF_FLOAT8_E4M3FN] = 1, [TF_FLOAT8_E4M3FNUZ] = 1,
    [TF_FLOAT8_E4M3B11FNUZ] = 1, [TF_FLOAT8_E5M2FNUZ] = 1, [TF_INT4] = 1, [TF_UINT4] = 1, [TF_INT2] = 1, [TF_UINT2] = 1,
    [TF_FLOAT4_E2M1FN] = 1,
};

size_t TF_DataTypeSize(TF_DataType type) { return (size_t)type < sizeof sizes ? sizes[type] : 0; }

size_t TF_TensorDefaultAlignment(void) { return TN__TF_ALIGNMENT; }

int64_t tn__tf_count(const int64_t *dims, int rank) {
  if (rank < 0 || rank > TN_TF_MOST_AXES) return -1;
  int64_t count = 1;
  int is_empty = 0;
  for (int i = 0; i < rank; i++) {
    if (dims[i] < 0) return -1;
    is_empty |= dims[i] == 0;
  }
  if (is_empty) return 0;
  for (int i = 0; i < rank; i++)
    if (__builtin_mul_overflow(count, dims[i], &count)) return -1;
  return count;
}

size_t tn__tf_byte_size(TF_DataType type, int64_t count) {
  const size_t size = type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(type);
  size_t all;
  return size == 0 || count < 0 || __builtin_mul_overflow(size, (size_t)count, &all) ? SIZE_MAX : all;
}

void tn__tf_shape_text(const int64_t *dims, int rank, char *out) {
  size_t at = (size_t)snprintf(out, TN__TF_SHAPE_TEXT, "[");
  for (int i = 0; i < rank && at < TN__TF_SHAPE_TEXT - 32; i++)
    at += (size_t)snprintf(out + at, TN__TF_SHAPE_TEXT - at, "%s%lld", i == 0 ? "" : ",", (long long)dims[i]);
  snprintf(out + at, TN__TF_SHAPE_TEXT - at, "]");
}

/* --- memory ---------------------------------------------------------------------------------------------------------------------------- */

static tn__tf_memory_t *memory_of(void *data, size_t size, TF_Deallocator deallocate, void *argument) {
  tn__tf_memory_t *memory = malloc(sizeof *memory);
  if (memory == NULL) return NULL;
  *memory = (tn__tf_memory_t){.references = 1, .data = data, .size = size, .extent = size, .deallocate = deallocate, .argument = argument};
  if (deallocate != NULL) atomic_fetch_add_explicit(&tn__tf_memories, 1, memory_order_relaxed);
  return memory;
}

_Static_assert(sizeof(tn__tf_slot_t) <= sizeof((tn_tf_operand_t *)NULL)->own, "an operand has room for a slot");

tn__tf_memory_t *tn__tf_borrow(uint64_t *own, void *data, size_t size, size_t extent) {
  tn__tf_slot_t *slot = (tn__tf_slot_t *)(void *)own;
  slot->memory = (tn__tf_memory_t){.references = 1, .data = data, .size = size, .extent = extent, .is_borrowed = 1};
  return &slot->memory;
}

void tn__tf_unref(tn__tf_memory_t *memory) {
  if (memory == NULL || atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) != 1 || memory->is_borrowed) return;
  if (memory->string_count != 0) tn_tstring_dealloc_all(memory->data, memory->string_count, TN_TSTRING_TF);
  const tn__tf_memory_t copy = *memory;
  free(memory);
  if (copy.deallocate == NULL) return;
  atomic_fetch_sub_explicit(&tn__tf_memories, 1, memory_order_relaxed);
  /* Last, because it is code of others, which may throw. */
  copy.deallocate(copy.data, copy.size, copy.argument);
}

int tn__tf_is_only(const tn__tf_memory_t *memory) {
  return atomic_load_explicit(&memory->references, memory_order_acquire) == 1;
}

int32_t tn_tf_memory_release(uint64_t memory) { return tn__tf_is_only(tn__tf_pointer(memory)); }

static void free_aligned(void *data, size_t length, void *argument) {
  (void)length, (void)argument;
  tn_memory_free(data);
}

static tn__tf_memory_t *allocate(TF_DataType type, size_t size) {
  void *data;
  if (tn_memory_allocate(size, TN__TF_ALIGNMENT, &data) != TN_OK) return NULL;
  tn__tf_memory_t *memory = memory_of(data, size, free_aligned, NULL);
  if (memory == NULL) tn_memory_free(data);
  else if (type == TF_STRING) memory->string_count = size / sizeof(TF_TString);
  return memory;
}

/* --- tensors --------------------------------------------------------------------------------------------------------------------------- */

static int set_dims(TF_Tensor *tensor, const int64_t *dims, int rank) {
  int64_t *place = tensor->few;
  if (rank > (int)(sizeof tensor->few / sizeof *tensor->few)) {
    place = malloc((size_t)rank * sizeof *place);
    if (place == NULL) return 0;
  }
  int64_t *const old = tensor->dims;
  /* The dims may be those of the tensor. */
  if (place != dims)
    for (int i = 0; i < rank; i++) place[i] = dims[i];
  if (old != NULL && old != tensor->few) free(old);
  tensor->dims = place;
  tensor->rank = rank;
  return 1;
}

/* A kernel that has the tensor of a slot adds this number to the references of its memory. There are fewer references than that. */
#define SLOT_USE ((size_t)1 << (4 * sizeof(size_t)))

/* Returns the tensor of a slot if the kernel does not have it, or allocates one. */
static TF_Tensor *new_tensor(tn__tf_memory_t *memory) {
  tn__tf_slot_t *slot = memory->is_borrowed ? (tn__tf_slot_t *)memory : NULL;
  if (slot != NULL && atomic_fetch_add_explicit(&memory->references, SLOT_USE, memory_order_acquire) >= SLOT_USE) {
    atomic_fetch_sub_explicit(&memory->references, SLOT_USE, memory_order_relaxed);
    slot = NULL;
  }
  TF_Tensor *tensor = slot == NULL ? malloc(sizeof *tensor) : &slot->tensor;
  if (tensor != NULL) tensor->slot = slot;
  return tensor;
}

/* The caller can free the slot of a tensor from here on. */
static void free_tensor(TF_Tensor *tensor) {
  if (tensor->slot == NULL) free(tensor);
  else atomic_fetch_sub_explicit(&tensor->slot->memory.references, SLOT_USE, memory_order_release);
}

/* Whether a tensor is that of the slot of its memory. Such a reference is not counted further. */
static int is_own(const TF_Tensor *tensor) { return tensor->slot != NULL && &tensor->slot->memory == tensor->memory; }

static void count_reference(const TF_Tensor *tensor) {
  if (!is_own(tensor)) atomic_fetch_add_explicit(&tensor->memory->references, 1, memory_order_relaxed);
}

TF_Tensor *tn__tf_tensor(tn__tf_memory_t *memory, TF_DataType type, const int64_t *dims, int rank) {
  TF_Tensor *tensor = new_tensor(memory);
  if (tensor == NULL) return NULL;
  tensor->memory = memory;
  tensor->type = type;
  tensor->dims = NULL;
  if (!set_dims(tensor, dims, rank)) return free_tensor(tensor), NULL;
  count_reference(tensor);
  return tensor;
}

/* Returns a tensor that has the only reference to memory, or frees the memory. */
static TF_Tensor *only(tn__tf_memory_t *memory, TF_DataType type, const int64_t *dims, int rank) {
  if (memory == NULL) return NULL;
  TF_Tensor *tensor = tn__tf_tensor(memory, type, dims, rank);
  tn__tf_unref(memory);
  return tensor;
}

TF_Tensor *tn__tf_allocate(TF_DataType type, const int64_t *dims, int rank, TF_Status *status) {
  const size_t size = tn__tf_byte_size(type, tn__tf_count(dims, rank));
  if (size == SIZE_MAX) {
    char shape[TN__TF_SHAPE_TEXT];
    tn__tf_shape_text(dims, rank, shape);
    tn__tf_set(status, TF_INVALID_ARGUMENT, "a tensor cannot have the shape %s and the type %d", shape, (int)type);
    return NULL;
  }
  TF_Tensor *tensor = only(allocate(type, size), type, dims, rank);
  if (tensor == NULL) tn__tf_set(status, TF_RESOURCE_EXHAUSTED, "%zu bytes could not be allocated", size);
  return tensor;
}

TF_Tensor *TF_AllocateTensor(TF_DataType type, const int64_t *dims, int num_dims, size_t length) {
  const size_t needed = tn__tf_byte_size(type, tn__tf_count(dims, num_dims));
  if (needed == SIZE_MAX || (type != TF_STRING && length < needed)) return NULL;
  return only(allocate(type, type == TF_STRING ? needed : length), type, dims, num_dims);
}

TF_Tensor *TF_NewTensor(TF_DataType type, const int64_t *dims, int num_dims, void *data, size_t length, TF_Deallocator deallocator,
                        void *argument) {
  const size_t needed = tn__tf_byte_size(type, tn__tf_count(dims, num_dims));
  tn__tf_memory_t *memory = NULL;
  if (needed != SIZE_MAX && needed <= length) {
    if (type == TF_STRING || (uintptr_t)data % TN__TF_ALIGNMENT == 0) {
      memory = memory_of(data, length, deallocator, argument);
      if (memory != NULL) return only(memory, type, dims, num_dims);
    } else if ((memory = allocate(type, length)) != NULL) {
      memcpy(memory->data, data, length);
    }
  }
  if (deallocator != NULL) deallocator(data, length, argument);
  return only(memory, type, dims, num_dims);
}

void TF_DeleteTensor(TF_Tensor *tensor) {
  if (tensor == NULL) return;
  tn__tf_memory_t *memory = is_own(tensor) ? NULL : tensor->memory;
  if (tensor->dims != tensor->few) free(tensor->dims);
  free_tensor(tensor);
  tn__tf_unref(memory);
}

TF_Tensor *TF_TensorMaybeMove(TF_Tensor *tensor) {
  return tn__tf_is_only(tensor->memory) && tensor->memory->deallocate == free_aligned ? tensor : NULL;
}

TF_DataType TF_TensorType(const TF_Tensor *tensor) { return tensor->type; }
int TF_NumDims(const TF_Tensor *tensor) { return tensor->rank; }
int64_t TF_Dim(const TF_Tensor *tensor, int index) { return index >= 0 && index < tensor->rank ? tensor->dims[index] : -1; }
size_t TF_TensorByteSize(const TF_Tensor *tensor) { return tensor->memory->size; }
void *TF_TensorData(const TF_Tensor *tensor) { return tensor->memory->data; }
int64_t TF_TensorElementCount(const TF_Tensor *tensor) { return tn__tf_count(tensor->dims, tensor->rank); }
bool TF_TensorIsAligned(const TF_Tensor *tensor) { return (uintptr_t)tensor->memory->data % TN__TF_ALIGNMENT == 0; }

/* A shape whose elements the memory does not have is ignored. */
void TF_SetShape(TF_Tensor *tensor, const int64_t *dims, int num_dims) {
  const size_t needed = tn__tf_byte_size(tensor->type, tn__tf_count(dims, num_dims));
  if (needed <= tensor->memory->size) set_dims(tensor, dims, num_dims);
}

void TF_TensorBitcastFrom(const TF_Tensor *from, TF_DataType type, TF_Tensor *to, const int64_t *dims, int num_dims, TF_Status *status) {
  const size_t size = TF_DataTypeSize(from->type), new_size = TF_DataTypeSize(type);
  if (size == 0 || new_size == 0) {
    return tn__tf_set(status, TF_INVALID_ARGUMENT, "the elements of the type %d have no size",
                      (int)(size == 0 ? from->type : type));
  }
  const int64_t count = tn__tf_count(dims, num_dims);
  if (count < 0 || tn__tf_byte_size(type, count) != tn__tf_byte_size(from->type, TF_TensorElementCount(from)))
    return TF_SetStatus(status, TF_INVALID_ARGUMENT, "the shape and type must have as many bytes as the tensor");
  tn__tf_memory_t *memory = from->memory, *old = is_own(to) ? NULL : to->memory;
  if (!set_dims(to, dims, num_dims)) return TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "out of memory for a shape");
  to->type = type;
  to->memory = memory;
  count_reference(to);
  tn__tf_unref(old);
  tn__tf_ok(status);
}
