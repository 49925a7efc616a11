/* Packed functions of tvm-ffi in C: what kernels do with arguments, errors, functions and tensors. They find the TVMFFI
 * functions in the process that loads them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenon/tvm_ffi.h"

#define PACKED(name) \
  TVM_FFI_EXPORT int __tvm_ffi_##name(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result)

static int fail(const char *kind, const char *message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}


/* Does nothing and returns None. */
PACKED(nothing) {
  (void)self, (void)args, (void)num_args, (void)result;
  return 0;
}

/* The sum of its numbers: an int unless one is a float. */
PACKED(sum) {
  (void)self;
  int64_t whole = 0;
  double real = 0;
  int is_real = 0;
  for (int32_t i = 0; i < num_args; i++) {
    if (args[i].type_index == kTVMFFIInt || args[i].type_index == kTVMFFIBool) {
      whole += args[i].v_int64;
    } else if (args[i].type_index == kTVMFFIFloat) {
      is_real = 1;
      real += args[i].v_float64;
    } else {
      return fail("TypeError", "sum takes numbers");
    }
  }
  if (is_real) {
    *result = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = real + (double)whole};
  } else {
    *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = whole};
  }
  return 0;
}

/* Its argument, owned. */
PACKED(echo) {
  (void)self;
  if (num_args != 1) return fail("TypeError", "echo takes one argument");
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* The type index of its argument as it arrives. */
PACKED(type_index) {
  (void)self;
  if (num_args != 1) return fail("TypeError", "type_index takes one argument");
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = args[0].type_index};
  return 0;
}

/* How many references its argument has, an object. */
PACKED(references) {
  (void)self;
  if (num_args != 1 || args[0].type_index < kTVMFFIStaticObjectBegin) return fail("TypeError", "references takes an object");
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = (int64_t)(args[0].v_obj->combined_ref_count & 0xffffffffu)};
  return 0;
}

/* An address that means nothing, or the null pointer without an argument. */
PACKED(some_pointer) {
  static int place;
  (void)self, (void)args;
  *result = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = num_args == 0 ? NULL : &place};
  return 0;
}

/* y = x + 1 for vectors of float32; tensors or lent ones. */
PACKED(add_one) {
  (void)self, (void)result;
  const DLTensor *tensors[2];
  if (num_args != 2) return fail("TypeError", "Expected 2 arguments when calling `add_one(x, y)`");
  for (int i = 0; i < 2; i++) {
    if (args[i].type_index == kTVMFFITensor) {
      tensors[i] = (const DLTensor *)(const void *)(args[i].v_obj + 1);
    } else if (args[i].type_index == kTVMFFIDLTensorPtr) {
      tensors[i] = args[i].v_ptr;
    } else {
      return fail("TypeError", "Mismatched type when calling `add_one(x, y)`, expected Tensor");
    }
    if (tensors[i]->ndim != 1 || tensors[i]->dtype.code != kDLFloat || tensors[i]->dtype.bits != 32)
      return fail("ValueError", "add_one takes vectors of float32");
  }
  if (tensors[0]->shape[0] != tensors[1]->shape[0]) return fail("ValueError", "add_one takes vectors of the same length");
  const float *x = (const float *)(const void *)((const char *)tensors[0]->data + tensors[0]->byte_offset);
  float *y = (float *)(void *)((char *)tensors[1]->data + tensors[1]->byte_offset);
  for (int64_t i = 0; i < tensors[0]->shape[0]; i++) y[i * tensors[1]->strides[0]] = x[i * tensors[0]->strides[0]] + 1;
  return 0;
}

/* Fails with the kind that its argument names. */
PACKED(fail_as) {
  (void)self, (void)result;
  char kind[8] = "";
  if (num_args != 1) return fail("TypeError", "fail_as takes one argument");
  if (args[0].type_index == kTVMFFIRawStr) return fail(args[0].v_c_str, "failed as asked");
  if (args[0].type_index == kTVMFFIStr)
    return fail(((const TVMFFIByteArray *)(const void *)(args[0].v_obj + 1))->data, "failed as asked");
  if (args[0].type_index != kTVMFFISmallStr) return fail("TypeError", "fail_as takes the name of a kind");
  memcpy(kind, args[0].v_bytes, args[0].small_str_len);
  const char *parts[] = {"failed ", NULL, "as asked"};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 3);
  return -1;
}

/* Calls its first argument with the others. */
PACKED(call) {
  (void)self;
  if (num_args < 1 || args[0].type_index != kTVMFFIFunction) return fail("TypeError", "call takes a function");
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny *)(uintptr_t)(args + 1), num_args - 1, result);
}

typedef struct {
  TVMFFIObject *function;
  int status;
  TVMFFIObjectHandle error;
} foreign_call_t;

static void *call_there(void *context) {
  foreign_call_t *call = context;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  call->status = TVMFFIFunctionCall(call->function, NULL, 0, &result);
  if (call->status != 0) TVMFFIErrorMoveFromRaised(&call->error);
  return NULL;
}

/* Calls a function on another thread, waits, and raises here what it raised there. */
PACKED(call_on_thread) {
  (void)self, (void)result;
  pthread_t thread;
  if (num_args != 1 || args[0].type_index != kTVMFFIFunction) return fail("TypeError", "call_on_thread takes a function");
  foreign_call_t call = {.function = args[0].v_obj};
  if (pthread_create(&thread, NULL, call_there, &call) != 0) return fail("RuntimeError", "no thread");
  pthread_join(thread, NULL);
  if (call.status == 0) return 0;
  TVMFFIErrorSetRaised(call.error);
  if (call.error != NULL) TVMFFIObjectDecRef(call.error);
  return -1;
}

static TVMFFIObject *kept_object;

/* Keeps an object (in place of the last one), or lets go of it with None. */
PACKED(keep) {
  (void)self, (void)result;
  if (num_args != 1) return fail("TypeError", "keep takes one argument");
  TVMFFIObject *old = kept_object;
  kept_object = args[0].type_index >= kTVMFFIStaticObjectBegin ? args[0].v_obj : NULL;
  if (kept_object != NULL) TVMFFIObjectIncRef(kept_object);
  if (old != NULL) TVMFFIObjectDecRef(old);
  return 0;
}

static void *drop_there(void *object) {
  TVMFFIObjectDecRef(object);
  return NULL;
}

/* Lets go of what is kept on another thread, and waits for that. */
PACKED(drop_on_thread) {
  (void)self, (void)args, (void)num_args, (void)result;
  pthread_t thread;
  if (kept_object == NULL) return 0;
  if (pthread_create(&thread, NULL, drop_there, kept_object) != 0) return fail("RuntimeError", "no thread");
  kept_object = NULL;
  pthread_join(thread, NULL);
  return 0;
}

/* What is kept, or None. */
PACKED(kept) {
  (void)self, (void)args, (void)num_args;
  if (kept_object == NULL) return 0;
  TVMFFIObjectIncRef(kept_object);
  *result = (TVMFFIAny){.type_index = kept_object->type_index, .v_obj = kept_object};
  return 0;
}

/* A new vector of float32: 0, 1, 2 and so on, in memory of the host. */
PACKED(make_range) {
  (void)self;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) return fail("TypeError", "make_range takes a length");
  int64_t shape[1] = {args[0].v_int64};
  DLTensor prototype = {.device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  TVMFFIObjectHandle tensor;
  if (TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0) return -1;
  float *data = ((DLTensor *)(void *)((TVMFFIObject *)tensor + 1))->data;
  for (int64_t i = 0; i < shape[0]; i++) data[i] = (float)i;
  *result = (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = tensor};
  return 0;
}

/* Takes over an object that is passed to be moved, twice if asked, and returns it. */
PACKED(move_in) {
  (void)self;
  if (num_args < 1) return fail("TypeError", "move_in takes an object to move");
  if (args[0].type_index != kTVMFFIObjectRValueRef) return fail("TypeError", "Expected `ObjectRValueRef`");
  if (TVMFFIAnyViewToOwnedAny(&args[0], result) != 0) return -1;
  if (num_args == 1) return 0;
  TVMFFIAny second;
  int status = TVMFFIAnyViewToOwnedAny(&args[0], &second);
  TVMFFIObjectDecRef(result->v_obj);
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  return status;
}

/* Holds an object while it calls a function, or while it takes over and drops an object that is passed to be moved. Then reads the
 * object, which its caller still lends, and returns how many references it has. */
PACKED(read_after) {
  (void)self;
  if (num_args != 2 || args[0].type_index < kTVMFFIObject) return fail("TypeError", "read_after takes an object and another");
  TVMFFIAny between = {.type_index = kTVMFFINone};
  TVMFFIObjectIncRef(args[0].v_obj);
  int status = args[1].type_index == kTVMFFIFunction ? TVMFFIFunctionCall(args[1].v_obj, NULL, 0, &between)
                                                     : TVMFFIAnyViewToOwnedAny(&args[1], &between);
  TVMFFIObjectDecRef(args[0].v_obj);
  if (status != 0) return -1;
  if (between.type_index >= kTVMFFIObject) TVMFFIObjectDecRef(between.v_obj);
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = (int64_t)(args[0].v_obj->combined_ref_count & 0xffffffffu)};
  return 0;
}

/* Waits until it is interrupted, for as many milliseconds as it is told at most; fails if it was. */
PACKED(wait_for_signal) {
  (void)self, (void)result;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) return fail("TypeError", "wait_for_signal takes milliseconds");
  const struct timespec pause = {0, 1000000};
  for (int64_t i = 0; i < args[0].v_int64; i++) {
    if (TVMFFIEnvCheckSignals() != 0) return fail("Interrupted", "stopped early");
    nanosleep(&pause, NULL);
  }
  return 0;
}

/* An error as code for tvm-ffi 0.1.7 made it: its cell ends before cause and context. */
typedef struct {
  TVMFFIObject head;
  TVMFFIByteArray kind, message, backtrace;
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray *backtrace, int32_t mode);
} old_error_t;

static void free_old_error(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

static void update_old_error(TVMFFIObjectHandle self, const TVMFFIByteArray *backtrace, int32_t mode) {
  (void)self, (void)backtrace, (void)mode;
}

PACKED(fail_as_before) {
  (void)self, (void)args, (void)num_args, (void)result;
  old_error_t *error = malloc(sizeof *error);
  if (error == NULL) return fail("MemoryError", "no memory");
  *error = (old_error_t){
      .head = {.combined_ref_count = 1 | (uint64_t)1 << 32, .type_index = kTVMFFIError, .deleter = free_old_error},
      .kind = {"OldError", 8},
      .message = {"made by old code", 16},
      .backtrace = {"", 0},
      .update_backtrace = update_old_error,
  };
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return -1;
}

/* The entry. */
PACKED(main) {
  (void)self, (void)args, (void)num_args;
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 42};
  return 0;
}

/* What the library tells of `sum`. */
TVM_FFI_EXPORT int __tvm_ffi__metadata_sum(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  static const char text[] =
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[{\\\"type\\\":\\\"float\\\"},{\\\"type\\\":"
      "\\\"int\\\"},{\\\"type\\\":\\\"int\\\"}]}\"}";
  (void)self, (void)args, (void)num_args;
  TVMFFIByteArray span = {text, sizeof text - 1};
  return TVMFFIStringFromByteArray(&span, result);
}

TVM_FFI_EXPORT int __tvm_ffi__doc_sum(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  TVMFFIByteArray span = {"The sum of its numbers.", 23};
  (void)self, (void)args, (void)num_args;
  return TVMFFIStringFromByteArray(&span, result);
}
