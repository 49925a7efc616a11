/* The functions for strings, buffers, messages and the time. */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "internal.h"
#include "tenon_tstring.h"

void TF_StringInit(TF_TString *string) { tn_string_init(string); }
void TF_StringCopy(TF_TString *string, const char *bytes, size_t size) { (void)tn_tstring_copy(string, bytes, size); }
void TF_StringAssignView(TF_TString *string, const char *bytes, size_t size) { (void)tn_tstring_assign_view(string, bytes, size); }
const char *TF_StringGetDataPointer(const TF_TString *string) { return tn_tstring_get_data_pointer(string); }
TF_TString_Type TF_StringGetType(const TF_TString *string) { return (TF_TString_Type)tn_tstring_get_type(string); }
size_t TF_StringGetSize(const TF_TString *string) { return tn_tstring_get_size(string); }
size_t TF_StringGetCapacity(const TF_TString *string) { return tn_tstring_get_capacity(string); }
void TF_StringDealloc(TF_TString *string) { tn_tstring_dealloc(string); }

TF_Buffer *TF_NewBuffer(void) { return calloc(1, sizeof(TF_Buffer)); }

static void free_copy(void *data, size_t length) {
  (void)length;
  free(data);
}

TF_Buffer *TF_NewBufferFromString(const void *bytes, size_t size) {
  TF_Buffer *buffer = TF_NewBuffer();
  void *copy = malloc(size == 0 ? 1 : size);
  if (buffer == NULL || copy == NULL) return free(buffer), free(copy), NULL;
  if (size > 0) memcpy(copy, bytes, size);
  *buffer = (TF_Buffer){copy, size, free_copy};
  return buffer;
}

void TF_DeleteBuffer(TF_Buffer *buffer) {
  if (buffer == NULL) return;
  if (buffer->data_deallocator != NULL) buffer->data_deallocator((void *)(uintptr_t)buffer->data, buffer->length);
  free(buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer *buffer) { return *buffer; }

void TF_Log(TF_LogLevel level, const char *format, ...) {
  static const char letters[] = "IWEF";
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  /* A fatal message does not end the process. */
  fprintf(stderr, "%c tensorflow: %s\n", letters[(unsigned)level & 3], message);
}

void TF_VLog(int level, const char *format, ...) { (void)level, (void)format; }
void TF_DVLog(int level, const char *format, ...) { (void)level, (void)format; }

uint64_t TF_NowNanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t TF_NowMicros(void) { return TF_NowNanos() / 1000; }
uint64_t TF_NowSeconds(void) { return TF_NowNanos() / 1000000000; }
