#include <sys/mman.h>

#include "../environment.h"

/* As large as the stack of a thread usually is. The system gives it memory only where it is used. */
#define STACK_SIZE (8u << 20)

/* No page of it is ever used. It is larger than a page, because a function can skip pages of its frame. */
#define GUARD_SIZE (1u << 20)

int tn__native_stack_open(tn_environment_t *environment) {
  uint8_t *memory = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  /* The stack grows down to the guard. */
  if (mprotect(memory, GUARD_SIZE, PROT_NONE) != 0) {
    munmap(memory, GUARD_SIZE + STACK_SIZE);
    return 0;
  }
  environment->native_stack = memory;
  environment->native_top = memory + GUARD_SIZE + STACK_SIZE;
  return 1;
}

void tn__native_stack_close(tn_environment_t *environment) {
  if (environment->native_stack != NULL) munmap(environment->native_stack, GUARD_SIZE + STACK_SIZE);
  environment->native_stack = NULL;
}
