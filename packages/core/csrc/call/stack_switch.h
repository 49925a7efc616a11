/* The switch between the stacks of JavaScript and of native code. AddressSanitizer has to know of it, because it takes the
 * bounds of a stack to find the frames that an exception has left. */
#pragma once

#include "environment.h"

#if defined(__SANITIZE_ADDRESS__)
#define TN__ANNOUNCES_SWITCHES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN__ANNOUNCES_SWITCHES
#endif
#endif

#ifdef TN__ANNOUNCES_SWITCHES
#include <sanitizer/common_interface_defs.h>

typedef struct {
  const void *bottom;
  size_t size;
} tn__stack_bounds_t;

/* The stack to which this thread switches next: native code's or JavaScript's, in turn. */
static _Thread_local tn__stack_bounds_t tn__other_stack;

typedef struct {
  uint32_t (*run)(void *data);
  void *data;
} tn__switched_t;

static uint32_t tn__run_switched(void *data) {
  const tn__switched_t *switched = data;
  tn__stack_bounds_t left;
  __sanitizer_finish_switch_fiber(NULL, &left.bottom, &left.size);
  tn__other_stack = left;
  const uint32_t result = switched->run(switched->data);
  __sanitizer_start_switch_fiber(NULL, left.bottom, left.size);
  return result;
}

/* Does the same as tn__on_stack(). */
static inline uint32_t tn__switch_stack(const tn_environment_t *environment, void *top, uint32_t (*run)(void *data),
                                        void *data, void **left) {
  if (environment->is_in_place) return tn__on_stack(top, run, data, left);
  const uint8_t *bottom = environment->native.memory;
  if (environment->depth == 1 && top == environment->native.top)
    tn__other_stack = (tn__stack_bounds_t){bottom, (size_t)((const uint8_t *)top - bottom)};
  const tn__stack_bounds_t target = tn__other_stack;
  tn__switched_t switched = {run, data};
  void *fake_stack;
  __sanitizer_start_switch_fiber(&fake_stack, target.bottom, target.size);
  const uint32_t result = tn__on_stack(top, tn__run_switched, &switched, left);
  /* A C++ exception has left tn__run_switched(), which did not announce the way back. */
  if (environment->has_caught)
    __sanitizer_start_switch_fiber(NULL, tn__other_stack.bottom, tn__other_stack.size);
  __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
  tn__other_stack = target;
  return result;
}

#else
static inline uint32_t tn__switch_stack(const tn_environment_t *environment, void *top, uint32_t (*run)(void *data),
                                        void *data, void **left) {
  (void)environment;
  return tn__on_stack(top, run, data, left);
}
#endif
