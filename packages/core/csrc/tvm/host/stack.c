/* The stack of a JavaScript thread, and the queue of JavaScript values that native code has released. */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "thread_end.h"

_Static_assert(sizeof(tn_packed_stack_t) <= TN_PACKED_OUT, "the head must end before the text");
_Static_assert(TN_PACKED_SLOT_COUNT < 1 << TN_PACKED_CALL_SHIFT, "a call must hold a slot and a number of arguments");
_Static_assert(TN_PACKED_SLOTS + TN_PACKED_SLOT_COUNT * sizeof(TVMFFIAny) == TN_PACKED_TEXT,
               "the slots must end at the text");

/* A stack, and behind it the objects of tensor arguments. */
#define SIZE (TN_PACKED_STACK_SIZE + TN_PACKED_SLOT_COUNT * sizeof(TVMFFIObject *))

/* The stacks of the thread: each copy of the package that it has loaded has one. */
static _Thread_local tn_packed_stack_t *opened;

static void leave_thread(void *last) {
  opened = NULL;
  for (tn_packed_stack_t *stack = last, *next; stack != NULL; stack = next) {
    next = stack->next;
    tn__stack_release(stack);
  }
}

static tn__thread_end_t thread_end = TN__THREAD_END(leave_thread);

int32_t tn_packed_open(tn_packed_stack_t **out) {
  void *memory;
  int32_t status = tn_memory_allocate(SIZE, TN_PACKED_STACK_SIZE, &memory);
  if (status != TN_OK) return status;
  tn_packed_stack_t *stack = memory;
  atomic_init(&stack->references, 1);
  stack->next = opened;
  if (tn__ffi.tn_tvm_raised_slot != NULL) stack->raised = tn__ffi.tn_tvm_raised_slot();
  if (!tn__at_thread_end(&thread_end, stack)) {
    tn_memory_free(stack);
    return TN_OUT_OF_MEMORY;
  }
  /* From here on the end of the thread frees the stack. */
  opened = stack;
  if (!tn__owned_open(stack)) return TN_OUT_OF_MEMORY;
  *out = stack;
  return TN_OK;
}

void tn__stack_retain(tn_packed_stack_t *stack) { atomic_fetch_add(&stack->references, 1); }

static void free_all(tn__foreign_t *foreign) {
  for (tn__foreign_t *next; foreign != NULL; foreign = next) {
    next = foreign->next;
    free(foreign);
  }
}

void tn__stack_release(tn_packed_stack_t *stack) {
  if (atomic_fetch_sub(&stack->references, 1) != 1) return;
  free_all(stack->taken);
  free_all(atomic_exchange(&stack->released, NULL));
  tn_memory_free(stack);
}

tn__foreign_t *tn__foreign_new(tn_packed_stack_t *stack, int64_t id) {
  tn__foreign_t *foreign = malloc(sizeof *foreign);
  if (foreign == NULL) return NULL;
  *foreign = (tn__foreign_t){stack, id, NULL};
  tn__stack_retain(stack);
  return foreign;
}

void tn__foreign_release(void *handle) {
  tn__foreign_t *foreign = handle;
  tn_packed_stack_t *stack = foreign->stack;
  foreign->next = atomic_load(&stack->released);
  while (!atomic_compare_exchange_weak(&stack->released, &foreign->next, foreign)) continue;
  __atomic_store_n(&stack->head.pending, 1, __ATOMIC_RELEASE);
  tn__stack_release(stack);
}

int32_t tn_packed_take_released(tn_packed_stack_t *stack, int64_t *ids, int32_t capacity) {
  int32_t taken = 0;
  while (taken < capacity) {
    if (stack->taken == NULL) stack->taken = atomic_exchange(&stack->released, NULL);
    tn__foreign_t *foreign = stack->taken;
    if (foreign == NULL) break;
    stack->taken = foreign->next;
    ids[taken++] = foreign->id;
    free(foreign);
  }
  return taken;
}
