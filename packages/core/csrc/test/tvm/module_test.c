/* Modules that the runtime retains for the process. */
#include "support.h"

static uint32_t references(TVMFFIAny module) { return (uint32_t)module.v_obj->combined_ref_count; }

TEST(tvm_a_global_module_is_retained_once_until_it_is_removed) {
  TVMFFIAny module, result;
  CHECK(call_global("ffi.SystemLib", NULL, 0, &module) == 0);
  CHECK(module.type_index == kTVMFFIModule);
  const uint32_t before = references(module);
  CHECK(call_global("ffi.ModuleGlobalsAdd", &module, 1, &result) == 0);
  CHECK(references(module) == before + 1);
  CHECK(call_global("ffi.ModuleGlobalsAdd", &module, 1, &result) == 0);
  CHECK(references(module) == before + 1);
  CHECK(call_global("ffi.ModuleGlobalsRemove", &module, 1, &result) == 0);
  CHECK(references(module) == before);
  CHECK(call_global("ffi.ModuleGlobalsRemove", &module, 1, &result) == 0);
  CHECK(references(module) == before);
  TVMFFIObjectDecRef(module.v_obj);
}

TEST(tvm_only_modules_become_global) {
  TVMFFIAny number = int_value(1), result;
  CHECK(call_global("ffi.ModuleGlobalsAdd", &number, 1, &result) != 0);
  CHECK(raised_is("TypeError", ""));
  CHECK(call_global("ffi.ModuleGlobalsRemove", &number, 1, &result) != 0);
  CHECK(raised_is("TypeError", ""));
}
