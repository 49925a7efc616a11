/* Functions for tests of packed functions in a worker. */
#ifndef TENON_HOST_KERNELS_PACKED_SUPPORT_H
#define TENON_HOST_KERNELS_PACKED_SUPPORT_H

#include "host/kernels/value.h"
#include "support.h"

/* A message that is being written. */
static tn__pack_writer_t message;

/* Begins the arguments of a call. */
static inline tn__pack_writer_t *arguments(size_t count) {
  tn__pack_free(&message);
  message = tn__pack_writer(NULL, 0);
  tn__pack_array(&message, count);
  return &message;
}

static inline void put_ext(int8_t type, const void *bytes, size_t size) {
  tn__pack_ext(&message, type, size);
  tn__pack_raw(&message, bytes, size);
}

/* The tensor f32[count] over an operand. */
static inline void put_tensor(uint32_t operand, int64_t count) {
  uint8_t bytes[16];
  const DLDataType f32 = {kDLFloat, 32, 1};
  memcpy(bytes, &operand, 4);
  memcpy(bytes + 4, &f32, 4);
  memcpy(bytes + 8, &count, 8);
  put_ext(TN__VALUE_TENSOR, bytes, sizeof bytes);
}

static inline void put_function(uint32_t id) { put_ext(TN__VALUE_FUNCTION, &id, sizeof id); }

static inline uint32_t packed(const char *name) {
  static uint32_t library;
  if (library == 0) library = load("faulty_packed");
  return make_kernel(&(kernel_t){.library = library, .convention = TN_HOST_PACKED, .symbols = {NULL, NULL, NULL, name}});
}

static inline const tn_host_slot_t *call_with(uint32_t kernel, const tn_host_operand_t *operands, uint32_t count) {
  return run(kernel, operands, count, message.bytes, message.used);
}

static inline const tn_host_slot_t *call(uint32_t kernel) { return call_with(kernel, NULL, 0); }

static inline void release(uint32_t kernel) { ask(TN_HOST_RELEASE_KERNEL, kernel, NULL, 0); }

#endif
