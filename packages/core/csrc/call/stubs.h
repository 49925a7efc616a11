/* Stubs: addresses of machine code that each run one function, for the other files of the core. */
#pragma once

#include "environment.h"

/* The registers of a call of a stub. The assembly stores the arguments and loads the results. */
typedef struct {
  uint64_t results[2];
  uint64_t vector_results[4];
  uint64_t integers[8];
  uint64_t vectors[8];
  uint64_t extra; /* AArch64: x8 */
} tn__registers_t;

/* Kinds of stubs. */
typedef enum { TN__STUB_SCRIPT, TN__STUB_HANDLER, TN__STUB_KINDS } tn__stub_kind_t;

/* The slot of a stub. The machine code contains the address of the slot. */
typedef struct {
  uint64_t live;      /* the environment's id << 32 | the function's id, or 0 for a dead stub; read by any thread */
  const void *common; /* of stubs outside the library: where they jump */
  uint64_t value;     /* the refused result, or the data of the kind */
  uint32_t shape;     /* the fields below */
  uint32_t timeout_ms;
} tn__stub_t;

_Static_assert(sizeof(tn__stub_t) == 32, "the assembly has this size");

/* `shape`: words of stack arguments, bytes of a struct result, TN_THREADS_..., kind, and whether it is reusable. */
#define TN__STUB_WORDS(shape) ((shape)&0x1fff)
#define TN__STUB_RESULT(shape) ((shape) >> 13 & 0x7fff)
#define TN__STUB_THREADS(shape) ((shape) >> 28 & 3)
#define TN__STUB_KIND(shape) ((shape) >> 30 & 1)
#define TN__STUB_REUSABLE 0x80000000u

typedef struct {
  /* Runs the function of a live stub, and writes the results. */
  void (*run)(const tn__stub_t *stub, tn__registers_t *registers, const void *stack, uint64_t live);
  /* Writes the results of a call that does not run. */
  void (*refuse)(const tn__stub_t *stub, tn__registers_t *registers);
  /* Frees the value of a stub that is dead now, or null. No stub is made or closed here. */
  void (*drop)(uint64_t value);
} tn__stub_behaviour_t;

/* The number of stubs that are part of the library. */
#define TN__STATIC_STUBS 4096

/* --- stub_slots.c ------------------------------------------------------------------------------------------------- */

extern tn__stub_t tn__static_slots[TN__STATIC_STUBS];

/* Sets what stubs of a kind do, before the first is made. Idempotent. */
void tn__stub_behave(tn__stub_kind_t kind, const tn__stub_behaviour_t *behaviour);

const tn__stub_behaviour_t *tn__stub_behaviour(const tn__stub_t *stub);

/* Counts a call that is refused. */
void tn__stub_count_refused(void);
uint64_t tn__stub_refused(void);

/* --- stubs.c ------------------------------------------------------------------------------------------------------ */

/* Makes a stub of any kind with this template. Null if there is no memory or no address. */
void *tn__stub_make(const tn__stub_t *template);

/* Makes the stub at an address dead. Returns 0 if it is not a live stub of this kind. */
int tn__stub_close(const void *address, tn__stub_kind_t kind);

/* Makes all stubs of an environment dead. */
void tn__stubs_close_all(uint64_t environment);
