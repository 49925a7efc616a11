/* The descriptors and mappings that each thread owns, which are closed when the thread ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn__owned {
  struct tn__owned *next;
  const void *owner;
  uintptr_t key;    /* a descriptor, or the address of a mapping */
  size_t byte_size; /* of a mapping; 0 for a descriptor */
} tn__owned_t;

/* From now on, this thread owns what is noted on it. */
void tn__owned_begin(void);

bool tn__owned_has_begun(void);

/* Notes something that this thread has just opened. Without memory for the note, the end of the thread does not close it. */
void tn__owned_note_descriptor(int32_t descriptor);
void tn__owned_note_mapping(const void *address, size_t byte_size);

/* Forgets something that any thread owns, right before it is closed: afterwards its number may be in use again. */
void tn__owned_forget_descriptor(int32_t descriptor);
void tn__owned_forget_mapping(const void *address);

/* Takes all that this thread owns, which owns nothing from now on. The caller closes it, and frees the list. */
tn__owned_t *tn__owned_take_all(void);
