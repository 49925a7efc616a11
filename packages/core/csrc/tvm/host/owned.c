/* The references to native objects that the JavaScript of a thread owns. They are released when it closes the objects, when
 * it collects them, and the rest at its end, when it cannot release them any more. */
#include <stdlib.h>

#include "host.h"

_Static_assert(TN_PACKED_PLACES == 1 << TN_PACKED_PLACES_SHIFT, "JavaScript shifts numbers of places");

/* An address is stored as a number, which is a store of one instruction in JavaScript. The other values are not positive:
 * they are those of free places, which JavaScript links. */
struct tn__places {
  tn__places_t *next;
  double *addresses; /* JavaScript's, or those below */
  double own[];
};

static tn__places_t *add_places(tn_packed_stack_t *stack, double *addresses, size_t own_size) {
  tn__places_t *added = calloc(1, sizeof *added + own_size);
  if (added == NULL) return NULL;
  added->addresses = addresses == NULL ? added->own : addresses;
  added->next = stack->places;
  stack->places = added;
  return added;
}

int32_t tn_packed_add_places(tn_packed_stack_t *stack, double **out) {
  const tn__places_t *added = add_places(stack, NULL, TN_PACKED_PLACES * sizeof(double));
  if (added == NULL) return TN_OUT_OF_MEMORY;
  *out = added->addresses;
  return TN_OK;
}

int32_t tn_packed_add_places_in(tn_packed_stack_t *stack, double *memory) {
  return add_places(stack, memory, 0) == NULL ? TN_OUT_OF_MEMORY : TN_OK;
}

void tn_packed_release_place(double *place) {
  const double address = *place;
  /* The destructor can run JavaScript, which may end meanwhile. */
  *place = 0;
  if (address > 0) tn__ffi.TVMFFIObjectDecRef((TVMFFIObjectHandle)(uintptr_t)address);
}

static _Thread_local tn_packed_stack_t *ending;

static int32_t release_all(tn_call_frame_t *frame) {
  (void)frame;
  for (tn__places_t *places; (places = ending->places) != NULL;) {
    for (int i = 0; i < TN_PACKED_PLACES; i++) tn_packed_release_place(&places->addresses[i]);
    ending->places = places->next;
    free(places);
  }
  return 0;
}

/* Destructors may need the stack of native code. One that throws a C++ exception ends the call, but not the others. */
static void end(void *stack) {
  ending = stack;
  if (ending->places == NULL) return;
  while (ending->places != NULL) tn_environment_run(tn_environment_current(), release_all);
  /* Functions of TypeScript have refused the calls of destructors. */
  tn__ffi_drop_raised();
}

int tn__owned_open(tn_packed_stack_t *stack) {
  return tn_environment_current() == NULL || tn_environment_on_end(end, stack) == TN_OK;
}
