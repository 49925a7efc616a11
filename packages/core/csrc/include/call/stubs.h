/* The table of stubs. */
#pragma once

#include "call/stub_types.h"

/* Makes a stub of any kind with this template. Null if there is no memory or no address. */
void *tn__stub_make(const tn__stub_t *template);

/* Makes the stub at an address dead. Returns 0 if it is not a live stub of this kind. */
int tn__stub_close(const void *address, tn__stub_kind_t kind);

/* Makes all stubs of an environment dead. */
void tn__stubs_close_all(uint64_t environment);
