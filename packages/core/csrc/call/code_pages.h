/* Generated machine code for stubs. */
#pragma once

#include <stddef.h>

#include "call/stub_types.h"

#if defined(__aarch64__)
#define TN__STUB_CODE_SIZE 32
#else
#define TN__STUB_CODE_SIZE 16
#endif

/* Generates `count` stubs that jump to `common`, and their slots, which live as long as the process. Returns 0 if the
 * system refuses memory or code. */
int tn__code_pages_open(size_t count, void (*common)(void), const void **code, tn__stub_t **slots);
