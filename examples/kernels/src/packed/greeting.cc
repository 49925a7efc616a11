// A packed function of tvm-ffi in C++. It catches its exceptions and raises them as errors.
#include <exception>
#include <stdexcept>
#include <string>

#include "tenon/tvm_ffi.h"

namespace {

std::string TextOf(const TVMFFIAny &value) {
  switch (value.type_index) {
    case kTVMFFIRawStr:
      return value.v_c_str;
    case kTVMFFISmallStr:
      return std::string(value.v_bytes, value.small_str_len);
    case kTVMFFIStr:
      return std::string(TVMFFIBytesGetByteArrayPtr(value.v_obj)->data, TVMFFIBytesGetByteArrayPtr(value.v_obj)->size);
    default:
      throw std::invalid_argument("a name must be text");
  }
}

// Runs `body` and raises its exceptions as errors, like the C++ functions of tvm-ffi.
template <typename Body>
int Guarded(Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception &error) {
    TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
    return -1;
  }
}

}  // namespace

extern "C" TVM_FFI_EXPORT int __tvm_ffi_greet(void *, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  return Guarded([&] {
    if (num_args != 1) throw std::invalid_argument("greet takes a name");
    std::string text = "Hello, " + TextOf(args[0]) + "!";
    TVMFFIByteArray span = {text.data(), text.size()};
    TVMFFIStringFromByteArray(&span, result);
  });
}
