/* What the files of the type table share. */
#ifndef TENON_TVM_TYPE_H
#define TENON_TVM_TYPE_H

#include "../../base/lock.h"
#include "internal.h"

typedef struct {
  TVMFFITypeInfo info;
  int32_t slots, allocated_slots; /* indices reserved for this type and its children */
  bool can_overflow;
  TVMFFITypeMetadata metadata;
  int32_t field_capacity, method_capacity;
} tn__type_t;

/* Held to change a type or an attribute. */
tn__lock_t *tn__type_lock(void);

/* The type of an index, or null. */
tn__type_t *tn__type_entry(int32_t type_index);

#endif
