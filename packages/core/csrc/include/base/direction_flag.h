/* The direction flag of x86-64, with which the instructions that copy and fill memory run backwards. Compiled code expects it
 * to be clear at every call and return, but kernels with assembly can leave it set. */
#pragma once

static inline void tn__direction_clear(void) {
#if defined(__x86_64__)
  __asm__ volatile("cld" ::: "memory");
#endif
}
