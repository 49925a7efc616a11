/* The table of stubs. An address is never used again after its stub is dead, unless its maker allows it, because native
 * code may keep and call it for ever. */
#include "stubs.h"

#include "code_pages.h"

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
static size_t used;      /* addresses that are or were stubs */
static size_t live;
static tn__stub_t *free_slots; /* reusable ones; `value` of each is the next */
static bool is_full;     /* the system refuses more code */

static const void *address_of(const tn__stub_t *slot) {
  for (size_t i = 0; i < block_count; i++)
    if (slot >= blocks[i].slots && slot < blocks[i].slots + BLOCK_STUBS)
      return blocks[i].code + (size_t)(slot - blocks[i].slots) * TN__STUB_CODE_SIZE;
  return NULL;
}

static tn__stub_t *slot_at(const void *address) {
  const uint8_t *code = address;
  for (size_t i = 0; i < block_count; i++) {
    const size_t offset = (size_t)(code - blocks[i].code);
    if (code >= blocks[i].code && offset < BLOCK_STUBS * TN__STUB_CODE_SIZE && offset % TN__STUB_CODE_SIZE == 0)
      return &blocks[i].slots[offset / TN__STUB_CODE_SIZE];
  }
  return NULL;
}

/* Returns a slot that no stub uses, or null. The lock is held. */
static tn__stub_t *take_slot(bool is_reusable) {
  if (is_reusable && free_slots != NULL) {
    tn__stub_t *slot = free_slots;
    free_slots = (tn__stub_t *)(uintptr_t)slot->value;
    return slot;
  }
  if (used == block_count * BLOCK_STUBS) {
    if (is_full || block_count == MOST_BLOCKS) return NULL;
    block_t *next = &blocks[block_count];
    const void *code;
    if (!tn__code_pages_open(BLOCK_STUBS, tn__stub_common, &code, &next->slots)) {
      is_full = true;
      return NULL;
    }
    next->code = code;
    block_count++;
  }
  tn__stub_t *slot = &blocks[used / BLOCK_STUBS].slots[used % BLOCK_STUBS];
  used++;
  return slot;
}

void *tn__stub_make(const tn__stub_t *template) {
  tn__lock(&lock);
  tn__stub_t *slot = take_slot((template->shape & TN__STUB_REUSABLE) != 0);
  const void *address = NULL;
  if (slot != NULL) {
    live++;
    slot->value = template->value;
    slot->shape = template->shape;
    slot->timeout_ms = template->timeout_ms;
    __atomic_store_n(&slot->live, template->live, __ATOMIC_RELEASE);
    address = address_of(slot);
  }
  tn__unlock(&lock);
  return (void *)(uintptr_t)address;
}

/* The lock is held. */
static void kill_slot(tn__stub_t *slot) {
  __atomic_store_n(&slot->live, 0, __ATOMIC_RELEASE);
  live--;
  void (*const drop)(uint64_t) = __atomic_load_n(&tn__stub_behaviour(slot)->drop, __ATOMIC_RELAXED);
  if (drop != NULL) drop(slot->value);
  if (!(slot->shape & TN__STUB_REUSABLE)) return;
  slot->value = (uintptr_t)free_slots;
  free_slots = slot;
}

int tn__stub_close(const void *address, tn__stub_kind_t kind) {
  tn__lock(&lock);
  tn__stub_t *slot = slot_at(address);
  const int is_live = slot != NULL && slot->live != 0 && TN__STUB_KIND(slot->shape) == (uint32_t)kind;
  if (is_live) kill_slot(slot);
  tn__unlock(&lock);
  return is_live;
}

void tn__stubs_close_all(uint64_t environment) {
  tn__lock(&lock);
  for (size_t i = 0; i < used; i++) {
    tn__stub_t *slot = &blocks[i / BLOCK_STUBS].slots[i % BLOCK_STUBS];
    if (slot->live >> 32 == environment) kill_slot(slot);
  }
  tn__unlock(&lock);
}

void tn_stub_counts(tn_stub_counts_t *out) {
  tn__lock(&lock);
  *out = (tn_stub_counts_t){
      .live = live,
      .dead = used - live,
      .limit = (is_full ? block_count : MOST_BLOCKS) * (uint64_t)BLOCK_STUBS,
      .refused = tn__stub_refused(),
  };
  tn__unlock(&lock);
}
