/* The exception guard: the only C++ of the core, in a library of its own, so that the core needs no C++ runtime. */
#include <cstring>
#include <exception>

#if defined(__GLIBCXX__) || defined(_LIBCPPABI_VERSION)
#include <cxxabi.h>
#endif

#include "tenon.h"

namespace {

void report(char *message, size_t capacity, const char *text) {
  if (capacity == 0) return;
  const size_t length = strnlen(text, capacity - 1);
  std::memcpy(message, text, length);
  message[length] = '\0';
}

}  // namespace

/* Implements tn_guard_t of tenon.h. Any thread; nothing is allocated. */
extern "C" TN_API int32_t tn_guard(void (*body)(void *), void *context, char *message, size_t capacity) {
  try {
    body(context);
    return TN_OK;
  } catch (const std::exception &exception) {
    report(message, capacity, exception.what());
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind &) {
    throw;  // the thread is being cancelled: stopping that would abort the process
#endif
  } catch (...) {
    report(message, capacity, "unknown");
  }
  return TN_EXCEPTION;
}
