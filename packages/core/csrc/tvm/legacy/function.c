/* Calls between functions of the two conventions. */
#include <stdlib.h>

#include "error.h"
#include "runtime.h"

#define FEW_ARGUMENTS 16

/* The result of the thread's last call, if the caller reads it in place. */
static _Thread_local TVMFFIAny kept_result;
static _Thread_local TVMByteArray kept_bytes;

static void drop_kept(void) {
  TVMFFIAny old = kept_result;
  kept_result = (TVMFFIAny){.type_index = kTVMFFINone};
  tn__legacy_drop(&old);
}

/* Text, bytes and element types stay here until the thread's next call; the caller owns all other results. */
static int give_result(TVMFFIAny *result, TVMValue *value, int *code) {
  drop_kept();
  if (result->type_index == kTVMFFIDataType) {
    DLDataType dtype = result->v_dtype;
    if (TVMFFIDataTypeToString(&dtype, result) != 0) return -1;
  }
  int is_text = result->type_index == kTVMFFIStr || result->type_index == kTVMFFISmallStr ||
                result->type_index == kTVMFFIBytes || result->type_index == kTVMFFISmallBytes;
  if (is_text) kept_result = *result;
  return tn__ffi_to_legacy(is_text ? &kept_result : result, value, code, &kept_bytes);
}

int TVMFuncCall(TVMFunctionHandle function, TVMValue *args, int *type_codes, int num_args, TVMValue *ret_value,
                int *ret_type_code) {
  TVMFFIAny few[FEW_ARGUMENTS];
  if (num_args < 0) return tn__legacy_fail("ValueError", "num_args must not be negative, got %d", num_args);
  TVMFFIAny *converted = num_args <= FEW_ARGUMENTS ? few : malloc((size_t)num_args * sizeof *converted);
  if (converted == NULL) return tn__legacy_fail("MemoryError", "out of memory for the arguments");
  int status = 0;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  for (int i = 0; status == 0 && i < num_args; i++) status = tn__legacy_to_ffi(&args[i], type_codes[i], &converted[i]);
  if (status == 0) status = TVMFFIFunctionCall(function, converted, num_args, &result);
  if (converted != few) free(converted);
  if (status == 0) {
    status = give_result(&result, ret_value, ret_type_code);
    if (status != 0) tn__legacy_drop(&result);
  }
  return tn__legacy_end(status);
}

int TVMByteArrayFree(TVMByteArray *bytes) {
  if (bytes == &kept_bytes) return 0; /* released by the thread's next call */
  return tn__legacy_fail("ValueError", "only the bytes that a call returned can be freed");
}

int TVMFuncFree(TVMFunctionHandle function) { return TVMFFIObjectDecRef(function); }

/* The status of a function that failed with an error of the host's language, which the host keeps. */
#define HOST_KNOWS (-2)

#define ARGUMENT_SIZE (sizeof(TVMValue) + sizeof(TVMByteArray) + sizeof(int))

typedef struct {
  TVMValue *values;
  TVMByteArray *bytes;
  int *codes;
  _Alignas(TVMValue) char few[FEW_ARGUMENTS * ARGUMENT_SIZE]; /* holds the three arrays if they fit */
} arguments_t;

static void free_arguments(arguments_t *arguments) {
  if ((char *)arguments->values != arguments->few) free(arguments->values);
}

static int convert_arguments(const TVMFFIAny *args, int32_t count, arguments_t *out) {
  out->values = count <= FEW_ARGUMENTS ? (TVMValue *)(void *)out->few : malloc((size_t)count * ARGUMENT_SIZE);
  if (out->values == NULL) return tn__legacy_raise("MemoryError", "out of memory for the arguments");
  out->bytes = (TVMByteArray *)(void *)(out->values + count);
  out->codes = (int *)(void *)(out->bytes + count);
  for (int32_t i = 0; i < count; i++)
    if (tn__ffi_to_legacy(&args[i], &out->values[i], &out->codes[i], &out->bytes[i]) != 0) return -1;
  return 0;
}

int tn__legacy_call_kernel(void *kernel, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  arguments_t arguments;
  TVMValue value = {.v_int64 = 0};
  int code = kTVMNullptr;
  int status = convert_arguments(args, num_args, &arguments);
  if (status == 0)
    status = ((TVMBackendPackedCFunc)(uintptr_t)kernel)(arguments.values, arguments.codes, num_args, &value, &code,
                                                        NULL);
  free_arguments(&arguments);
  if (status == HOST_KNOWS) return tn__legacy_host_error();
  if (status != 0) return status;
  /* The memory of text and of a borrowed tensor would not outlive the kernel. */
  if (code == kTVMStr || code == kTVMBytes || code == kTVMDLTensorHandle)
    return tn__legacy_raise("TypeError", "a kernel can only return numbers and objects");
  return tn__legacy_to_ffi(&value, code, result);
}

typedef struct {
  TVMPackedCFunc function;
  void *resource;
  void (*finalizer)(void *resource);
} host_function_t;

static int call_host(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const host_function_t *host = self;
  arguments_t arguments;
  int status = convert_arguments(args, num_args, &arguments);
  if (status == 0) status = host->function(arguments.values, arguments.codes, num_args, result, host->resource);
  free_arguments(&arguments);
  return status == HOST_KNOWS ? tn__legacy_host_error() : status;
}

static void free_host(void *self) {
  host_function_t *host = self;
  if (host->finalizer != NULL) host->finalizer(host->resource);
  free(host);
}

int TVMFuncCreateFromCFunc(TVMPackedCFunc function, void *resource_handle, void (*finalizer)(void *),
                           TVMFunctionHandle *out) {
  host_function_t *host = malloc(sizeof *host);
  if (host == NULL) return tn__legacy_fail("MemoryError", "out of memory for a function");
  *host = (host_function_t){function, resource_handle, finalizer};
  if (TVMFFIFunctionCreate(host, call_host, free_host, out) == 0) return 0;
  free(host); /* the finalizer is not called, because the caller still owns the resource */
  return tn__legacy_note_error();
}

int TVMCFuncSetReturn(TVMRetValueHandle ret, TVMValue *value, int *type_code, int num_ret) {
  TVMFFIAny view;
  if (num_ret != 1) return tn__legacy_fail("ValueError", "a function returns one value, got %d", num_ret);
  if (tn__legacy_to_ffi(value, *type_code, &view) != 0) return tn__legacy_note_error();
  return tn__legacy_end(TVMFFIAnyViewToOwnedAny(&view, ret));
}

int TVMCbArgToReturn(TVMValue *value, int *type_code) {
  TVMFFIAny view, owned;
  TVMByteArray unused;
  if (*type_code == kTVMStr || *type_code == kTVMBytes)
    return tn__legacy_fail("TypeError", "text and bytes have no owner, so they must be copied");
  if (*type_code == kTVMDLTensorHandle) return 0; /* a borrowed tensor has no reference to retain */
  if (tn__legacy_to_ffi(value, *type_code, &view) != 0) return tn__legacy_note_error();
  if (TVMFFIAnyViewToOwnedAny(&view, &owned) != 0) return tn__legacy_note_error();
  return tn__ffi_to_legacy(&owned, value, type_code, &unused);
}
