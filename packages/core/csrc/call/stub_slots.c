/* The slots of stubs, and the behaviour of each kind of stub when it is called. */
#include <stddef.h>
#include <string.h>

#include "call/stub_slots.h"

tn__stub_t tn__static_slots[TN__STATIC_STUBS];

static tn__stub_behaviour_t behaviours[TN__STUB_KINDS];
static uint64_t refused;

void tn__stub_behave(tn__stub_kind_t kind, const tn__stub_behaviour_t *behaviour) {
  __atomic_store_n(&behaviours[kind].drop, behaviour->drop, __ATOMIC_RELAXED);
  __atomic_store_n(&behaviours[kind].refuse, behaviour->refuse, __ATOMIC_RELAXED);
  __atomic_store_n(&behaviours[kind].run, behaviour->run, __ATOMIC_RELEASE);
}

const tn__stub_behaviour_t *tn__stub_behaviour(const tn__stub_t *stub) {
  return &behaviours[TN__STUB_KIND(stub->shape)];
}

void tn__stub_count_refused(void) { __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED); }

uint64_t tn__stub_refused(void) { return __atomic_load_n(&refused, __ATOMIC_RELAXED); }

/* Called by the assembly. The results are zero, in case a kind writes only some of them. */
void tn__stub_enter(const tn__stub_t *stub, tn__registers_t *registers, const void *stack) {
  memset(registers, 0, offsetof(tn__registers_t, integers));
  const tn__stub_behaviour_t *behaviour = tn__stub_behaviour(stub);
  const uint64_t live = __atomic_load_n(&stub->live, __ATOMIC_ACQUIRE);
  /* Another thread may set them again, to the same values. */
  if (live == 0)
    __atomic_load_n(&behaviour->refuse, __ATOMIC_RELAXED)(stub, registers);
  else
    __atomic_load_n(&behaviour->run, __ATOMIC_RELAXED)(stub, registers, stack, live);
}
