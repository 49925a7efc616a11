/* The type table, as type.c and type_info.c share it. */
#pragma once

#include "base/lock.h"
#include "internal.h"

typedef struct {
  TVMFFITypeInfo info;
  int32_t slots, allocated_slots; /* the indices reserved for this type and its children */
  bool can_overflow;
  TVMFFITypeMetadata metadata;
  int32_t field_capacity, method_capacity;
} tn__type_t;

/* Held while a type or an attribute is changed. */
extern tn__lock_t tn__type_lock;

tn__type_t *tn__type_entry(int32_t type_index);
