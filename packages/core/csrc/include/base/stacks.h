/* The stacks that native code runs on, where a library needs them to be executable, or scans them. On Windows none does. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stack that is not one of the system's, owned by the caller. */
typedef struct tn__stack {
  struct tn__stack *next;
  void *start;
  size_t size;
} tn__stack_t;

/* Keeps a stack as executable as the loader keeps those of threads: once a library asks for it (PT_GNU_STACK with PF_X), all
 * stacks are. Returns 0 if the system refuses. `stack` must stay where it is until it is removed. */
int tn__stack_add(tn__stack_t *stack);
void tn__stack_remove(tn__stack_t *stack);

/* Called after a library was loaded. `library` is its handle. Fails if a stack cannot be made executable. */
int32_t tn__stacks_after_load(void *library);

/* Whether calls must stay on the stack of their thread, because a library scans it: a conservative garbage collector takes
 * the bounds of the thread's stack, and reads from the stack pointer to its end. */
#if defined(_WIN32)
static inline bool tn__stacks_are_scanned(void) { return false; }
#else
/* Where native code runs, once it is known. Outermost calls read it, so it is here. */
enum { TN__STACK_UNKNOWN, TN__STACK_OWN, TN__STACK_OF_THREAD };
extern atomic_int tn__stack_choice;

/* Reads TENON_STACK, unless a library has chosen already, and returns the choice. */
int tn__choose_stack(void);

static inline bool tn__stacks_are_scanned(void) {
  const int choice = atomic_load_explicit(&tn__stack_choice, memory_order_relaxed);
  return (choice == TN__STACK_UNKNOWN ? tn__choose_stack() : choice) == TN__STACK_OF_THREAD;
}
#endif

/* Whether so many bytes of the stack of this thread, on which the caller runs, are free. The loader makes stacks of threads executable before
 * it runs the constructors of a library that asks for that, and collectors of garbage look for the stack of a thread, so constructors run
 * there. False where the system does not tell the place of a stack. */
bool tn__has_free_stack(size_t byte_size);
