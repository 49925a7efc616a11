/* The stack on which a thread of JavaScript runs native code. */
#pragma once

#include "base/stacks.h"
#include "tenon_call.h"

/* Memory above the first frame of a stack. A stub reads as many arguments as it declares, and its caller may have passed
 * fewer, so the reads must not leave the stack. */
#define TN__STACK_ROOM TN_CALL_STACK_SIZE

typedef struct {
  void *memory; /* null if it is not mapped */
  void *top;    /* the free part of the stack ends here */
  tn__stack_t executable;
} tn__native_stack_t;

/* Maps a stack, which must stay at its place in memory. Returns 0 if out of memory. */
int tn__native_stack_open(tn__native_stack_t *out);

/* The free part of the stack in use, below the frame of the function in which this is written. */
#define TN__BELOW() ((void *)(((uintptr_t)__builtin_frame_address(0) - 4096) & ~(uintptr_t)15))

/* Unmaps the stack, if it is mapped. */
void tn__native_stack_close(tn__native_stack_t *stack);
