/* The C ABI of tvm-ffi, as its quick start shows it. */
#include <tenon/tvm_ffi.h>

// example: addOneC
static int ReadDLTensorPtr(const TVMFFIAny *value, DLTensor **out) {
  if (value->type_index == kTVMFFIDLTensorPtr) {
    *out = (DLTensor *)value->v_ptr;
    return 0;
  }
  if (value->type_index != kTVMFFITensor) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "Expects a Tensor input");
    return -1;
  }
  *out = (DLTensor *)(value->v_obj + 1);
  return 0;
}

TVM_FFI_EXPORT int __tvm_ffi_add_one_c(void *handle, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  DLTensor *x, *y;
  (void)handle, (void)num_args, (void)result;
  if (ReadDLTensorPtr(&args[0], &x) == -1) return -1;
  if (ReadDLTensorPtr(&args[1], &y) == -1) return -1;
  for (int i = 0; i < x->shape[0]; ++i) {
    ((float *)y->data)[i] = ((float *)x->data)[i] + 1;
  }
  return 0;
}
// end
