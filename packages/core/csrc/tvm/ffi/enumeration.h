/* The types of enumerations. */
#pragma once

#include "map.h"

/* The kind of structural equality of types whose objects are equal only to themselves. */
#define TN_EQUAL_IF_SAME 5

/* Registers the types `ffi.Enum`, `ffi.IntEnum`, `ffi.StrEnum` and `ffi.EnumState`, when the library is loaded. */
void tn__register_enumerations(void);
