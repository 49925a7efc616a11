/* Reports on damage beside guarded memory. */
#pragma once

#include <stdint.h>

/* Reports on stderr that bytes beside the segment in the pages at `address` were changed. */
void tn__guard_report_damage(const void *address, uint64_t before, uint64_t behind);
