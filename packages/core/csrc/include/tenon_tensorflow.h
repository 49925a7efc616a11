/* The host of TensorFlow's C API for kernels. The rules of tenon.h hold for every function. */
#ifndef TENON_TENSORFLOW_H
#define TENON_TENSORFLOW_H

#include "tenon_call.h"

/* The library libtenon_tensorflow has the name of TensorFlow's own, and exports the functions of tenon/tf_kernel.h and those that only
 * refuse. Kernels register themselves when their library is loaded. An instance is a kernel with values for all of its attributes. A call is
 * one block of the caller's memory, used by one run at a time. */

/* --- tensorflow/registry.c ------------------------------------------------------------------------------------------------------------ */

/* Calls TF_InitKernel() of a library of tn_library_open() if it exports one: once in this process, and other threads wait for its end.
 * TN_EXCEPTION: it threw. */
TN_API int32_t tn_tf_initialize(void *library);

/* Lists the kernels that the code of a library has registered, and all definitions of operations of this process. `*length` is the size of the
 * whole list, which is incomplete if that exceeds `capacity`. The list has texts, each of which ends with a NUL: a tag, and what follows it.
 * K operation device label priority index: a kernel; C attribute type: a constraint of the kernel before it. D name: a definition;
 * I text, O text, A text: an operand, a result and an attribute of it. */
TN_API int32_t tn_tf_list(void *library, char *out, size_t capacity, size_t *length);

/* --- tensorflow/run.c ----------------------------------------------------------------------------------------------------------------- */

typedef struct tn_tf_instance tn_tf_instance_t;

#define TN_TF_IS_EXACT 1u   /* of a result: its memory is the caller's, and only its shape is accepted */
#define TN_TF_IS_DONATED 2u /* of an operand: the kernel may overwrite it */

typedef struct tn_tf_operand {
  uint64_t data, byte_size;
  uint64_t extent; /* the bytes from `data` on that strings of the operand may lie in */
  uint64_t dims;   /* the address of int64_t[rank] */
  int32_t rank, type;
  uint64_t memory; /* out: what the kernel still refers to, for tn_tf_memory_release(), or 0. The call stays in place until then */
  uint32_t flags, reserved;
  uint64_t own[20]; /* of native code */
} tn_tf_operand_t;

#define TN_TF_IN_PLACE 1 /* the result is in the memory that the caller offered, with its shape */
#define TN_TF_OWNED 2    /* native code has the result until tn_tf_take() */
#define TN_TF_OPERAND 3  /* the result is the memory of an operand */

typedef struct tn_tf_result {
  uint64_t data, byte_size; /* zeroed memory for a result of the shape `dims`, or 0; for tn_tf_take() memory for it */
  uint64_t dims;
  int32_t rank, type;
  uint32_t flags;
  int32_t state;   /* out: TN_TF_*; 0 after a failure */
  int32_t operand; /* out: the index of the operand */
  int32_t reserved;
  uint64_t tensor; /* of native code */
  uint64_t memory; /* out: as that of an operand */
  uint64_t needed; /* out: the bytes of memory for tn_tf_take() */
  uint64_t own[20]; /* of native code */
} tn_tf_result_t;

/* The start of a call. Its operands and then its results follow. */
typedef struct tn_tf_call {
  uint64_t instance;
  uint32_t operands, results;
  uint32_t left; /* out: results that are not in place, and memory that the kernel still refers to */
  uint32_t reserved;
  uint64_t failure, done; /* of native code */
  int64_t step; /* 0 until the kernel asks for it */
} tn_tf_call_t;

/* Makes an instance. The description, aligned to 8 bytes, is that of attributes.c, and is copied. TN_KERNEL_FAILED: `create` of the kernel
 * failed, with its status in `*failure` for tn_tf_failure(). TN_EXCEPTION: it threw, or its deleter did. */
TN_API int32_t tn_tf_create(const void *description, tn_tf_instance_t **out, uint64_t *failure);

/* Deletes an instance that no run uses. Null is a no-op. TN_EXCEPTION: the deleter of the kernel threw. */
TN_API int32_t tn_tf_delete(tn_tf_instance_t *instance);

/* Runs the call whose address is the first integer of the frame. Exceptions leave it: then tn_tf_end_exception() ends the run. Returns TN_OK, or
 * TN_KERNEL_FAILED with `failure` of the call. */
TN_API int32_t tn_tf_run(tn_call_frame_t *frame);

/* Ends a run that an exception, whose text is the last error, has left. Returns TN_KERNEL_FAILED. */
TN_API int32_t tn_tf_end_exception(tn_tf_call_t *call, int32_t status);

/* Writes the shape of a result that is not in place: its axes to `dims`, which has room for TN_TF_MOST_AXES. Returns their number. */
#define TN_TF_MOST_AXES 254
TN_API int32_t tn_tf_shape(const tn_tf_call_t *call, uint32_t result, int64_t *dims);

/* Copies each result that native code has to its `data`, unless that is 0, and frees it. Strings are packed. May run deallocators of kernels. */
TN_API int32_t tn_tf_take(tn_tf_call_t *call);

/* Releases memory of an operand or result if nobody else refers to it. Returns whether it did. */
TN_API int32_t tn_tf_memory_release(uint64_t memory);

/* Writes a failure, and frees it if it fits: the code, the size of the message and the number of payloads, each as a uint32_t; the message; and
 * for each payload the sizes of its key and value, and both. `*length` is the size of all. */
TN_API int32_t tn_tf_failure(uint64_t failure, char *out, size_t capacity, size_t *length);

/* The instances that native code has now, and the memories of tensors that it owns. */
typedef struct tn_tf_counts {
  uint64_t instances, memories;
} tn_tf_counts_t;

TN_API void tn_tf_counts(tn_tf_counts_t *out);

/* --- tensorflow/async.c --------------------------------------------------------------------------------------------------------------- */

typedef struct tn_tf_job tn_tf_job_t;

/* Runs a call on a thread of the core. The completion `id` has the status of the run. `name` is copied. */
TN_API int32_t tn_tf_submit(tn_tf_call_t *call, int64_t id, const char *name, size_t name_length, tn_tf_job_t **out);

/* Takes a job back. TN_NOT_FOUND: it has begun. */
TN_API int32_t tn_tf_cancel(tn_tf_job_t *job);

#endif
