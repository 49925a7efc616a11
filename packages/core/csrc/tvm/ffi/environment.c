/* The environment of kernels: streams, the allocator of results, and interruption. */
#include "internal.h"

/* The streams of the calling thread: a list, because a process has few devices. */
typedef struct {
  int32_t device_type, device_id;
  void *stream;
} stream_t;

#define DEVICE_LIMIT 64

static _Thread_local stream_t streams[DEVICE_LIMIT];
static _Thread_local int32_t stream_count;

static stream_t *stream_of(int32_t device_type, int32_t device_id) {
  for (int32_t i = 0; i < stream_count; i++)
    if (streams[i].device_type == device_type && streams[i].device_id == device_id) return &streams[i];
  return NULL;
}

int TVMFFIEnvSetStream(int32_t device_type, int32_t device_id, void *stream, void **out_original) {
  stream_t *found = stream_of(device_type, device_id);
  if (out_original != NULL) *out_original = found == NULL ? NULL : found->stream;
  if (found == NULL && stream == NULL) return 0;
  if (found == NULL) {
    if (stream_count == DEVICE_LIMIT)
      return tn__raise("RuntimeError", "a thread can have streams on at most %d devices", DEVICE_LIMIT);
    found = &streams[stream_count++];
    *found = (stream_t){device_type, device_id, NULL};
  }
  found->stream = stream;
  return 0;
}

void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
  const stream_t *found = stream_of(device_type, device_id);
  return found == NULL ? NULL : found->stream;
}

static _Thread_local DLPackManagedTensorAllocator thread_allocator;
static DLPackManagedTensorAllocator global_allocator;

int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator, int write_to_global,
                                             DLPackManagedTensorAllocator *out_original) {
  if (out_original != NULL) *out_original = thread_allocator;
  if (write_to_global != 0) __atomic_store_n(&global_allocator, allocator, __ATOMIC_RELEASE);
  thread_allocator = allocator;
  return 0;
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  return thread_allocator != NULL ? thread_allocator : __atomic_load_n(&global_allocator, __ATOMIC_ACQUIRE);
}

static void set_error(void *context, const char *kind, const char *message) {
  (void)context;
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}

int TVMFFIEnvTensorAlloc(DLTensor *prototype, TVMFFIObjectHandle *out) {
  DLPackManagedTensorAllocator allocate = TVMFFIEnvGetDLPackManagedTensorAllocator();
  if (allocate == NULL)
    return tn__raise("RuntimeError", "TVMFFIEnvTensorAlloc: allocator is nullptr, likely because "
                                     "TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.");
  DLManagedTensorVersioned *made = NULL;
  int status = allocate(prototype, &made, NULL, set_error);
  if (status != 0) return status;
  if (made == NULL)
    return tn__raise("RuntimeError", "TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator");
  status = TVMFFITensorFromDLPackVersioned(made, 0, 0, out);
  if (status != 0 && made->deleter != NULL) made->deleter(made);
  return status;
}

/* Interruption: the host registers functions that check for it. */
static const char *const host_names[] = {"PyErr_CheckSignals", "PyGILState_Ensure", "PyGILState_Release"};
static uintptr_t host_functions[3];

int TVMFFIEnvRegisterCAPI(const char *name, void *symbol) {
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, host_names[i]) != 0) continue;
    __atomic_store_n(&host_functions[i], (uintptr_t)symbol, __ATOMIC_RELEASE);
    return 0;
  }
  return tn__raise("ValueError", "Unknown env API %s", name);
}

int TVMFFIEnvCheckSignals(void) {
  int (*check)(void) = (int (*)(void))__atomic_load_n(&host_functions[0], __ATOMIC_ACQUIRE);
  if (check == NULL) return 0;
  void *(*enter)(void) = (void *(*)(void))__atomic_load_n(&host_functions[1], __ATOMIC_ACQUIRE);
  void (*exit)(void *) = (void (*)(void *))__atomic_load_n(&host_functions[2], __ATOMIC_ACQUIRE);
  /* A host without a lock of its own registers only the check. */
  void *state = enter != NULL && exit != NULL ? enter() : NULL;
  int interrupted = check();
  if (state != NULL) exit(state);
  return interrupted != 0 ? -1 : 0;
}
