/* The stack on which a thread of JavaScript runs native code. */
#pragma once

typedef struct {
  void *memory; /* null if it is not mapped */
  void *top;    /* the free part of the stack ends here */
} tn__native_stack_t;

/* Maps a stack. Returns 0 if out of memory. */
int tn__native_stack_open(tn__native_stack_t *out);

/* Unmaps the stack, if it is mapped. */
void tn__native_stack_close(tn__native_stack_t *stack);
