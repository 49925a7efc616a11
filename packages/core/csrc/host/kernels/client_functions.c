#include "client_functions.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

/* An error that the client has raised. */
typedef struct raised {
  struct raised *next;
  TVMFFIObjectHandle error; /* retained */
  uint32_t id;
} raised_t;

/* A kernel may call functions on any of its threads. The lock is held for a whole call, so that calls wait for each other,
 * and the end of the request for the last of them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tn__request_t *current; /* null when no function can be called */
static uint64_t run_number;    /* of the request that was begun last */
static raised_t *raised;

typedef struct {
  uint32_t id;
  uint64_t run; /* the request that the function belongs to */
} function_t;

void tn__client_calls_begin(tn__request_t *request) {
  pthread_mutex_lock(&lock);
  current = request;
  run_number++;
  pthread_mutex_unlock(&lock);
}

void tn__client_calls_end(void) {
  pthread_mutex_lock(&lock);
  current = NULL;
  while (raised != NULL) {
    raised_t *first = raised;
    raised = first->next;
    tn__ffi.TVMFFIObjectDecRef(first->error);
    free(first);
  }
  pthread_mutex_unlock(&lock);
}

bool tn__client_error_id(TVMFFIObjectHandle error, uint32_t *id) {
  bool is_found = false;
  pthread_mutex_lock(&lock);
  for (const raised_t *each = raised; each != NULL && !is_found; each = each->next) {
    is_found = each->error == error;
    if (is_found) *id = each->id;
  }
  pthread_mutex_unlock(&lock);
  return is_found;
}

static int malformed(void) { return tn__raise_error("RuntimeError", "the answer of a function of the client is malformed"); }

static bool read_text(tn__pack_reader_t *reader, TVMFFIByteArray *out) {
  tn__pack_item_t item;
  if (!tn__pack_read(reader, &item) || item.kind != TN__PACK_STR) return false;
  *out = (TVMFFIByteArray){(const char *)item.bytes, item.size};
  return true;
}

/* Raises the error that the client has thrown: [1, kind, message, traceback, id]. */
static int raise_thrown(tn__pack_reader_t *reader) {
  TVMFFIByteArray kind, message, traceback;
  tn__pack_item_t id;
  TVMFFIObjectHandle error = NULL;
  if (!read_text(reader, &kind) || !read_text(reader, &message) || !read_text(reader, &traceback) ||
      !tn__pack_read(reader, &id))
    return malformed();
  if (tn__ffi.TVMFFIErrorCreate(&kind, &message, &traceback, &error) != 0) return -1;
  tn__ffi.TVMFFIErrorSetRaised(error);
  raised_t *entry = id.kind == TN__PACK_INT ? malloc(sizeof *entry) : NULL;
  if (entry == NULL) {
    tn__ffi.TVMFFIObjectDecRef(error);
    return -1;
  }
  *entry = (raised_t){raised, error, (uint32_t)id.integer};
  raised = entry;
  return -1;
}

static int read_answer(const uint8_t *bytes, size_t size, TVMFFIAny *result) {
  tn__value_reader_t reader = {current, {bytes, size}, tn__client_function, NULL};
  tn__pack_item_t head, kind;
  if (!tn__pack_read(&reader.bytes, &head) || head.kind != TN__PACK_ARRAY || !tn__pack_read(&reader.bytes, &kind) ||
      kind.kind != TN__PACK_INT)
    return malformed();
  if (head.size == 5 && kind.integer == 1) return raise_thrown(&reader.bytes);
  if (head.size != 2 || kind.integer != 0) return malformed();
  return tn__value_read(&reader, result) ? 0 : tn__raise_error("RuntimeError", reader.wrong);
}

/* Writes the call into the body of the request. 0, or -1 with an error raised. */
static int write_call(uint32_t id, const TVMFFIAny *args, int32_t count) {
  tn__value_writer_t writer = {current, tn__pack_writer(current->reply, TN_HOST_BODY_SIZE), NULL};
  tn__pack_array(&writer.bytes, 2);
  tn__pack_int(&writer.bytes, id);
  int status = tn__values_write(&writer, args, count);
  if (status == 0 && (writer.bytes.is_own || writer.bytes.has_failed))
    status = tn__raise_error("ValueError", "the arguments of a function of the client must fit into 16384 bytes");
  current->slot->length = (uint32_t)writer.bytes.used;
  tn__pack_free(&writer.bytes);
  return status;
}

static int call(uint32_t id, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  if (write_call(id, args, count) != 0) return -1;
  const int32_t status = tn_host_call_back(current->index);
  const uint32_t length = *(volatile uint32_t *)&current->slot->length;
  tn__clear_answer(current);
  if (status != TN_OK) return tn__raise_error("RuntimeError", "the client could not be called");
  uint8_t *answer = length > TN_HOST_BODY_SIZE ? NULL : malloc((size_t)length + 1);
  if (answer == NULL) return malformed();
  memcpy(answer, current->reply, length);
  const int read = read_answer(answer, length, result);
  free(answer);
  return read;
}

static int call_client(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  const function_t *function = self;
  pthread_mutex_lock(&lock);
  const int status = current != NULL && function->run == run_number
                         ? call(function->id, args, count, result)
                         : tn__raise_error("RuntimeError", "a function of the client can only be called during the call "
                                                           "that it was passed to");
  pthread_mutex_unlock(&lock);
  return status;
}

int tn__client_function(uint32_t id, TVMFFIAny *out) {
  function_t *function = malloc(sizeof *function);
  TVMFFIObjectHandle object = NULL;
  if (function == NULL) return tn__raise_error("MemoryError", "out of memory for a function");
  *function = (function_t){id, run_number};
  if (tn__ffi.TVMFFIFunctionCreate(function, call_client, free, &object) != 0) {
    free(function);
    return -1;
  }
  *out = (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = object};
  return 0;
}
