#include "base/stacks.h"

#include <dlfcn.h>
#if !defined(__APPLE__)
#include <link.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/status.h"

static tn__lock_t lock = TN__LOCK;
static tn__stack_t *stacks;
static bool is_executable;

atomic_int tn__stack_choice;

#if defined(__APPLE__)
/* Libraries cannot ask for it. */
static bool is_execution_asked(void) { return false; }
#else
static int asks_for_execution(struct dl_phdr_info *library, size_t size, void *data) {
  (void)size, (void)data;
  for (size_t i = 0; i < library->dlpi_phnum; i++)
    if (library->dlpi_phdr[i].p_type == PT_GNU_STACK) return (library->dlpi_phdr[i].p_flags & PF_X) != 0;
  return 0;
}

static bool is_execution_asked(void) { return dl_iterate_phdr(asks_for_execution, NULL) != 0; }
#endif

static bool make_executable(const tn__stack_t *stack) {
  return mprotect(stack->start, stack->size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

int tn__stack_add(tn__stack_t *stack) {
  tn__lock(&lock);
  is_executable = is_executable || is_execution_asked();
  const bool is_ready = !is_executable || make_executable(stack);
  if (is_ready) {
    stack->next = stacks;
    stacks = stack;
  }
  tn__unlock(&lock);
  return is_ready;
}

void tn__stack_remove(tn__stack_t *stack) {
  tn__lock(&lock);
  tn__stack_t **at = &stacks;
  while (*at != NULL && *at != stack) at = &(*at)->next;
  if (*at != NULL) *at = stack->next;
  tn__unlock(&lock);
}

int32_t tn__stacks_after_load(void *library) {
  /* The Boehm collector, which a library or one of its dependencies exports. */
  if (dlsym(library, "GC_gcollect") != NULL) atomic_store_explicit(&tn__stack_choice, TN__STACK_OF_THREAD, memory_order_relaxed);
  bool is_ready = true;
  tn__lock(&lock);
  if (!is_executable && is_execution_asked()) {
    is_executable = true;
    for (const tn__stack_t *stack = stacks; stack != NULL; stack = stack->next)
      is_ready = make_executable(stack) && is_ready;
  }
  tn__unlock(&lock);
  if (is_ready) return TN_OK;
  return tn__fail(TN_LOAD_FAILED, "cannot enable executable stack as the library requires: the system refuses it");
}

#if defined(__linux__)
typedef struct {
  uintptr_t start, end;
} bounds_t;

static bounds_t find_bounds(void) {
  pthread_attr_t attributes;
  void *start = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return (bounds_t){1, 1};
  if (pthread_attr_getstack(&attributes, &start, &size) != 0) size = 0;
  pthread_attr_destroy(&attributes);
  return (bounds_t){(uintptr_t)start, (uintptr_t)start + size};
}

bool tn__has_free_stack(size_t byte_size) {
  /* Finding those of the main thread takes 0.1 to 0.4 ms, because it reads the mappings of the process. */
  static _Thread_local bounds_t known;
  if (known.end == 0) known = find_bounds();
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return here > known.start && here < known.end && here - known.start >= byte_size;
}
#else
bool tn__has_free_stack(size_t byte_size) {
  (void)byte_size;
  return false;
}
#endif

int tn__choose_stack(void) {
  const char *text = getenv("TENON_STACK");
  const int choice = text != NULL && strcmp(text, "thread") == 0 ? TN__STACK_OF_THREAD : TN__STACK_OWN;
  int expected = TN__STACK_UNKNOWN;
  atomic_compare_exchange_strong(&tn__stack_choice, &expected, choice);
  return atomic_load_explicit(&tn__stack_choice, memory_order_relaxed);
}
