/* The slots of stubs, and the behaviour of each kind of stub. */
#pragma once

#include "call/stub_types.h"

extern tn__stub_t tn__static_slots[TN__STATIC_STUBS];

/* Sets what stubs of a kind do, before the first is made. Idempotent. */
void tn__stub_behave(tn__stub_kind_t kind, const tn__stub_behaviour_t *behaviour);

const tn__stub_behaviour_t *tn__stub_behaviour(const tn__stub_t *stub);

/* Counts a call that is refused. */
void tn__stub_count_refused(void);
uint64_t tn__stub_refused(void);
