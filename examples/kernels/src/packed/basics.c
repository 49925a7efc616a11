/* Packed functions of tvm-ffi in C that use arguments, errors, functions and tensors. The process that loads the
 * library provides the TVMFFI functions. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ffi.h"

/* Does nothing and returns None. */
PACKED(__tvm_ffi_nothing) { return 0; }

/* Returns the sum of its numbers, which is an int unless one of them is a float. */
PACKED(__tvm_ffi_sum) {
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
  if (!is_real) return give_int(result, whole);
  *result = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = real + (double)whole};
  return 0;
}

/* Returns its argument as an owned value. */
PACKED(__tvm_ffi_echo) {
  if (num_args != 1) return fail("TypeError", "echo takes one argument");
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* Returns the type index of its argument. */
PACKED(__tvm_ffi_type_index) {
  if (num_args != 1) return fail("TypeError", "type_index takes one argument");
  return give_int(result, args[0].type_index);
}

static int64_t references_of(const TVMFFIObject *object) { return (int64_t)(object->combined_ref_count & 0xffffffffu); }

/* Returns the number of strong references to its argument, an object. */
PACKED(__tvm_ffi_references) {
  if (num_args != 1 || args[0].type_index < kTVMFFIObject) return fail("TypeError", "references takes an object");
  return give_int(result, references_of(args[0].v_obj));
}

/* Returns an arbitrary address, or the null pointer if it has no argument. */
PACKED(__tvm_ffi_some_pointer) {
  static int place;
  *result = (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = num_args == 0 ? NULL : &place};
  return 0;
}

/* y = x + 1 for vectors of float32, which are Tensor objects or borrowed DLTensors. */
PACKED(__tvm_ffi_add_one) {
  const DLTensor *tensors[2];
  if (num_args != 2) return fail("TypeError", "Expected 2 arguments when calling `add_one(x, y)`");
  for (int i = 0; i < 2; i++) {
    if (args[i].type_index == kTVMFFITensor) {
      tensors[i] = TVMFFITensorGetDLTensorPtr(args[i].v_obj);
    } else if (args[i].type_index == kTVMFFIDLTensorPtr) {
      tensors[i] = args[i].v_ptr;
    } else {
      return fail("TypeError", "Mismatched type when calling `add_one(x, y)`, expected Tensor");
    }
    if (tensors[i]->ndim != 1 || tensors[i]->dtype.code != kDLFloat || tensors[i]->dtype.bits != 32)
      return fail("ValueError", "add_one takes vectors of float32");
  }
  if (tensors[0]->shape[0] != tensors[1]->shape[0])
    return fail("ValueError", "add_one takes vectors of the same length");
  const float *x = (const float *)(const void *)((const char *)tensors[0]->data + tensors[0]->byte_offset);
  float *y = (float *)(void *)((char *)tensors[1]->data + tensors[1]->byte_offset);
  for (int64_t i = 0; i < tensors[0]->shape[0]; i++) y[i * tensors[1]->strides[0]] = x[i * tensors[0]->strides[0]] + 1;
  return 0;
}

/* Raises an error of the kind that its argument names. */
PACKED(__tvm_ffi_fail_as) {
  char kind[8] = "";
  if (num_args != 1) return fail("TypeError", "fail_as takes one argument");
  if (args[0].type_index == kTVMFFIRawStr) return fail(args[0].v_c_str, "failed as asked");
  if (args[0].type_index == kTVMFFIStr)
    return fail(TVMFFIBytesGetByteArrayPtr(args[0].v_obj)->data, "failed as asked");
  if (args[0].type_index != kTVMFFISmallStr) return fail("TypeError", "fail_as takes the name of a kind");
  memcpy(kind, args[0].v_bytes, args[0].small_str_len);
  const char *parts[] = {"failed ", NULL, "as asked"};
  TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 3);
  return -1;
}

/* Calls its first argument with the other arguments. */
PACKED(__tvm_ffi_call) {
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

/* Runs a function on another thread and waits for it. */
static int run_on_thread(void *(*run)(void *), void *context) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, context) != 0) return fail("RuntimeError", "cannot start a thread");
  return pthread_join(thread, NULL);
}

/* Calls a function on another thread, and raises an error of that call on this thread. */
PACKED(__tvm_ffi_call_on_thread) {
  if (num_args != 1 || args[0].type_index != kTVMFFIFunction)
    return fail("TypeError", "call_on_thread takes a function");
  foreign_call_t call = {.function = args[0].v_obj};
  if (run_on_thread(call_there, &call) != 0) return -1;
  if (call.status == 0) return 0;
  TVMFFIErrorSetRaised(call.error);
  if (call.error != NULL) TVMFFIObjectDecRef(call.error);
  return -1;
}

static TVMFFIObject *kept_object;

/* Retains an object, or nothing for None, and releases the object that was kept before. */
PACKED(__tvm_ffi_keep) {
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

/* Releases the kept object on another thread. */
PACKED(__tvm_ffi_drop_on_thread) {
  TVMFFIObject *old = kept_object;
  kept_object = NULL;
  return old == NULL ? 0 : run_on_thread(drop_there, old);
}

/* Returns the kept object, or None. */
PACKED(__tvm_ffi_kept) {
  if (kept_object == NULL) return 0;
  TVMFFIObjectIncRef(kept_object);
  *result = (TVMFFIAny){.type_index = kept_object->type_index, .v_obj = kept_object};
  return 0;
}

/* Returns a new vector of float32 in host memory: 0, 1, 2 and so on. */
PACKED(__tvm_ffi_make_range) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) return fail("TypeError", "make_range takes a length");
  int64_t shape[1] = {args[0].v_int64};
  DLTensor prototype = {.device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  TVMFFIObjectHandle tensor;
  if (TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0) return -1;
  float *data = TVMFFITensorGetDLTensorPtr(tensor)->data;
  for (int64_t i = 0; i < shape[0]; i++) data[i] = (float)i;
  *result = (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = tensor};
  return 0;
}

/* Takes ownership of an object that the caller moves in, and returns it. Tries to take it twice if there is a second
 * argument. */
PACKED(__tvm_ffi_move_in) {
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

/* Retains an object while it calls a function, or while it takes ownership of a second object and releases it. Then
 * returns the number of references to the first object, which the caller still lends. */
PACKED(__tvm_ffi_read_after) {
  if (num_args != 2 || args[0].type_index < kTVMFFIObject)
    return fail("TypeError", "read_after takes an object, and a function or another object");
  TVMFFIAny between = {.type_index = kTVMFFINone};
  TVMFFIObjectIncRef(args[0].v_obj);
  int status = args[1].type_index == kTVMFFIFunction ? TVMFFIFunctionCall(args[1].v_obj, NULL, 0, &between)
                                                     : TVMFFIAnyViewToOwnedAny(&args[1], &between);
  TVMFFIObjectDecRef(args[0].v_obj);
  if (status != 0) return -1;
  if (between.type_index >= kTVMFFIObject) TVMFFIObjectDecRef(between.v_obj);
  return give_int(result, references_of(args[0].v_obj));
}

/* Waits for a number of milliseconds. Fails if it is interrupted before. */
PACKED(__tvm_ffi_wait_for_signal) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt)
    return fail("TypeError", "wait_for_signal takes a number of milliseconds");
  const struct timespec pause = {0, 1000000};
  for (int64_t i = 0; i < args[0].v_int64; i++) {
    if (TVMFFIEnvCheckSignals() != 0) return fail("Interrupted", "stopped early");
    nanosleep(&pause, NULL);
  }
  return 0;
}

/* An error as code for tvm-ffi 0.1.7 creates it. Its cell ends before the cause and the context. */
typedef struct {
  TVMFFIObject head;
  TVMFFIByteArray kind, message, backtrace;
  void (*update_backtrace)(TVMFFIObjectHandle self, const TVMFFIByteArray *backtrace, int32_t mode);
} old_error_t;

static void free_old_error(void *self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

static void update_old_error(UNUSED TVMFFIObjectHandle self, UNUSED const TVMFFIByteArray *backtrace,
                             UNUSED int32_t mode) {}

/* Raises an error in the form of tvm-ffi 0.1.7. */
PACKED(__tvm_ffi_fail_as_before) {
  old_error_t *error = malloc(sizeof *error);
  if (error == NULL) return fail("MemoryError", "out of memory");
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

/* The entry of the library. */
PACKED(__tvm_ffi_main) { return give_int(result, 42); }

/* The metadata and the documentation of `sum`. */
PACKED(__tvm_ffi__metadata_sum) {
  static const char text[] =
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"args\\\":[{\\\"type\\\":\\\"float\\\"},{\\\"type\\\":"
      "\\\"int\\\"},{\\\"type\\\":\\\"int\\\"}]}\"}";
  return give_string(result, text, sizeof text - 1);
}

PACKED(__tvm_ffi__doc_sum) { return give_string(result, "The sum of its numbers.", 23); }
