/* The streams of devices, on which kernels run. Each thread has its own. */
#include "error.h"
#include "host.h"

void tn_packed_get_stream(TVMFFIAny *slot, int32_t device_type, int32_t device_id) {
  *slot = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = tn__ffi.TVMFFIEnvGetStream(device_type, device_id)};
}

int32_t tn_packed_set_stream(TVMFFIAny *slot, int32_t device_type, int32_t device_id) {
  void *former = NULL;
  if (tn__ffi.TVMFFIEnvSetStream(device_type, device_id, slot->v_ptr, &former) != 0) return tn__take_error(slot);
  slot->v_ptr = former;
  return 0;
}
