/* Functions for tests of XLA custom calls: writing descriptors, preparing calls, reading failures. */
#ifndef TENON_XLA_SUPPORT_H
#define TENON_XLA_SUPPORT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_xla.h"
#include "tenon/xla_handler.h"

typedef struct {
  size_t size;
  _Alignas(8) uint8_t bytes[4096];
} descriptor_t;

static inline void put(descriptor_t *d, const void *bytes, size_t size) {
  if (size > 0) memcpy(d->bytes + d->size, bytes, size);
  d->size += size;
  while (d->size % 8 != 0) d->bytes[d->size++] = 0;
}

static inline void put_u32s(descriptor_t *d, uint32_t first, uint32_t second) {
  const uint32_t pair[2] = {first, second};
  put(d, pair, sizeof pair);
}

static inline void put_u64(descriptor_t *d, uint64_t value) { put(d, &value, sizeof value); }

static inline uint64_t address_of(tn_xla_handler_t *handler) {
  uint64_t address = 0;
  memcpy(&address, &handler, sizeof handler);
  return address;
}

static inline void put_header(descriptor_t *d, uint32_t minor, uint32_t args, uint32_t rets, uint32_t attrs,
                              tn_xla_bundle_v1_t handlers) {
  d->size = 0;
  put_u32s(d, TN_XLA_DESCRIPTOR_MAGIC, minor);
  put_u32s(d, args, rets);
  put_u32s(d, attrs, (uint32_t)-1);
  put(d, &handlers, sizeof handlers);
}

static inline void put_buffer(descriptor_t *d, int32_t dtype, uint32_t rank, const int64_t *dims) {
  put_u32s(d, (uint32_t)dtype, rank);
  put(d, dims, rank * sizeof *dims);
}

static inline void put_name(descriptor_t *d, uint32_t kind, const char *name) {
  put_u32s(d, kind, (uint32_t)strlen(name));
  put(d, name, strlen(name));
}

static inline void put_scalar(descriptor_t *d, const char *name, int32_t dtype, const void *value) {
  put_name(d, TN_XLA_SCALAR, name);
  put_u32s(d, (uint32_t)dtype, (uint32_t)tn_xla_dtype_size(dtype));
  put(d, value, tn_xla_dtype_size(dtype));
}

/* Prepares a call in new memory. Returns null, and sets the last error, if the descriptor is refused. */
static inline void *prepare(const descriptor_t *d) {
  size_t size = 0;
  if (tn_xla_frame_size(d->bytes, d->size, &size) != TN_OK) return NULL;
  void *memory = NULL;
  if (tn_memory_allocate(size, 64, &memory) != TN_OK) return NULL;
  memset(memory, 0xa5, size);
  if (tn_xla_frame_build(d->bytes, d->size, memory, size) == TN_OK) return memory;
  tn_memory_free(memory);
  return NULL;
}

/* The buffer whose `data` a caller sets. Handlers get a copy. */
static inline tn_xla_buffer_t *buffer_of(void *call, size_t index) {
  uint32_t offset = 0;
  memcpy(&offset, (const uint8_t *)call + offsetof(tn_xla_call_head_t, buffers_offset), sizeof offset);
  return (tn_xla_buffer_t *)(void *)((uint8_t *)call + offset) + index;
}

/* The dimensions that a caller may set, those of the first buffer first. */
static inline int64_t *dims_of(void *call) {
  uint32_t offset = 0;
  memcpy(&offset, (const uint8_t *)call + offsetof(tn_xla_call_head_t, dims_offset), sizeof offset);
  return (int64_t *)(void *)((uint8_t *)call + offset);
}

static inline void finish(void *call) {
  tn_xla_close(call);
  tn_memory_free(call);
}

/* A failure: its code, its stage, and its NUL-terminated text. */
typedef struct {
  int32_t code, stage;
  char text[1024];
} failure_t;

static inline failure_t failure_of(void *call) {
  failure_t failure = {-1, -1, ""};
  size_t length = 0;
  if (tn_xla_failure(call, &failure.code, &failure.stage, failure.text, sizeof failure.text - 1, &length) == TN_OK)
    failure.text[length] = '\0';
  return failure;
}

#endif
