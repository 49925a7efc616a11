/* The exception guard, the only C++ of the core. A library of its own, so that the core needs no C++ runtime. */
#include <cstring>
#include <exception>

#if defined(__GLIBCXX__) || defined(_LIBCPPABI_VERSION)
#include <cxxabi.h>
#endif

extern "C" {
#include "tenon_call.h"
}

#if defined(__SANITIZE_ADDRESS__)
#define TN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_ASAN 1
#endif
#endif
#if defined(TN_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace {

/* Node calls native code on a stack that AddressSanitizer does not know, so it does not notice that an exception has
 * left frames. Without this, the red zones of those frames would be reported as errors of later frames. */
inline void forget_left_frames() {
#if defined(TN_ASAN)
  const size_t depth = 256 * 1024;
  __asan_unpoison_memory_region(static_cast<char *>(__builtin_frame_address(0)) - depth, depth);
#endif
}

void report(char *message, size_t capacity, const char *text) {
  if (capacity == 0) return;
  const size_t length = strnlen(text, capacity - 1);
  std::memcpy(message, text, length);
  message[length] = '\0';
}

}  // namespace

/* The guard as tn_guard_t of tenon_call.h describes it. It may be called on any thread and allocates nothing. */
extern "C" TN_API int32_t tn_guard(void (*body)(void *), void *context, char *message, size_t capacity) {
  try {
    body(context);
    return TN_OK;
  } catch (const std::exception &exception) {
    report(message, capacity, exception.what());
#if defined(__GLIBCXX__)
  } catch (const abi::__forced_unwind &) {
    throw;  // The thread is being cancelled; stopping that would abort the process.
#endif
  } catch (...) {
    report(message, capacity, "unknown");
  }
  forget_left_frames();
  return TN_EXCEPTION;
}
