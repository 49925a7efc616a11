/* The Arrow structs that the JavaScript of a thread owns. They are released when it closes or collects what has them, and the rest at its end. */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tenon_arrow.h"

struct tn_arrow_owned {
  tn_arrow_owned_t *next, **at;
  uint32_t kind;
  union {
    tn_arrow_schema_t schema;
    tn_arrow_array_t array;
    tn_arrow_stream_t stream;
  } as;
};

/* Of this thread. The hook of its end is added with the first one. */
static _Thread_local tn_arrow_owned_t *first;
static _Thread_local bool has_hook;

static void unlink_owned(tn_arrow_owned_t *owned) {
  *owned->at = owned->next;
  if (owned->next != NULL) owned->next->at = owned->at;
}

static void release_struct(tn_arrow_owned_t *owned) {
  switch (owned->kind) {
    case TN_ARROW_SCHEMA:
      if (owned->as.schema.release != NULL) owned->as.schema.release(&owned->as.schema);
      break;
    case TN_ARROW_ARRAY:
      if (owned->as.array.release != NULL) owned->as.array.release(&owned->as.array);
      break;
    default:
      if (owned->as.stream.release != NULL) owned->as.stream.release(&owned->as.stream);
  }
}

void tn_arrow_release(tn_arrow_owned_t *owned) {
  /* The callback may throw a C++ exception, or end this thread. */
  unlink_owned(owned);
  release_struct(owned);
  free(owned);
}

static int32_t release_all(tn_call_frame_t *frame) {
  (void)frame;
  while (first != NULL) tn_arrow_release(first);
  return 0;
}

static void end(void *data) {
  (void)data;
  /* An exception ends the call, but not the release of the others. */
  while (first != NULL) tn_environment_run(tn_environment_current(), release_all);
  has_hook = false;
}

static size_t size_of(uint32_t kind) {
  return kind == TN_ARROW_SCHEMA  ? sizeof(tn_arrow_schema_t)
         : kind == TN_ARROW_ARRAY ? sizeof(tn_arrow_array_t)
                                  : sizeof(tn_arrow_stream_t);
}

int32_t tn_arrow_create(uint32_t kind, uint64_t *out) {
  TN_REQUIRE(kind <= TN_ARROW_STREAM && out != NULL, "kind and out must be valid");
  if (!has_hook) {
    const int32_t status = tn_environment_on_end(end, NULL);
    if (status != TN_OK) return status;
    has_hook = true;
  }
  tn_arrow_owned_t *owned = calloc(1, sizeof *owned);
  if (owned == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot allocate an Arrow struct");
  owned->kind = kind;
  owned->next = first;
  owned->at = &first;
  if (first != NULL) first->at = &owned->next;
  first = owned;
  out[0] = (uintptr_t)owned;
  out[1] = (uintptr_t)&owned->as;
  return TN_OK;
}

static bool is_released(uint32_t kind, const void *source) {
  return kind == TN_ARROW_SCHEMA  ? ((const tn_arrow_schema_t *)source)->release == NULL
         : kind == TN_ARROW_ARRAY ? ((const tn_arrow_array_t *)source)->release == NULL
                                  : ((const tn_arrow_stream_t *)source)->release == NULL;
}

int32_t tn_arrow_take(uint32_t kind, void *source, uint64_t *out) {
  TN_REQUIRE(source != NULL && kind <= TN_ARROW_STREAM, "source and kind must be valid");
  if (is_released(kind, source)) return tn__fail(TN_NOT_FOUND, "the struct is released already");
  const int32_t status = tn_arrow_create(kind, out);
  if (status != TN_OK) return status;
  memcpy((void *)(uintptr_t)out[1], source, size_of(kind));
  if (kind == TN_ARROW_SCHEMA)
    ((tn_arrow_schema_t *)source)->release = NULL;
  else if (kind == TN_ARROW_ARRAY)
    ((tn_arrow_array_t *)source)->release = NULL;
  else
    ((tn_arrow_stream_t *)source)->release = NULL;
  return TN_OK;
}
