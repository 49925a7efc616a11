/* The shared stack of a JavaScript thread, and the queue of its values that native code gave back. */
#include <stdlib.h>
#include <string.h>

#include "relay.h"
#include "thread_end.h"

_Static_assert(sizeof(tn_packed_stack_t) <= TN_STACK_OUT, "the head must fit before the text");
_Static_assert(offsetof(tn_packed_stack_t, words) == 16, "JavaScript reads the words at byte 16");
_Static_assert(offsetof(tn_packed_stack_t, pending) == 128, "JavaScript reads the flag at byte 128");
_Static_assert(offsetof(tn_packed_stack_t, call) == 132, "JavaScript writes the call at byte 132");
_Static_assert(TN_STACK_SLOT_COUNT < 1 << TN_CALL_SHIFT, "a slot's index and a number of arguments fit in a call");
_Static_assert(offsetof(tn_packed_stack_t, zero) == 136, "JavaScript uses the zero at byte 136");
_Static_assert(TN_STACK_SLOTS + TN_STACK_SLOT_COUNT * sizeof(TVMFFIAny) == TN_STACK_SIZE / 2, "the slots end halfway");

/* Not of the model initial-exec, though each call of JavaScript asks: the loader has room for few variables of such libraries,
 * and refuses the library when others have taken it. */
static _Thread_local tn_packed_stack_t *own;

/* All of the thread: each copy of the package that it has loaded has one. */
static _Thread_local tn_packed_stack_t *all;

tn_packed_stack_t *tn__own_stack(void) { return own; }

tn_packed_stack_t *tn__calling_stack(void) {
  if ((own->call & TN_CALL_MEANT) != 0) return own;
  for (tn_packed_stack_t *stack = all; stack != NULL; stack = stack->sibling) {
    if ((stack->call & TN_CALL_MEANT) != 0) return own = stack;
  }
  return own;
}

static void leave_thread(void *stack) {
  tn__relay_close(stack);
  tn__stack_release(stack);
}

static tn__thread_end_t thread_end = TN__THREAD_END(leave_thread);

/* Makes the stack of the calling thread: TN_STACK_SIZE zeroed bytes. When the thread has ended it goes with the last
 * function and value that native code holds. Once for a thread. */
TN_API int32_t tn_packed_open(tn_packed_stack_t **out) {
  void *memory;
  int32_t status = tn_memory_allocate(TN_STACK_SIZE, TN_STACK_SIZE, &memory);
  if (status != TN_OK) return status;
  tn_packed_stack_t *stack = memory;
  atomic_init(&stack->references, 1);
  if (!tn__at_thread_end(&thread_end, stack)) {
    tn_memory_free(stack);
    return TN_OUT_OF_MEMORY;
  }
  stack->sibling = all;
  own = all = stack;
  *out = stack;
  return TN_OK;
}

void tn__stack_retain(tn_packed_stack_t *stack) { atomic_fetch_add(&stack->references, 1); }

static void free_all(tn__foreign_t *foreign) {
  while (foreign != NULL) {
    tn__foreign_t *next = foreign->next;
    free(foreign);
    foreign = next;
  }
}

void tn__stack_release(tn_packed_stack_t *stack) {
  if (atomic_fetch_sub(&stack->references, 1) != 1) return;
  free_all(stack->taken);
  free_all(atomic_exchange(&stack->released, NULL));
  tn__relay_free(stack);
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
  while (!atomic_compare_exchange_weak(&stack->released, &foreign->next, foreign)) {
  }
  __atomic_store_n(&stack->pending, 1, __ATOMIC_RELEASE);
  tn__stack_release(stack);
}

/* Takes at most `capacity` ids of values that native code gave back, and returns how many; the rest stays queued. Only
 * on the stack's thread. */
TN_API int32_t tn_packed_take_released(tn_packed_stack_t *stack, int64_t *ids, int32_t capacity) {
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

/* Copies native memory that the caller vouches for. */
TN_API void tn_packed_copy(const void *from, void *to, size_t byte_size) {
  if (byte_size > 0) memcpy(to, from, byte_size);
}
