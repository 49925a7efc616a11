/* Objects: allocation and reference counts. */
#include <stdlib.h>

#include "base/direction_flag.h"
#include "internal.h"
#include "object.h"
#include "tenon_tvm.h"

#define ONE_STRONG ((uint64_t)1)
#define ONE_WEAK ((uint64_t)1 << 32)
#define STRONG_MASK (ONE_WEAK - 1)
#define FRESH (ONE_STRONG | ONE_WEAK)

/* The room for the allocator's header before an object: a multiple of the alignment of malloc(). */
#define HEADROOM 16

static int64_t live_objects;

/* The built-in allocator keeps the start of its block 16 bytes before the object, and the header 8 bytes before. */
static void builtin_delete(void *object) {
  void *block;
  memcpy(&block, (char *)object - HEADROOM, sizeof block);
  free(block);
}

static void *builtin_allocate(size_t size, size_t alignment, int32_t type_index, void *context) {
  (void)type_index, (void)context;
  size_t step = alignment > HEADROOM ? alignment : HEADROOM;
  if (size > PTRDIFF_MAX - HEADROOM - step) return NULL;
  char *block = malloc(size + (step == HEADROOM ? HEADROOM : HEADROOM + step));
  if (block == NULL) return NULL;
  char *object = (char *)(((uintptr_t)block + HEADROOM + step - 1) / step * step);
  memcpy(object - HEADROOM, &block, sizeof block);
  ((TVMFFIObjectAllocHeader *)(void *)(object - sizeof(TVMFFIObjectAllocHeader)))->delete_space = builtin_delete;
  return object;
}

static TVMFFICustomAllocator builtin = {builtin_allocate, NULL};
static TVMFFICustomAllocator *current = &builtin;

TVMFFICustomAllocator *TVMFFIGetCustomAllocator(void) { return __atomic_load_n(&current, __ATOMIC_ACQUIRE); }

int TVMFFISetCustomAllocator(TVMFFICustomAllocator *allocator) {
  __atomic_store_n(&current, allocator != NULL ? allocator : &builtin, __ATOMIC_RELEASE);
  return 0;
}

void *tn__object_new(size_t size, int32_t type_index, void (*deleter)(void *self, int flags)) {
  TVMFFICustomAllocator *allocator = TVMFFIGetCustomAllocator();
  TVMFFIObject *object = allocator->allocate(size, 16, type_index, allocator->context);
  if (object == NULL) return NULL;
  memset(object, 0, size);
  object->combined_ref_count = FRESH;
  object->type_index = type_index;
  object->deleter = deleter;
  __atomic_add_fetch(&live_objects, 1, __ATOMIC_RELAXED);
  return object;
}

void tn__object_free(void *object) {
  __atomic_sub_fetch(&live_objects, 1, __ATOMIC_RELAXED);
  ((TVMFFIObjectAllocHeader *)(void *)((char *)object - sizeof(TVMFFIObjectAllocHeader)))->delete_space(object);
}

int64_t tn_tvm_live_objects(void) { return __atomic_load_n(&live_objects, __ATOMIC_RELAXED); }

void tn__retain(void *object) {
  __atomic_add_fetch(&((TVMFFIObject *)object)->combined_ref_count, ONE_STRONG, __ATOMIC_RELAXED);
}

/* The depth of recursive destruction. Deeper objects are queued, so that long chains do not overflow the C stack. */
#define DESTROY_DEPTH 256

static _Thread_local struct {
  int32_t depth;
  TVMFFIObject *waiting; /* linked through their counts, which are no longer read */
} destroying;

/* Deleters are code of the users, too. */
static void run_deleter(TVMFFIObject *object, int flags) {
  object->deleter(object, flags);
  tn__direction_clear();
}

static void destroy_nested(TVMFFIObject *object) {
  destroying.depth++;
  run_deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
  destroying.depth--;
}

/* Destroys an unreferenced object. Everything that it held is released when the outermost call returns. */
static void destroy(TVMFFIObject *object) {
  if (destroying.depth >= DESTROY_DEPTH) {
    object->combined_ref_count = (uintptr_t)destroying.waiting;
    destroying.waiting = object;
    return;
  }
  destroy_nested(object);
  while (destroying.depth == 0 && destroying.waiting != NULL) {
    TVMFFIObject *next = destroying.waiting;
    destroying.waiting = (TVMFFIObject *)(uintptr_t)next->combined_ref_count;
    next->combined_ref_count = ONE_WEAK;
    destroy_nested(next);
  }
}

void tn__release(void *handle) {
  TVMFFIObject *object = handle;
  if (object == NULL) return;
  uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, ONE_STRONG, __ATOMIC_ACQ_REL);
  if ((before & STRONG_MASK) != ONE_STRONG || object->deleter == NULL) return;
  if (before == FRESH) {
    destroy(object);
    return;
  }
  run_deleter(object, kTVMFFIObjectDeleterFlagBitMaskStrong);
  if (__atomic_fetch_sub(&object->combined_ref_count, ONE_WEAK, __ATOMIC_ACQ_REL) >> 32 == 1)
    run_deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
}

int TVMFFIObjectIncRef(TVMFFIObjectHandle object) {
  tn__retain(object);
  return 0;
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle object) {
  tn__release(object);
  return 0;
}

void TVMFFIGetVersion(TVMFFIVersion *out_version) { *out_version = (TVMFFIVersion){0, 1, 14}; }

static TVMFFIObject kwargs = {.combined_ref_count = FRESH, .type_index = kTVMFFIObject};

void *tn__kwargs_object(void) {
  tn__retain(&kwargs);
  return &kwargs;
}

bool tn__is_kwargs(const TVMFFIAny *value) { return tn__is_object(value) && value->v_obj == &kwargs; }

void *tn__missing_object(void) {
  static TVMFFIObject missing = {.combined_ref_count = FRESH, .type_index = kTVMFFIObject};
  tn__retain(&missing);
  return &missing;
}
