/* Opaque objects: handles of the host's language. */
#include "internal.h"
#include "object.h"

typedef struct {
  TVMFFIObject head;
  TVMFFIOpaqueObjectCell cell;
  void (*release)(void *handle);
} opaque_t;

static void opaque_destroy(opaque_t *self) {
  if (self->release != NULL) self->release(self->cell.handle);
}
TN_DELETER(opaque_deleter, opaque_destroy)

int TVMFFIObjectCreateOpaque(void *handle, int32_t type_index, void (*deleter)(void *handle), TVMFFIObjectHandle *out) {
  if (type_index != kTVMFFIOpaquePyObject)
    return tn__raise("RuntimeError", "an opaque object must have type index %d, got %d", kTVMFFIOpaquePyObject,
                     type_index);
  opaque_t *object = tn__object_new(sizeof *object, type_index, opaque_deleter);
  if (object == NULL) return tn__no_memory();
  object->cell.handle = handle;
  object->release = deleter;
  *out = object;
  return 0;
}
