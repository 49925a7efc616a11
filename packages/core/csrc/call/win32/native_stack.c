#define WIN32_LEAN_AND_MEAN
#include <stdint.h>
#include <windows.h>

#include "../native_stack.h"

#define STACK_SIZE (8u << 20)

/* The smallest reservation of Windows. */
#define GUARD_SIZE 65536u

/* The words that tn__on_stack (win64.S) reads at the top of a stack. */
typedef struct {
  void *base;       /* the end of the memory */
  void *limit;      /* the start of the memory that can be used */
  void *allocation; /* the start of all memory, with the guard page */
  void *handlers;   /* the first handler of exceptions in a frame of the stack */
} bounds_t;

#define NO_HANDLERS ((void *)~(uintptr_t)0)

_Static_assert(sizeof(bounds_t) % 16 == 0, "the top of a stack is aligned to 16 bytes");

int tn__native_stack_open(tn__native_stack_t *out) {
  const size_t size = GUARD_SIZE + STACK_SIZE + TN__STACK_ROOM;
  /* The first pages stay reserved, so that touching them is a fault. */
  uint8_t *memory = VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_READWRITE);
  if (memory == NULL) return 0;
  if (VirtualAlloc(memory + GUARD_SIZE, STACK_SIZE + TN__STACK_ROOM, MEM_COMMIT, PAGE_READWRITE) == NULL) {
    VirtualFree(memory, 0, MEM_RELEASE);
    return 0;
  }
  bounds_t *bounds = (bounds_t *)(memory + size - TN__STACK_ROOM) - 1;
  *bounds = (bounds_t){memory + size, memory + GUARD_SIZE, memory, NO_HANDLERS};
  *out = (tn__native_stack_t){.memory = memory, .top = bounds};
  return 1;
}

void tn__native_stack_close(tn__native_stack_t *stack) {
  if (stack->memory != NULL) VirtualFree(stack->memory, 0, MEM_RELEASE);
  stack->memory = NULL;
}
