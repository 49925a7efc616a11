/* The deleters of objects. */
#pragma once

#include "internal.h"

/* Frees the memory of an object of tn__object_new(): the last action of its deleter. */
void tn__object_free(void *object);

/* Defines the deleter of one kind of object around `destroy(self)`, which frees what the object owns. */
#define TN_DELETER(name, destroy)                                       \
  static void name(void *self, int flags) {                             \
    if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) destroy(self);   \
    if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tn__object_free(self); \
  }
