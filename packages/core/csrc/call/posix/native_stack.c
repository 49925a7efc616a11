#include <sys/mman.h>
#include <unistd.h>

#include "../environment.h"

/* As large as the stack of a thread usually is. The system gives it memory only where it is used. */
#define STACK_SIZE (8u << 20)

int tn__native_stack_open(tn_environment_t *environment) {
  const size_t page = tn_page_size();
  uint8_t *memory = mmap(NULL, page + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  /* The stack grows down to the guard page. */
  if (mprotect(memory, page, PROT_NONE) != 0) {
    munmap(memory, page + STACK_SIZE);
    return 0;
  }
  environment->native_stack = memory;
  environment->native_top = memory + page + STACK_SIZE;
  return 1;
}

void tn__native_stack_close(tn_environment_t *environment) {
  if (environment->native_stack != NULL) munmap(environment->native_stack, tn_page_size() + STACK_SIZE);
  environment->native_stack = NULL;
}
