/* The exception guard: the only C++ of the core, in a library of its own, so that the core needs no C++ runtime. */
#include <cstring>
#include <exception>

#if defined(__GLIBCXX__) || defined(_LIBCPPABI_VERSION)
#include <cxxabi.h>
#endif

#include "tenon_call.h"

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

/* Called from Node, native code runs on a stack that AddressSanitizer doesn't know, so it doesn't notice that an exception
 * left frames: what they had marked as out of bounds would be held against the frames that come to lie there. */
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
  forget_left_frames();
  return TN_EXCEPTION;
}
