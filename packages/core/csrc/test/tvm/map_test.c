/* Maps of libtvm_ffi without memory to grow. */
#include <stdbool.h>
#include <stdlib.h>

#include "support.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* The largest block that calloc() allocates. */
static size_t most = SIZE_MAX;

extern void *__libc_calloc(size_t count, size_t size);

/* Takes the place of the function of the C library. */
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size) {
  const size_t limit = __atomic_load_n(&most, __ATOMIC_RELAXED);
  return size != 0 && count > limit / size ? NULL : __libc_calloc(count, size);
}

static int call(const char *name, TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  TVMFFIByteArray span = span_of(name);
  TVMFFIObjectHandle function;
  *result = (TVMFFIAny){.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&span, &function) != 0 || function == NULL) return -1;
  const int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

static TVMFFIAny number(uint64_t value) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_uint64 = value}; }

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

/* There is memory for 512 slots. */
enum { LIMIT = 40000, KEYS = 600, MAPS = 400, REFUSALS = 30 };

static bool are_found(TVMFFIAny dict, const uint64_t *keys, int count) {
  const TVMFFIByteArray name = span_of("ffi.DictGetItem");
  TVMFFIObjectHandle get;
  if (TVMFFIFunctionGetGlobal(&name, &get) != 0) return false;
  int found = 0;
  for (int i = 0; i < count; i++) {
    TVMFFIAny args[2] = {dict, number(keys[i])}, result;
    found += TVMFFIFunctionCall(get, args, 2, &result) == 0 && result.v_int64 == i;
  }
  TVMFFIObjectDecRef(get);
  return found == count;
}

/* Adds random keys until the map has refused some of them. */
static bool fill(TVMFFIAny dict, uint64_t *state) {
  uint64_t keys[KEYS];
  int count = 0, refused = 0;
  while (refused < REFUSALS && count < KEYS) {
    keys[count] = next_random(state);
    TVMFFIAny args[3] = {dict, number(keys[count]), number((uint64_t)count)}, result;
    __atomic_store_n(&most, (size_t)LIMIT, __ATOMIC_RELAXED);
    const int status = call("ffi.DictSetItem", args, 3, &result);
    __atomic_store_n(&most, SIZE_MAX, __ATOMIC_RELAXED);
    if (status == 0) count++;
    else if (raised_is("MemoryError", "out of memory")) refused++;
    else return false;
  }
  return refused == REFUSALS && are_found(dict, keys, count);
}

TEST(tvm_a_map_that_cannot_grow_keeps_its_entries) {
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < MAPS; i++) {
    TVMFFIAny dict;
    CHECK(call("ffi.Dict", NULL, 0, &dict) == 0);
    const bool is_whole = fill(dict, &state);
    TVMFFIObjectDecRef(dict.v_obj);
    CHECK(is_whole);
  }
}

#endif
