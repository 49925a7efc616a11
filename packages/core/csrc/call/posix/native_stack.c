#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../native_stack.h"

/* As large as the stack of a thread usually is. The system gives it memory only where it is used. */
#define STACK_SIZE (8u << 20)

/* No page of it is ever used. It is larger than a page, because a function can skip pages of its frame. */
#define GUARD_SIZE (1u << 20)

#define ALL_SIZE (GUARD_SIZE + STACK_SIZE + TN__STACK_ROOM)

int tn__native_stack_open(tn__native_stack_t *out) {
  uint8_t *memory = mmap(NULL, ALL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  /* The stack grows down to the guard. */
  if (mprotect(memory, GUARD_SIZE, PROT_NONE) != 0) {
    munmap(memory, ALL_SIZE);
    return 0;
  }
  *out = (tn__native_stack_t){
      .memory = memory,
      .top = memory + GUARD_SIZE + STACK_SIZE,
      .executable = {.start = memory + GUARD_SIZE, .size = STACK_SIZE},
  };
  if (tn__stack_add(&out->executable)) return 1;
  munmap(memory, ALL_SIZE);
  out->memory = NULL;
  return 0;
}

void tn__native_stack_close(tn__native_stack_t *stack) {
  if (stack->memory == NULL) return;
  tn__stack_remove(&stack->executable);
  munmap(stack->memory, ALL_SIZE);
  stack->memory = NULL;
}
