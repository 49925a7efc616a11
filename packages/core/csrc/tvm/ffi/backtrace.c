/* Backtraces: the place that the caller names and, if the program enables them, the calls in progress. Walking the
 * stack costs several microseconds for each error, so it is disabled by default. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"
#include "tenon_tvm.h"

#define TEXT_SIZE 8192
#define UNKNOWN (-1)

/* The number of frames in a backtrace besides the named one: TVM_TRACEBACK_LIMIT, or 0. */
static int32_t limit = UNKNOWN;

static int32_t current_limit(void) {
  int32_t value = __atomic_load_n(&limit, __ATOMIC_RELAXED);
  if (value != UNKNOWN) return value;
  const char *text = getenv("TVM_TRACEBACK_LIMIT");
  long number = text == NULL ? 0 : strtol(text, NULL, 10);
  value = number < 0 ? 0 : number > INT32_MAX ? INT32_MAX : (int32_t)number;
  __atomic_store_n(&limit, value, __ATOMIC_RELAXED);
  return value;
}

int32_t tn_tvm_set_backtrace_limit(int32_t frames) {
  int32_t before = current_limit();
  __atomic_store_n(&limit, frames < 0 ? 0 : frames, __ATOMIC_RELAXED);
  return before;
}

typedef char *(*demangle_t)(const char *name, char *buffer, size_t *size, int *status);

static demangle_t demangler(void) {
  static const char name[] = "__cxa_demangle";
  void *process, *address = NULL;
  if (tn_library_process(&process) != TN_OK) return NULL;
  if (tn_library_symbol(process, name, sizeof name - 1, &address) != TN_OK) return NULL;
  return (demangle_t)(uintptr_t)address;
}

typedef struct {
  char text[TEXT_SIZE];
  size_t size;
  bool skips;   /* omits the next frame */
  bool crosses; /* continues past the call that entered native code */
} writer_t;

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* Whether a function belongs to the code between a kernel and its error. */
static bool is_machinery(const char *function) {
  static const char *const starts[] = {"tvm::ffi::Function", "tvm::ffi::details::", "__libc_", "ffi_call_"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    if (begins(function, starts[i])) return true;
  return false;
}

/* Appends a whole line, or nothing if it does not fit. */
TN_PRINTF(2, 3) static void append(writer_t *writer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(writer->text + writer->size, TEXT_SIZE - writer->size, format, arguments);
  va_end(arguments);
  if (length > 0 && (size_t)length < TEXT_SIZE - writer->size) writer->size += (size_t)length;
  writer->text[writer->size] = '\0';
}

static bool add_frame(const tn__frame_t *frame, void *context) {
  writer_t *writer = context;
  const char *place = frame->library == NULL ? "<unknown>" : frame->library, *function = frame->function;
  if (!writer->crosses && function != NULL && strcmp(function, "TVMFFIFunctionCall") == 0) return false;
  if (frame->is_own) return true;
  demangle_t demangle = function != NULL && begins(function, "_Z") ? demangler() : NULL;
  int status = -1;
  char *plain = demangle == NULL ? NULL : demangle(function, NULL, NULL, &status);
  const char *name = plain != NULL && status == 0 ? plain : function;
  bool skips = writer->skips;
  if (name == NULL || !is_machinery(name)) {
    writer->skips = false;
    if (!skips && name != NULL) append(writer, "  File \"%s\", line 0, in %s\n", place, name);
    if (!skips && name == NULL) append(writer, "  File \"%s\", line 0, in 0x%zx\n", place, frame->offset);
  }
  free(plain);
  return true;
}

const TVMFFIByteArray *TVMFFIBacktrace(const char *filename, int lineno, const char *func, int cross_ffi_boundary) {
  static _Thread_local writer_t writer;
  static _Thread_local TVMFFIByteArray span;
  int32_t frames = current_limit();
  bool is_named = filename != NULL && func != NULL;
  writer.size = 0;
  writer.text[0] = '\0';
  /* The named place is also the first frame of the walk. */
  writer.skips = is_named;
  writer.crosses = cross_ffi_boundary != 0;
  if (is_named) append(&writer, "  File \"%s\", line %d, in %s\n", filename, lineno, func);
  if (frames > 0) tn__each_frame(frames, add_frame, &writer);
  span = (TVMFFIByteArray){writer.text, writer.size};
  return &span;
}
