#include "cancel.h"

#include "tenon_nnapi.h"

static const uint32_t *watched;

void tn_nn_watch(const uint32_t *words) { __atomic_store_n(&watched, words, __ATOMIC_RELEASE); }

int tn_nn__is_cancelled(void) {
  const uint32_t *words = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);
  return words != NULL && __atomic_load_n(&words[0], __ATOMIC_RELAXED) == __atomic_load_n(&words[1], __ATOMIC_RELAXED);
}
