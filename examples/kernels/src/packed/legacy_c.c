/* A library as the C code generator of TVM to 0.20 made it: its functions are imported, and the entry is a function. */
#include <stdlib.h>
#include <string.h>

#include "tenon/tvm_runtime.h"

TVM_RUNTIME_EXPORT void *__tvm_module_ctx = NULL;

/* The entry: the sum of its whole numbers. */
TVM_RUNTIME_EXPORT int __tvm_main__(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource;
  int64_t sum = 0;
  for (int i = 0; i < num_args; i++) {
    if (codes[i] != kTVMArgInt && codes[i] != kTVMArgBool) {
      TVMAPISetLastError("TypeError: the entry takes whole numbers");
      return -1;
    }
    sum += args[i].v_int64;
  }
  ret->v_int64 = sum;
  *ret_code = kTVMArgInt;
  return 0;
}

static int twice(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, void *resource) {
  if (num_args != 1 || codes[0] != kTVMArgInt) {
    TVMAPISetLastError("TypeError: twice takes a whole number");
    return -1;
  }
  TVMValue value = {.v_int64 = 2 * args[0].v_int64 + *(int *)resource};
  int code = kTVMArgInt;
  return TVMCFuncSetReturn(ret, &value, &code, 1);
}

static int finalized;
static void finalize(void *resource) {
  free(resource);
  finalized++;
}

/* A function that doubles a number and adds the first argument. */
TVM_RUNTIME_EXPORT int make_twice(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource, (void)codes;
  int *added = malloc(sizeof *added);
  if (num_args != 1 || added == NULL) return -1;
  *added = (int)args[0].v_int64;
  *ret_code = kTVMPackedFuncHandle;
  return TVMFuncCreateFromCFunc(twice, added, finalize, &ret->v_handle);
}

TVM_RUNTIME_EXPORT int count_finalized(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)args, (void)codes, (void)num_args, (void)resource;
  ret->v_int64 = finalized;
  *ret_code = kTVMArgInt;
  return 0;
}

/* The length of the text that a global function returns; its own name is the argument. */
TVM_RUNTIME_EXPORT int length_of_text(TVMValue *args, int *codes, int num_args, TVMValue *ret, int *ret_code, void *resource) {
  (void)resource;
  TVMFunctionHandle function;
  TVMValue result;
  int code;
  if (num_args != 1 || codes[0] != kTVMStr) {
    TVMAPISetLastError("TypeError: length_of_text takes a name");
    return -1;
  }
  if (TVMFuncGetGlobal(args[0].v_str, &function) != 0) return -1;
  if (function == NULL) {
    TVMAPISetLastError("ValueError: there is no such function");
    return -1;
  }
  int status = TVMFuncCall(function, NULL, NULL, 0, &result, &code);
  TVMFuncFree(function);
  if (status != 0) {
    /* What was told is told again, as kernels do. */
    char message[256];
    strncpy(message, TVMGetLastError(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    TVMAPISetLastError(message);
    return -1;
  }
  if (code != kTVMStr) {
    TVMAPISetLastError("TypeError: the function must return text");
    return -1;
  }
  ret->v_int64 = (int64_t)strlen(result.v_str);
  *ret_code = kTVMArgInt;
  return 0;
}
