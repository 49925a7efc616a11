/* The exception guard, the only C++ of the core. A library of its own, so that the core needs no C++ runtime. */
#include <unwind.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <typeinfo>

#include <cxxabi.h>

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

#if defined(__GLIBC__) && !defined(__GLIBCXX__)
/* glibc throws it to cancel a thread, through the C++ runtime of the process. The headers of libc++ lack it. */
namespace __cxxabiv1 {
class __forced_unwind {
  virtual ~__forced_unwind() throw();
  virtual void __pure_dummy() = 0;
};
}  // namespace __cxxabiv1
#endif

namespace {

/* AddressSanitizer does not notice that an exception has left frames of the stack that native code runs on.
 * Without this, the red zones of those frames would be reported as errors of later frames. */
inline void forget_left_frames() {
#if defined(TN_ASAN)
  const size_t depth = 256 * 1024;
  __asan_unpoison_memory_region(static_cast<char *>(__builtin_frame_address(0)) - depth, depth);
#endif
}

/* Writes "text (type)", or only the text if it is the type. A long text is cut, so that the type fits. */
void report(char *message, size_t capacity, const char *text, const char *type) {
  if (capacity == 0) return;
  const size_t room = capacity - 1;
  const bool has_suffix = std::strcmp(text, type) != 0 && room >= 32;
  const size_t suffix = has_suffix ? strnlen(type, room / 2) : 0;
  const size_t length = strnlen(text, has_suffix ? room - suffix - 3 : room);
  char *end = static_cast<char *>(std::memcpy(message, text, length)) + length;
  if (has_suffix) {
    *end++ = ' ';
    *end++ = '(';
    end = static_cast<char *>(std::memcpy(end, type, suffix)) + suffix;
    *end++ = ')';
  }
  *end = '\0';
}

/* The name of the type of the exception that is being handled, as in C++. */
class type_name {
 public:
  type_name() {
    const std::type_info *const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return;
    int status;
    // The result is null without memory, and the lack of memory may be why the exception was thrown.
    readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    name = readable == nullptr ? type->name() : readable;
  }
  type_name(const type_name &) = delete;
  type_name &operator=(const type_name &) = delete;
  ~type_name() { std::free(readable); }
  const char *get() const { return name; }

 private:
  char *readable = nullptr;
  const char *name = "foreign exception";
};

/* Copies the text and the type of the exception that is being handled, and returns its status. */
int32_t report_current(char *message, size_t capacity) {
  try {
    throw;
  } catch (const std::bad_array_new_length &exception) {
    // A wrong length, although it is a bad_alloc.
    report(message, capacity, exception.what(), type_name().get());
  } catch (const std::bad_alloc &exception) {
    report(message, capacity, exception.what(), type_name().get());
    return TN_OUT_OF_MEMORY;
  } catch (const std::exception &exception) {
    report(message, capacity, exception.what(), type_name().get());
  } catch (const std::string &text) {
    report(message, capacity, text.c_str(), "std::string");
  } catch (const char *text) {
    report(message, capacity, text == nullptr ? "null" : text, "const char*");
  } catch (...) {
    report(message, capacity, "unknown", type_name().get());
  }
  return TN_EXCEPTION;
}

/* The end of a thread is an exception without an object, which the runtime binds to the reference as null. It is not read. */
__attribute__((no_sanitize("null"))) int32_t run(void (*body)(void *), void *context, char *message, size_t capacity) {
  int32_t status;
  try {
    body(context);
    return TN_OK;
#if defined(__GLIBCXX__) || defined(__GLIBC__)
  } catch (const abi::__forced_unwind &) {
    throw;  // The thread is being cancelled; stopping that would abort the process.
#endif
  } catch (...) {
    status = report_current(message, capacity);
  }
  forget_left_frames();
  return status;
}

// Where a frame of tn__invoke() goes on. The headers of GNU and LLVM have different types for addresses.
uintptr_t landing_of(_Unwind_Context *frame) {
  const uintptr_t data = (uintptr_t)_Unwind_GetLanguageSpecificData(frame);
#if defined(_WIN32)
  // The data are in a section of their own, and contain the distance of the code.
  int32_t distance;
  std::memcpy(&distance, reinterpret_cast<const void *>(data), sizeof distance);
  return data + distance;
#else
  return data;
#endif
}

int32_t unwind(int32_t actions, void *exception, void *context) {
  if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
  _Unwind_Context *const frame = static_cast<_Unwind_Context *>(context);
  _Unwind_SetGR(frame, __builtin_eh_return_data_regno(0), reinterpret_cast<uintptr_t>(exception));
  _Unwind_SetIP(frame, landing_of(frame));
  return _URC_INSTALL_CONTEXT;
}

int32_t take(void *exception, char *message, size_t capacity) {
  abi::__cxa_begin_catch(exception);
  const int32_t status = report_current(message, capacity);
  abi::__cxa_end_catch();
  forget_left_frames();
  return status;
}

}  // namespace

/* The functions of tenon_call.h. They may be called on any thread, and allocate only for the name of a type. */
extern "C" {
extern TN_API const tn_guard_t tn_guard;
const tn_guard_t tn_guard = {run, unwind, take};
}
