#include <string.h>

#include "client_functions.h"
#include "packed_errors.h"
#include "value.h"

/* The texts of an error, cut so that the error and its causes fit into a body. */
typedef struct {
  size_t kind, message, traceback;
} limits_t;

#define MOST_CAUSES 6
static const limits_t of_error = {200, 6000, 3000}, of_cause = {100, 700, 250};

static void write_text(tn__pack_writer_t *writer, TVMFFIByteArray text, size_t limit) {
  size_t size = text.size;
  if (size > limit) {
    /* Not within a character of UTF-8. */
    for (size = limit; size > limit - 3 && ((uint8_t)text.data[size] & 0xc0) == 0x80;) size--;
  }
  tn__pack_str(writer, text.data, size);
}

static void write_parts(tn__pack_writer_t *writer, const TVMFFIErrorCell *cell, limits_t limits) {
  write_text(writer, cell->kind, limits.kind);
  write_text(writer, cell->message, limits.message);
  write_text(writer, cell->backtrace, limits.traceback);
}

static void write_id(tn__pack_writer_t *writer, TVMFFIObjectHandle error) {
  uint32_t id;
  if (tn__client_error_id(error, &id))
    tn__pack_int(writer, id);
  else
    tn__pack_nil(writer);
}

/* Only errors with the deleter of the bound library are known to have a cause; errors of older versions lack the field. */
static TVMFFIObject *cause_of(const TVMFFIObject *error) {
  const TVMFFIByteArray empty = {"", 0};
  TVMFFIObjectHandle probe = NULL;
  if (tn__ffi.TVMFFIErrorCreateWithCauseAndExtraContext == NULL) return NULL;
  if (tn__ffi.TVMFFIErrorCreate(&empty, &empty, &empty, &probe) != 0) return NULL;
  const bool is_own = ((TVMFFIObject *)probe)->deleter == error->deleter;
  tn__ffi.TVMFFIObjectDecRef(probe);
  return is_own ? TVMFFIErrorGetCellPtr((TVMFFIObjectHandle)(uintptr_t)error)->cause_chain : NULL;
}

static void write_error(tn__pack_writer_t *writer, TVMFFIObject *error) {
  TVMFFIObject *causes[MOST_CAUSES];
  size_t count = 0;
  for (TVMFFIObject *each = cause_of(error); each != NULL && count < MOST_CAUSES; each = cause_of(each)) causes[count++] = each;
  tn__pack_array(writer, 5);
  write_parts(writer, TVMFFIErrorGetCellPtr(error), of_error);
  tn__pack_array(writer, count);
  for (size_t i = 0; i < count; i++) {
    tn__pack_array(writer, 4);
    write_parts(writer, TVMFFIErrorGetCellPtr(causes[i]), of_cause);
    write_id(writer, causes[i]);
  }
  write_id(writer, error);
}

int32_t tn__answer_raised(tn__request_t *request) {
  TVMFFIObjectHandle error = NULL;
  tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) {
    tn__raise_error("RuntimeError", "a native function failed and raised no error");
    tn__ffi.TVMFFIErrorMoveFromRaised(&error);
  }
  if (error == NULL) return tn__refuse(request, TN_OUT_OF_MEMORY, "no memory for an error");
  tn__pack_writer_t writer = tn__pack_writer(request->reply, TN_HOST_BODY_SIZE);
  write_error(&writer, error);
  tn__ffi.TVMFFIObjectDecRef(error);
  const int32_t status = tn__answer_error(request, TN_HOST_PACKED_ERROR, TN_KERNEL_FAILED, (const char *)writer.bytes,
                                          writer.has_failed ? 0 : writer.used);
  tn__pack_free(&writer);
  return status;
}
