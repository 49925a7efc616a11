/* Argument stacks at the ends of their threads. */
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "support.h"
#include "thread.h"

enum { COPIES = 3, THREADS = 20 };

/* A thread that has loaded several copies of the package. */
static void *open_stacks(void *unused) {
  (void)unused;
  for (int i = 0; i < COPIES; i++) {
    tn_packed_stack_t *stack;
    if (tn_packed_open(&stack) != TN_OK) return "open";
  }
  return NULL;
}

/* The allocated bytes, or 0 if they are not known. */
static size_t allocated(void) {
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
#endif
  return 0;
}

/* With AddressSanitizer, the check for leaks at the exit replaces the counts, which are 0. */
TEST(tvm_all_stacks_of_a_thread_end_with_it) {
  const size_t before = allocated();
  for (int i = 0; i < THREADS; i++) {
    test_thread_t thread;
    CHECK(thread_start(&thread, open_stacks, NULL));
    void *failed = thread_join(&thread);
    CHECK(failed == NULL);
  }
  CHECK(allocated() < before + (size_t)2 * TN_PACKED_STACK_SIZE);
}
