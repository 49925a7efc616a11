/* The table of stubs. An address is never used again after its stub is dead, unless its maker allows it, because native
 * code may keep and call it for ever. */
#include "call/stubs.h"

#include "call/stub_slots.h"
#include "code_pages.h"
#include "environment.h"

#define BLOCK_STUBS TN__STATIC_STUBS
#define MOST_BLOCKS 256

/* {sysv_x64,aapcs64,win64}.S */
extern const uint8_t tn__static_stubs[];
void tn__stub_common(void);

/* The first block is part of the library, and the others are generated when they are needed. */
typedef struct {
  const uint8_t *code;
  tn__stub_t *slots;
} block_t;

static tn__lock_t lock = TN__LOCK;
static block_t blocks[MOST_BLOCKS] = {{tn__static_stubs, tn__static_slots}};
static size_t block_count = 1;
static size_t used;        /* addresses that are or were stubs, or are left out */
static size_t left_out;    /* addresses of the library that tn_stubs_generate() has left out */
static size_t live;
static uint32_t free_slot; /* 1 + the number of the first reusable slot, or 0; `timeout_ms` of each has the next */
static bool is_full;       /* the system refuses more code */

/* Slots have numbers: the first ones are in the first block. */
#define NO_SLOT UINT32_MAX

static tn__stub_t *slot_of(uint32_t number) { return &blocks[number / BLOCK_STUBS].slots[number % BLOCK_STUBS]; }

static const void *address_of(uint32_t number) {
  return blocks[number / BLOCK_STUBS].code + (size_t)(number % BLOCK_STUBS) * TN__STUB_CODE_SIZE;
}

static uint32_t number_at(const void *address) {
  const uint8_t *code = address;
  for (size_t i = 0; i < block_count; i++) {
    const size_t offset = (size_t)(code - blocks[i].code);
    if (code >= blocks[i].code && offset < BLOCK_STUBS * TN__STUB_CODE_SIZE && offset % TN__STUB_CODE_SIZE == 0)
      return (uint32_t)(i * BLOCK_STUBS + offset / TN__STUB_CODE_SIZE);
  }
  return NO_SLOT;
}

/* Returns the number of a slot that no stub uses, or NO_SLOT. The lock is held. */
static uint32_t take_slot(bool is_reusable) {
  if (is_reusable && free_slot != 0) {
    const uint32_t number = free_slot - 1;
    free_slot = slot_of(number)->timeout_ms;
    return number;
  }
  if (used == block_count * BLOCK_STUBS) {
    if (is_full || block_count == MOST_BLOCKS) return NO_SLOT;
    block_t *next = &blocks[block_count];
    const void *code;
    if (!tn__code_pages_open(BLOCK_STUBS, tn__stub_common, &code, &next->slots)) {
      is_full = true;
      return NO_SLOT;
    }
    next->code = code;
    block_count++;
  }
  return (uint32_t)used++;
}

void *tn__stub_make(const tn__stub_t *template) {
  tn__lock(&lock);
  const uint32_t number = take_slot((template->shape & TN__STUB_REUSABLE) != 0);
  const void *address = NULL;
  if (number != NO_SLOT) {
    tn__stub_t *slot = slot_of(number);
    live++;
    slot->value = template->value;
    slot->shape = template->shape;
    slot->timeout_ms = template->timeout_ms;
    __atomic_store_n(&slot->live, template->live, __ATOMIC_RELEASE);
    address = address_of(number);
  }
  tn__unlock(&lock);
  return (void *)(uintptr_t)address;
}

/* The refused result stays, because late calls return it. The lock is held. */
static void kill_slot(uint32_t number) {
  tn__stub_t *slot = slot_of(number);
  __atomic_store_n(&slot->live, 0, __ATOMIC_RELEASE);
  live--;
  void (*const drop)(uint64_t) = __atomic_load_n(&tn__stub_behaviour(slot)->drop, __ATOMIC_RELAXED);
  if (drop != NULL) drop(slot->value);
  if (!(slot->shape & TN__STUB_REUSABLE)) return;
  __atomic_store_n(&slot->timeout_ms, free_slot, __ATOMIC_RELAXED);
  free_slot = number + 1;
}

int tn__stub_close(const void *address, tn__stub_kind_t kind) {
  tn__lock(&lock);
  const uint32_t number = number_at(address);
  const tn__stub_t *slot = number == NO_SLOT ? NULL : slot_of(number);
  const int is_live = slot != NULL && slot->live != 0 && TN__STUB_KIND(slot->shape) == (uint32_t)kind;
  if (is_live) kill_slot(number);
  tn__unlock(&lock);
  return is_live;
}

void tn__stubs_close_all(uint64_t environment) {
  tn__lock(&lock);
  for (uint32_t number = 0; number < used; number++)
    if (slot_of(number)->live >> 32 == environment) kill_slot(number);
  tn__unlock(&lock);
}

void tn_stub_counts(tn_stub_counts_t *out) {
  tn__lock(&lock);
  *out = (tn_stub_counts_t){
      .live = live,
      .dead = used - left_out - live,
      .limit = (is_full ? block_count : MOST_BLOCKS) * (uint64_t)BLOCK_STUBS - left_out,
      .refused = tn__stub_refused(),
  };
  tn__unlock(&lock);
}

void tn_stubs_generate(void) {
  tn__lock(&lock);
  if (used < TN__STATIC_STUBS) {
    left_out += TN__STATIC_STUBS - used;
    used = TN__STATIC_STUBS;
  }
  tn__unlock(&lock);
}
