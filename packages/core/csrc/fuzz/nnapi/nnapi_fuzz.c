/* nnapi/: untrusted programs. Programs that tn_nn_check() accepts stay inside the memory of their tensors. */
#include "fuzz/nnapi/nnapi_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nnapi_run_bytes(data, size);
  return 0;
}
