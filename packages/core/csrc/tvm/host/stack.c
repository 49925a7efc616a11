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

_Static_assert(SIZE == TN_PACKED_MEMORY_SIZE, "JavaScript must know the size");

/* The stacks of the thread: each copy of the package that it has loaded has one. */
static _Thread_local tn__stack_life_t *opened;

static void leave_thread(void *last) {
  opened = NULL;
  for (tn__stack_life_t *life = last, *next; life != NULL; life = next) {
    next = life->next;
    tn__stack_release(life);
  }
}

static tn__thread_end_t thread_end = TN__THREAD_END(leave_thread);

/* Makes a stack of zeroed memory, which is `owned` if it ends with the stack. Takes `owned` over, also if it fails. */
static int32_t open_in(tn_packed_stack_t *stack, void *owned, tn_packed_stack_t **out) {
  tn__stack_life_t *life = calloc(1, sizeof *life);
  if (life == NULL) {
    if (owned != NULL) tn_memory_free(owned);
    return TN_OUT_OF_MEMORY;
  }
  atomic_init(&life->references, 1);
  life->memory = owned;
  life->pending = owned == NULL ? &life->unread : &stack->head.pending;
  life->next = opened;
  stack->life = life;
  if (tn__ffi.tn_tvm_raised_slot != NULL) stack->raised = tn__ffi.tn_tvm_raised_slot();
  if (!tn__at_thread_end(&thread_end, life)) {
    tn__stack_release(life);
    return TN_OUT_OF_MEMORY;
  }
  /* From here on the end of the thread frees the stack. */
  opened = life;
  *out = stack;
  return tn__owned_open(stack) ? TN_OK : TN_OUT_OF_MEMORY;
}

int32_t tn_packed_open(tn_packed_stack_t **out) {
  void *memory;
  int32_t status = tn_memory_allocate(SIZE, TN_PACKED_STACK_SIZE, &memory);
  if (status != TN_OK) return status;
  return open_in(memory, memory, out);
}

int32_t tn_packed_open_in(void *memory, tn_packed_stack_t **out) { return open_in(memory, NULL, out); }

void tn__stack_retain(tn__stack_life_t *life) { atomic_fetch_add(&life->references, 1); }

static void free_all(tn__foreign_t *foreign) {
  for (tn__foreign_t *next; foreign != NULL; foreign = next) {
    next = foreign->next;
    free(foreign);
  }
}

void tn__stack_release(tn__stack_life_t *life) {
  if (atomic_fetch_sub(&life->references, 1) != 1) return;
  free_all(life->taken);
  free_all(atomic_exchange(&life->released, NULL));
  if (life->memory != NULL) tn_memory_free(life->memory);
  free(life);
}

tn__foreign_t *tn__foreign_new(tn_packed_stack_t *stack, int64_t id) {
  tn__foreign_t *foreign = malloc(sizeof *foreign);
  if (foreign == NULL) return NULL;
  *foreign = (tn__foreign_t){stack->life, id, NULL};
  tn__stack_retain(stack->life);
  return foreign;
}

void tn__foreign_release(void *handle) {
  tn__foreign_t *foreign = handle;
  tn__stack_life_t *life = foreign->life;
  foreign->next = atomic_load(&life->released);
  while (!atomic_compare_exchange_weak(&life->released, &foreign->next, foreign)) continue;
  tn__stack_notify(life);
  tn__stack_release(life);
}

int32_t tn_packed_take_released(tn_packed_stack_t *stack, int64_t *ids, int32_t capacity) {
  tn__stack_life_t *life = stack->life;
  int32_t taken = 0;
  while (taken < capacity) {
    if (life->taken == NULL) life->taken = atomic_exchange(&life->released, NULL);
    tn__foreign_t *foreign = life->taken;
    if (foreign == NULL) break;
    life->taken = foreign->next;
    ids[taken++] = foreign->id;
    free(foreign);
  }
  return taken;
}
