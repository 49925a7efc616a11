/* Native memory of which several threads of JavaScript have buffers. It is freed with the last buffer, on the thread that frees it. */
#include <stdatomic.h>
#include <stdlib.h>

#include "node_buffer.h"
#include "tenon_pools.h"

#if !defined(_WIN32)
/* The bytes of the ranges that a thread has opened and that were freed since it has told the engine, which does not count memory of
 * SharedArrayBuffers itself, and would collect too late. Threads that free ranges use it. */
struct account {
  _Atomic uint32_t uses;
  _Atomic int64_t freed;
};

/* The handle of JavaScript. Buffers of any thread use it. */
struct range {
  _Atomic uint32_t uses;
  unsigned char *memory;
  size_t byte_size;
  /* The start of the memory in the heap, or null for a mapping. */
  void *block;
  /* Null for a mapping, which the engine does not count. */
  struct account *account;
};

static _Thread_local struct account *own_account;

static void release_account(struct account *account) {
  if (atomic_fetch_sub(&account->uses, 1) == 1) free(account);
}

static void end_thread(void *account) {
  own_account = NULL;
  release_account(account);
}

static void release(struct range *range) {
  if (atomic_fetch_sub(&range->uses, 1) != 1) return;
  if (range->block == NULL) tn_mapping_close(range->memory, range->byte_size);
  free(range->block);
  if (range->account != NULL) {
    atomic_fetch_add(&range->account->freed, (int64_t)range->byte_size);
    release_account(range->account);
  }
  free(range);
}

/* The engine has freed a buffer, on any thread. */
static void release_buffer(void *data, void *range) {
  (void)data;
  release(range);
}

/* Tells the engine about the memory of a new range, and about that of earlier ones that was freed. */
static void count_memory(napi_env env, struct range *range) {
  if (own_account == NULL) {
    struct account *account = calloc(1, sizeof *account);
    if (account == NULL) return;
    atomic_init(&account->uses, 1);
    if (napi_add_env_cleanup_hook(env, end_thread, account) != napi_ok) {
      free(account);
      return;
    }
    own_account = account;
  }
  range->account = own_account;
  atomic_fetch_add(&own_account->uses, 1);
  int64_t total;
  napi_adjust_external_memory(env, (int64_t)range->byte_size - atomic_exchange(&own_account->freed, 0), &total);
}

static struct range *allocate(size_t byte_size, size_t alignment) {
  struct range *range = calloc(1, sizeof *range);
  void *block = byte_size > PTRDIFF_MAX - alignment ? NULL : calloc(1, byte_size + alignment);
  if (range == NULL || block == NULL) {
    free(range), free(block);
    return NULL;
  }
  range->block = block;
  range->memory = (unsigned char *)(((uintptr_t)block + alignment - 1) & ~(uintptr_t)(alignment - 1));
  return range;
}

napi_value tn_node_open_range(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3], made;
  int64_t size, alignment, mapping;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_value_int64(env, arguments[0], &size) != napi_ok || size <= 0 ||
      napi_get_value_int64(env, arguments[1], &alignment) != napi_ok || alignment <= 0 ||
      napi_get_value_int64(env, arguments[2], &mapping) != napi_ok)
    return refuse(env, "openRange() must get a size, an alignment, and the address of a mapping or 0");
  if (tn_node_shared_maker() == NULL) return NULL;
  struct range *range = mapping == 0 ? allocate((size_t)size, (size_t)alignment) : calloc(1, sizeof *range);
  if (range == NULL) return napi_create_double(env, 0, &made) == napi_ok ? made : NULL;
  if (mapping != 0) range->memory = (unsigned char *)(uintptr_t)mapping;
  range->byte_size = (size_t)size;
  atomic_init(&range->uses, 1);
  if (mapping == 0) count_memory(env, range);
  return napi_create_double(env, (double)(uintptr_t)range, &made) == napi_ok ? made : NULL;
}

napi_value tn_node_range_buffer(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3], made;
  int64_t handle, offset, size;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 3 ||
      napi_get_value_int64(env, arguments[0], &handle) != napi_ok || handle == 0 ||
      napi_get_value_int64(env, arguments[1], &offset) != napi_ok ||
      napi_get_value_int64(env, arguments[2], &size) != napi_ok)
    return refuse(env, "rangeBuffer() must get a range, an offset and a size");
  struct range *range = (struct range *)(uintptr_t)handle;
  if (offset < 0 || size <= 0 || (uint64_t)offset > range->byte_size || (uint64_t)size > range->byte_size - (size_t)offset)
    return refuse(env, "the buffer must lie inside the range");
  atomic_fetch_add(&range->uses, 1);
  void *data = range->memory + offset;
  if (tn_node_shared_maker()(env, data, (size_t)size, release_buffer, range, &made) == napi_ok) return made;
  release(range);
  return refuse(env, "the engine refuses the buffer");
}

napi_value tn_node_close_range(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  int64_t handle;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int64(env, argument, &handle) != napi_ok || handle == 0)
    return refuse(env, "closeRange() must get a range");
  release((struct range *)(uintptr_t)handle);
  return NULL;
}
#endif
