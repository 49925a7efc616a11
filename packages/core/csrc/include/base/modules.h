/* A list of tn_module_t that handlers of signals can read. */
#pragma once

#include <stdint.h>

/* Keeps a list from now on. TN_OUT_OF_MEMORY, or TN_UNSUPPORTED where there is none. */
int32_t tn__modules_keep(void);

/* Lists the modules again, after a library was loaded. Does nothing if no list is kept. */
void tn__modules_after_load(void);

/* The newest complete list, or null. Handlers of signals may call it. */
const uint8_t *tn__modules_kept(void);
