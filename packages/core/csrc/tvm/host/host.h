/* The parts of libtenon_packed that its files share. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "tenon_tvm.h"
#include "tvm/ffi_table.h"

/* --- stack.c: the memory that JavaScript and native code share ---------------------------------------------------- */

typedef struct tn__foreign tn__foreign_t;
typedef struct tn__places tn__places_t;

/* The part of a stack that lives as long as a function or foreign value of it: JavaScript may own the memory of the stack. */
typedef struct tn__stack_life {
  atomic_size_t references;          /* one of the thread, and one of each function and foreign value */
  _Atomic(tn__foreign_t *) released; /* values that native code has released and JavaScript has not yet taken */
  tn__foreign_t *taken;              /* taken values whose ids did not fit into the caller's array */
  struct tn__stack_life *next;       /* of the stacks of the thread */
  void *memory;                      /* of the stack, which ends with this part; null if JavaScript owns it */
  int32_t *pending;                  /* the flag that releases set, on any thread */
  int32_t unread;                    /* this flag of stacks whose memory JavaScript owns */
} tn__stack_life_t;

struct tn_packed_stack {
  tn_packed_head_t head;
  tn__stack_life_t *life;
  tn__places_t *places;       /* the references that JavaScript owns */
  TVMFFIObjectHandle *raised; /* the slot of the thread's raised error; null if the bound library hides it */
};

static inline TVMFFIAny *tn__slots(tn_packed_stack_t *stack) {
  return (TVMFFIAny *)(void *)((char *)stack + TN_PACKED_SLOTS);
}
/* The objects that JavaScript lends to calls in progress, by slot: behind the stack, because a function may overwrite slots. */
static inline TVMFFIObject **tn__lent(tn_packed_stack_t *stack) {
  return (TVMFFIObject **)(void *)((char *)stack + TN_PACKED_STACK_SIZE);
}
static inline char *tn__out(tn_packed_stack_t *stack) { return (char *)stack + TN_PACKED_OUT; }
static inline tn_packed_stack_t *tn__stack_of(const TVMFFIAny *slot) {
  return (tn_packed_stack_t *)((uintptr_t)slot & ~(uintptr_t)(TN_PACKED_STACK_SIZE - 1));
}

void tn__stack_retain(tn__stack_life_t *life);
void tn__stack_release(tn__stack_life_t *life);
/* Tells JavaScript, on any thread, that something waits for the end of its outermost call. */
static inline void tn__stack_notify(tn__stack_life_t *life) { __atomic_store_n(life->pending, 1, __ATOMIC_RELEASE); }

/* A JavaScript value that native code holds: an id, and the stack that queues the id when the value is released. */
struct tn__foreign {
  tn__stack_life_t *life; /* retained */
  int64_t id;
  tn__foreign_t *next;
};

/* Creates a foreign value; null without memory. */
tn__foreign_t *tn__foreign_new(tn_packed_stack_t *stack, int64_t id);
/* Releases a foreign value: queues its id for JavaScript. */
void tn__foreign_release(void *foreign);

/* --- owned.c: the references that the JavaScript of a thread owns ------------------------------------------------- */

/* Has the references released at the end of the calling thread's environment, if it has one. 0 without memory. */
int tn__owned_open(tn_packed_stack_t *stack);
