/* frame.c: untrusted descriptors. A handler checks that all pointers of an accepted frame stay inside its block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_xla.h"
#include "tenon/xla_ffi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const tn_guard_t tn_guard;

static const uint8_t *block;
static size_t block_size;

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "the frame is wrong: %s\n", what);
  abort();
}

static void require_inside(const void *at, size_t size, size_t alignment, const char *what) {
  const uintptr_t start = (uintptr_t)block, found = (uintptr_t)at;
  require(found >= start && found - start <= block_size && size <= block_size - (found - start), what);
  require(found % alignment == 0, what);
}

static void follow_buffer(const tn_xla_buffer_t *buffer, int32_t type) {
  require(type == TN_XLA_BUFFER, "the type of a buffer");
  require_inside(buffer, sizeof *buffer, 8, "a buffer");
  require(buffer->rank >= 0 && buffer->data == NULL, "a buffer's fields");
  require_inside(buffer->dims, (size_t)buffer->rank * sizeof *buffer->dims, 8, "dimensions");
  for (int64_t i = 0; i < buffer->rank; i++) require(buffer->dims[i] >= 0, "a dimension");
}

static void follow_attrs(const tn_xla_attrs_t *attrs);

static void follow_value(const void *value, int32_t type) {
  switch (type) {
    case TN_XLA_SCALAR: {
      const tn_xla_scalar_t *scalar = value;
      require_inside(scalar, sizeof *scalar, 8, "a scalar");
      require_inside(scalar->value, 1, 16, "the value of a scalar");
      return;
    }
    case TN_XLA_ARRAY: {
      const tn_xla_array_t *array = value;
      require_inside(array, sizeof *array, 8, "an array");
      require_inside(array->data, array->size, 16, "the data of an array");
      return;
    }
    case TN_XLA_STRING: {
      const tn_xla_span_t *span = value;
      require_inside(span, sizeof *span, 8, "a string");
      require_inside(span->ptr, span->len, 1, "the bytes of a string");
      return;
    }
    default:
      require(type == TN_XLA_DICTIONARY, "the type of an attribute");
      require_inside(value, sizeof(tn_xla_attrs_t), 8, "a dictionary");
      follow_attrs(value);
  }
}

static void follow_attrs(const tn_xla_attrs_t *attrs) {
  for (int64_t i = 0; i < attrs->size; i++) {
    require_inside(attrs->names[i], sizeof **attrs->names, 8, "a name");
    require(attrs->names[i]->len > 0, "the length of a name");
    require_inside(attrs->names[i]->ptr, attrs->names[i]->len, 1, "the bytes of a name");
    follow_value(attrs->attrs[i], attrs->types[i]);
  }
}

static tn_xla_error_t *follow_frame(tn_xla_call_frame_t *frame) {
  for (int64_t i = 0; i < frame->args.size; i++) follow_buffer(frame->args.args[i], frame->args.types[i]);
  for (int64_t i = 0; i < frame->rets.size; i++) follow_buffer(frame->rets.rets[i], frame->rets.types[i]);
  follow_attrs(&frame->attrs);
  return NULL;
}

/* Builds the frame in a block of the exact size and runs the handler. */
static void build(const void *descriptor, size_t size) {
  size_t needed = 0;
  if (tn_xla_frame_size(descriptor, size, &needed) != TN_OK) return;
  uint8_t *memory = aligned_alloc(64, needed);
  if (memory == NULL) return;
  block = memory;
  block_size = needed;
  require(tn_xla_frame_build(descriptor, size, memory, needed) == TN_OK, "a measured descriptor cannot be built");
  require(tn_xla_execute(memory) == TN_OK, "an accepted call does not run");
  require(tn_xla_close(memory) == TN_OK, "an accepted call does not close");
  free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int installed;
  if (!installed) installed = tn_guard_install(&tn_guard) == TN_OK;
  const size_t handlers = 24;
  tn_xla_bundle_v1_t bundle = {NULL, NULL, NULL, follow_frame};
  uint8_t *descriptor = malloc(size > 0 ? size : 1);
  if (descriptor == NULL) return 0;
  if (size > 0) memcpy(descriptor, data, size);
  /* The caller guarantees the addresses of handlers. The fuzzer chooses everything else. */
  if (size >= handlers + sizeof bundle) memcpy(descriptor + handlers, &bundle, sizeof bundle);
  build(descriptor, size);
  free(descriptor);
  return 0;
}
