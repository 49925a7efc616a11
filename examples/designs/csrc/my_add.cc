/* Functions of the document of TVM's runtime. */
#include <tenon/packed_func.h>

using namespace tenon;

// example: myAdd
void MyAdd(TVMArgs args, TVMRetValue *rv) {
  // automatically convert arguments to desired type.
  int a = args[0];
  int b = args[1];
  // automatically assign value return to rv
  *rv = a + b;
}
TN_PACKED_FUNC(my_add, MyAdd);
// end

// example: callHello
TN_PACKED_FUNC(callhello, [](TVMArgs args, TVMRetValue *) {
  PackedFunc f = args[0];
  f("hello world");
});
// end

// example: addOneCpu
void AddOne(DLTensor *x, DLTensor *y) {
  // Validate inputs
  if (x->ndim != 1 || y->ndim != 1) throw Error("ValueError", "x and y must be 1D tensors");
  if (x->dtype.code != kDLFloat || x->dtype.bits != 32) throw Error("ValueError", "x must be a float tensor");
  if (y->dtype.code != kDLFloat || y->dtype.bits != 32) throw Error("ValueError", "y must be a float tensor");
  if (x->shape[0] != y->shape[0]) throw Error("ValueError", "x and y must have the same shape");
  // Perform the computation
  for (int i = 0; i < x->shape[0]; ++i) {
    static_cast<float *>(y->data)[i] = static_cast<float *>(x->data)[i] + 1;
  }
}
TN_TYPED_PACKED_FUNC(add_one_cpu, AddOne);
// end
