/* The control bits of the calling thread's floating-point environment: rounding, exception masks, flush-to-zero. Libraries
 * built with -ffast-math change them when they are loaded and kernels while they run, but JavaScript needs them unchanged:
 * with flush-to-zero its subnormal numbers become 0. The status bits, which record exceptions, are never touched. */
#pragma once

#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>

#define TN__MXCSR_CONTROL 0xFFC0u

/* Returns the control bits of MXCSR. */
static inline uint64_t tn__fp_control(void) { return _mm_getcsr() & TN__MXCSR_CONTROL; }

/* Writes the register only if it differs, because writing it costs more than reading it. */
static inline void tn__fp_restore(uint64_t saved) {
  const unsigned current = _mm_getcsr();
  if ((current & TN__MXCSR_CONTROL) != saved) _mm_setcsr((current & ~TN__MXCSR_CONTROL) | (unsigned)saved);
}

/* The control word of the x87, which only `long double` uses. */
static inline uint16_t tn__x87_control(void) {
  uint16_t control;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  return control;
}

static inline void tn__x87_restore(uint16_t saved) {
  if (tn__x87_control() != saved) __asm__ volatile("fldcw %0" : : "m"(saved));
}

#elif defined(__aarch64__)

/* Returns FPCR, which has no status bits. */
static inline uint64_t tn__fp_control(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}

/* Writes the register only if it differs, because writing it costs more than reading it. */
static inline void tn__fp_restore(uint64_t saved) {
  if (tn__fp_control() != saved) __asm__ volatile("msr fpcr, %0" : : "r"(saved));
}

static inline uint16_t tn__x87_control(void) { return 0; }
static inline void tn__x87_restore(uint16_t saved) { (void)saved; }

#else
#error "this processor's floating-point environment is not supported"
#endif

/* The control bits of all units. */
typedef struct tn__floating_point {
  uint64_t control;
  uint16_t x87;
} tn__floating_point_t;

static inline tn__floating_point_t tn__floating_point_save(void) {
  return (tn__floating_point_t){.control = tn__fp_control(), .x87 = tn__x87_control()};
}

static inline int tn__floating_point_differs(tn__floating_point_t a, tn__floating_point_t b) {
  return a.control != b.control || a.x87 != b.x87;
}

static inline void tn__floating_point_restore(tn__floating_point_t saved) {
  tn__fp_restore(saved.control);
  tn__x87_restore(saved.x87);
}
