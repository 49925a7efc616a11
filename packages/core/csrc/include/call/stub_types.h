/* A stub: an address of machine code that runs one function. */
#pragma once

#include <stdint.h>

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
