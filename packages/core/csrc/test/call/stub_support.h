/* Functions for tests of stubs. */
#ifndef TENON_STUB_SUPPORT_H
#define TENON_STUB_SUPPORT_H

#include "environment.h"

static inline tn_stub_description_t describe(uint32_t function) {
  return (tn_stub_description_t){.function = function, .threads = TN_THREADS_WAIT, .timeout_ms = UINT32_MAX};
}

typedef void code_t(void);

static inline code_t *code_at(void *address) {
  code_t *code = NULL;
  memcpy(&code, &address, sizeof code);
  return code;
}

/* Makes a stub, or aborts. */
static inline void *make_stub(tn_stub_description_t description) {
  void *stub = NULL;
  if (tn_stub_create(&description, &stub) != TN_OK) abort();
  return stub;
}

typedef int64_t one_t(int64_t);

#endif
