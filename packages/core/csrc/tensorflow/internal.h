/* Functions and types that the files of TensorFlow's kernels share. */
#pragma once

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "tenon/tf_kernel.h"
#include "tenon_tensorflow.h"

/* TensorFlow's largest alignment, which Tenon's tensors have, too. */
#define TN__TF_ALIGNMENT 64

/* --- list.c ---------------------------------------------------------------------------------------------------------------------------- */

/* A list that is written as far as it fits. */
typedef struct tn__tf_list {
  char *out;
  size_t capacity, length;
} tn__tf_list_t;

void tn__tf_put(tn__tf_list_t *list, const void *bytes, size_t size);
void tn__tf_add(tn__tf_list_t *list, const char *text);
void tn__tf_add_number(tn__tf_list_t *list, long long number);

/* --- status.c -------------------------------------------------------------------------------------------------------------------------- */

/* Sets a status with a message (printf-like, at most 1023 bytes). */
__attribute__((format(printf, 3, 4))) void tn__tf_set(TF_Status *status, TF_Code code, const char *format, ...);

void tn__tf_ok(TF_Status *status);

/* Copies a status to `*place` unless it has one already, because the first failure of a run counts. */
void tn__tf_keep_failure(uint64_t *place, const TF_Status *status);
__attribute__((format(printf, 3, 4))) void tn__tf_fail(uint64_t *place, TF_Code code, const char *format, ...);

/* --- tensor.c -------------------------------------------------------------------------------------------------------------------------- */

/* Memory with a count of references. Freed with the last one, on its thread. */
typedef struct tn__tf_memory {
  atomic_size_t references;
  void *data;
  size_t size;
  size_t extent; /* the bytes that strings of the tensor may lie in */
  TF_Deallocator deallocate; /* null for memory of the caller */
  void *argument;
  size_t string_count; /* the strings to free before it */
  size_t is_borrowed;  /* whether it is that of a slot */
} tn__tf_memory_t;

/* A reference to memory. */
struct TF_Tensor {
  tn__tf_memory_t *memory;
  TF_DataType type;
  int rank;
  int64_t *dims;
  struct tn__tf_slot *slot; /* the slot that contains the tensor, or null */
  int64_t few[6];           /* the place of `dims` if they fit */
};

/* Memory of the caller, and one tensor of it, which need no allocation: a part of the call. The references of the memory say whether the kernel
 * has the tensor. */
typedef struct tn__tf_slot {
  tn__tf_memory_t memory;
  struct TF_Tensor tensor;
} tn__tf_slot_t;

/* Returns the number of elements, or -1 if a size is negative, there are too many axes, or the number is too large. */
int64_t tn__tf_count(const int64_t *dims, int rank);

/* Returns the bytes of elements: 24 for each string. SIZE_MAX: too many, or the type has no elements in memory. */
size_t tn__tf_byte_size(TF_DataType type, int64_t count);

/* Returns the memory of a slot, with one reference, for memory of the caller. */
tn__tf_memory_t *tn__tf_borrow(uint64_t *own, void *data, size_t size, size_t extent);
void tn__tf_unref(tn__tf_memory_t *memory);
int tn__tf_is_only(const tn__tf_memory_t *memory);

/* Returns a tensor with a further reference to memory, or null. */
TF_Tensor *tn__tf_tensor(tn__tf_memory_t *memory, TF_DataType type, const int64_t *dims, int rank);

/* Allocates a tensor of elements: empty strings, or other memory that is zeroed, too. Sets the status if it returns null. */
TF_Tensor *tn__tf_allocate(TF_DataType type, const int64_t *dims, int rank, TF_Status *status);

/* Writes a shape as text: `[2,3]`. */
#define TN__TF_SHAPE_TEXT 128
void tn__tf_shape_text(const int64_t *dims, int rank, char *out);

/* Counts of objects, for tests. */
extern atomic_size_t tn__tf_memories;

/* --- registry.c ------------------------------------------------------------------------------------------------------------------------ */

typedef struct tn__tf_constraint {
  struct tn__tf_constraint *next;
  TF_DataType type;
  char attribute[];
} tn__tf_constraint_t;

struct TF_KernelBuilder {
  char *operation, *device, *label; /* NUL-terminated */
  int32_t priority;
  tn__tf_constraint_t *constraints;
  const void *base; /* that of the library, whose code made the builder */
  void *(*create)(TF_OpKernelConstruction *);
  void (*compute)(void *, TF_OpKernelContext *);
  void (*compute_async)(void *, TF_OpKernelContext *, TF_AsyncOpKernelDoneCallback *);
  void (*destroy)(void *);
};

/* Returns the kernel with an index of tn_tf_list(). Kernels are never removed. */
const TF_KernelBuilder *tn__tf_kernel(uint32_t index);

/* --- definition.c ---------------------------------------------------------------------------------------------------------------------- */

/* Adds all definitions. */
void tn__tf_list_definitions(tn__tf_list_t *list);

/* --- attributes.c ---------------------------------------------------------------------------------------------------------------------- */

/* The start of a description of an instance, aligned to 8 bytes. The name of the operation, the operands and the attributes follow. All texts
 * end with a NUL and are padded to 8 bytes. An operand is its number of tensors and the size of its name, each as a uint32_t, and the name. */
typedef struct tn__tf_description {
  uint32_t size; /* of all */
  uint32_t kernel;
  uint32_t name_size, operand_count, attribute_count, reserved;
} tn__tf_description_t;

struct tn_tf_instance {
  const TF_KernelBuilder *kernel;
  void *self;
  const char *name;
  const char *operands;   /* the first operand of the description */
  const char *attributes; /* the first attribute */
  tn__tf_description_t description;
};

struct TF_OpKernelConstruction {
  const tn_tf_instance_t *instance;
  uint64_t failure;
};

/* An operand of a description: `name` has tensors from `start` on. Returns the next one. */
const char *tn__tf_operand(const char *at, const char **name, uint32_t *count);

/* --- run.c ----------------------------------------------------------------------------------------------------------------------------- */

static inline tn_tf_operand_t *tn__tf_operands(tn_tf_call_t *call) { return (tn_tf_operand_t *)(void *)(call + 1); }
static inline tn_tf_result_t *tn__tf_results(tn_tf_call_t *call) {
  return (tn_tf_result_t *)(void *)(tn__tf_operands(call) + call->operands);
}
static inline void *tn__tf_pointer(uint64_t address) { return (void *)(uintptr_t)address; }

/* Runs a call, whose status it returns. Exceptions leave it. */
int32_t tn__tf_enter(tn_tf_call_t *call);

/* --- later.c --------------------------------------------------------------------------------------------------------------------------- */

/* Runs an asynchronous kernel and waits until it is done. */
void tn__tf_run_async(tn_tf_call_t *call, const tn_tf_instance_t *instance);
/* Forgets the callback of a run that an exception has left. */
void tn__tf_forget(tn_tf_call_t *call);
