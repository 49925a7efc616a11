/* A library as the C code generator of TVM to 0.20 writes it. It imports its functions, and its entry is a function. */
#include <stdlib.h>
#include <string.h>

#include "legacy.h"

TVM_RUNTIME_EXPORT void *__tvm_module_ctx = NULL;

/* The entry. Returns the sum of its whole numbers. */
PACKED(__tvm_main__) {
  int64_t sum = 0;
  for (int i = 0; i < num_args; i++) {
    if (codes[i] != kTVMArgInt && codes[i] != kTVMArgBool) return fail("TypeError: the entry takes whole numbers");
    sum += args[i].v_int64;
  }
  return give_int(ret, ret_code, sum);
}

static int twice(TVMValue *args, int *codes, int num_args, TVMRetValueHandle ret, void *resource) {
  if (num_args != 1 || codes[0] != kTVMArgInt) return fail("TypeError: twice takes a whole number");
  TVMValue value = {.v_int64 = 2 * args[0].v_int64 + *(int *)resource};
  int code = kTVMArgInt;
  return TVMCFuncSetReturn(ret, &value, &code, 1);
}

static int finalized;
static void finalize(void *resource) {
  free(resource);
  finalized++;
}

/* Returns a function that doubles a number and adds the argument of make_twice. */
PACKED(make_twice) {
  int *added = malloc(sizeof *added);
  if (num_args != 1 || added == NULL) return -1;
  *added = (int)args[0].v_int64;
  *ret_code = kTVMPackedFuncHandle;
  return TVMFuncCreateFromCFunc(twice, added, finalize, &ret->v_handle);
}

/* Returns how many functions of make_twice were freed. */
PACKED(count_finalized) { return give_int(ret, ret_code, finalized); }

/* Calls the global function that its argument names, and returns the length of the returned text. */
PACKED(length_of_text) {
  TVMFunctionHandle function;
  TVMValue result;
  int code;
  if (num_args != 1 || codes[0] != kTVMStr) return fail("TypeError: length_of_text takes a name");
  if (TVMFuncGetGlobal(args[0].v_str, &function) != 0) return -1;
  if (function == NULL) return fail("ValueError: the function is not registered");
  int status = TVMFuncCall(function, NULL, NULL, 0, &result, &code);
  TVMFuncFree(function);
  if (status != 0) {
    /* Kernels set the error of a nested call again. */
    char message[256];
    strncpy(message, TVMGetLastError(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    return fail(message);
  }
  if (code != kTVMStr) return fail("TypeError: the function must return text");
  return give_int(ret, ret_code, (int64_t)strlen(result.v_str));
}
