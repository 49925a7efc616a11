/* Tensors in the memory of the CPU. */
#ifndef TENON_TVM_LEGACY_DEVICE_H
#define TENON_TVM_LEGACY_DEVICE_H

#include <stddef.h>

#include "tenon/tvm_dlpack.h"

/* 0, or -1 with an error raised. */
int tn__expect_cpu(int device_type);

/* The size of a tensor's elements in bytes: 0, or -1 with an error raised. */
int tn__tensor_size(const DLTensor *tensor, size_t *out);

/* The address of the first byte of a row-major tensor that must have `byte_size` bytes: 0, or -1 with an error
 * raised. */
int tn__tensor_bytes(const char *function, const DLTensor *tensor, size_t byte_size, void **out);

/* Copies the bytes of one tensor to another: 0, or -1 with an error raised. */
int tn__tensor_copy(const char *function, const DLTensor *from, const DLTensor *to);

#endif
