/* The registry of functions of the untyped conventions, for sources that use the macro of XLA:
 *
 *   #include "xla/service/custom_call_target_registry.h"
 *
 *   static void do_custom_call(void *out, const void **in) { ... }
 *   XLA_REGISTER_CUSTOM_CALL_TARGET(do_custom_call, "Host");
 *
 * The function is registered when its library is loaded, and need not be exported. Compile with the include directory of @tenon/core.
 * tenon/xla_custom_call.h describes the conventions; a registration does not tell which of them a function has.
 *
 * Objects that were compiled with the header of XLA itself call functions of C++ instead, which the core has for libstdc++. */
#ifndef TENON_XLA_SERVICE_CUSTOM_CALL_TARGET_REGISTRY_H
#define TENON_XLA_SERVICE_CUSTOM_CALL_TARGET_REGISTRY_H

#include <string>

#include "tenon/xla_custom_call.h"

namespace xla {

/* The functions that all libraries of the process register. It is hidden, so that it is not taken for the class of XLA. */
class __attribute__((visibility("hidden"))) CustomCallTargetRegistry {
 public:
  static CustomCallTargetRegistry *Global() {
    static CustomCallTargetRegistry registry;
    return &registry;
  }

  /* Registers a function. One that has the name of another function on the platform is refused. */
  void Register(const std::string &symbol, void *address, const std::string &platform) {
    tn_xla_register_function(symbol.data(), symbol.size(), platform.data(), platform.size(), address);
  }

  /* Returns the function, or null. */
  void *Lookup(const std::string &symbol, const std::string &platform) const {
    return tn_xla_registered_function(symbol.data(), symbol.size(), platform.data(), platform.size());
  }
};

}  // namespace xla

#define TN_XLA_REGISTERED_NAME(counter) tn_xla_registered_##counter
#define TN_XLA_REGISTER_COUNTED(symbol, address, platform, counter)                      \
  [[maybe_unused]] static const bool TN_XLA_REGISTERED_NAME(counter) =                   \
      (::xla::CustomCallTargetRegistry::Global()->Register(                              \
           symbol, reinterpret_cast<void *>(address), platform),                         \
       true)
#define TN_XLA_REGISTER_EXPANDED(symbol, address, platform, counter) \
  TN_XLA_REGISTER_COUNTED(symbol, address, platform, counter)

/* Registers a function under its own name, or under another one. The platform is "Host", "CUDA" or "ROCM". */
#define XLA_REGISTER_CUSTOM_CALL_TARGET(function, platform) \
  XLA_REGISTER_CUSTOM_CALL_TARGET_WITH_SYM(#function, function, platform)
#define XLA_REGISTER_CUSTOM_CALL_TARGET_WITH_SYM(symbol, address, platform) \
  TN_XLA_REGISTER_EXPANDED(symbol, address, platform, __COUNTER__)

#endif
