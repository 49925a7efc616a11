/* The two forms of maps, which map.h describes. */
#include <stdlib.h>

#include "map.h"
#include "object.h"

#define SMALL_TAG ((uint64_t)1 << 63)
#define SMALL_LIMIT 4
#define BLOCK_SLOTS 16
#define FREE 0xff
#define RESERVED 0xfe /* a slot to which a member of a chain is about to move */
#define MEMBER 0x80
#define JUMP_MASK 0x7f
#define JUMPS 126
#define TRIANGULAR_FROM 16
#define WIDE_FROM 83

typedef struct {
  tn__pair_t pair;
  uint64_t previous, next;
} item_t;

typedef struct {
  uint8_t meta[BLOCK_SLOTS];
  item_t items[BLOCK_SLOTS];
} block_t;

static const uint64_t wide_jumps[JUMPS - WIDE_FROM] = {
    8515u, 19110u, 42778u, 96141u, 216153u, 486591u, 1092981u, 2458653u, 5532801u, 12442566u, 27993903u, 62983476u,
    141717030u, 318844378u, 717352503u, 1614057336u, 3631522476u, 8170957530u, 18384510628u, 41364789378u, 93070452520u,
    209408356380u, 471168559170u, 1060128894105u, 2385289465695u, 5366898840628u, 12075518705635u, 27169915244790u,
    61132312065111u, 137547689707000u, 309482283181501u, 696335127828753u, 1566753995631385u, 3525196511162271u,
    7931691992677701u, 17846306936293605u, 40154190677507445u, 90346928918121501u, 203280589587557251u,
    457381325854679626u, 1029107982097042876u, 2315492959180353330u, 5209859154120846435u,
};

/* The distance of a jump: 0 to 15, then triangular numbers from the sixth on, then wide jumps. */
static uint64_t distance(uint8_t jump) {
  if (jump < TRIANGULAR_FROM) return jump;
  if (jump >= WIDE_FROM) return jump < JUMPS ? wide_jumps[jump - WIDE_FROM] : 0;
  uint64_t n = jump - TRIANGULAR_FROM + 6u;
  return n * (n + 1) / 2;
}

static bool is_small(const tn__map_t *map) { return (map->slots & SMALL_TAG) != 0; }
static uint64_t small_slots(const tn__map_t *map) { return map->slots & ~SMALL_TAG; }
static tn__pair_t *small_pairs(const tn__map_t *map) { return map->data; }

static uint8_t *meta_of(const tn__map_t *map, uint64_t slot) {
  return &((block_t *)map->data)[slot / BLOCK_SLOTS].meta[slot % BLOCK_SLOTS];
}

static item_t *item_of(const tn__map_t *map, uint64_t slot) {
  return &((block_t *)map->data)[slot / BLOCK_SLOTS].items[slot % BLOCK_SLOTS];
}

static uint64_t home_of(const tn__map_t *map, const TVMFFIAny *key) {
  return (11400714819323198485u * tn__value_hash(key)) >> map->shift;
}

/* The slot of the next member of a chain, or TN_MAP_END. */
static uint64_t follow(const tn__map_t *map, uint64_t slot, uint8_t meta) {
  uint64_t step = distance(meta & JUMP_MASK);
  return step == 0 ? TN_MAP_END : (slot + step) % map->slots;
}

static void drop_data(tn__map_t *map) {
  if (map->data_deleter != NULL) map->data_deleter(map->data);
  map->data = NULL;
  map->data_deleter = NULL;
}

/* Releases all entries of a map that nobody else can reach. */
static void map_destroy(tn__map_t *map) {
  for (uint64_t at = tn__map_begin(map); at != TN_MAP_END; at = tn__map_next(map, at)) {
    tn__clear(&tn__map_pair(map, at)->key);
    tn__clear(&tn__map_pair(map, at)->value);
  }
  drop_data(map);
}
TN_DELETER(map_deleter, map_destroy)

static bool give(tn__map_t *map, void *data, uint64_t slots, uint32_t shift) {
  if (data == NULL) return false;
  map->data = data;
  map->data_deleter = free;
  map->slots = slots;
  map->shift = shift;
  map->size = 0;
  map->first = map->last = TN_MAP_END;
  return true;
}

static bool give_small(tn__map_t *map, uint64_t slots) {
  return give(map, calloc(slots, sizeof(tn__pair_t)), slots | SMALL_TAG, 0);
}

static bool give_dense(tn__map_t *map, uint64_t slots, uint32_t shift) {
  uint64_t blocks = (slots + BLOCK_SLOTS - 1) / BLOCK_SLOTS;
  block_t *data = calloc(blocks, sizeof *data);
  for (uint64_t i = 0; data != NULL && i < blocks; i++) memset(data[i].meta, FREE, BLOCK_SLOTS);
  return give(map, data, slots, shift);
}

/* Allocates the dense form for `count` entries: at least twice as many slots, a power of two. */
static bool give_dense_for(tn__map_t *map, uint64_t count) {
  uint32_t shift = 64;
  uint64_t slots = 1;
  for (uint64_t rest = count; rest != 0; rest >>= 1) {
    shift--;
    slots <<= 1;
  }
  if (slots < count * 2) {
    shift--;
    slots <<= 1;
  }
  return give_dense(map, slots, shift);
}

tn__map_t *tn__map_new(int32_t type_index, uint64_t count) {
  tn__map_t *map = tn__object_new(sizeof *map, type_index, map_deleter);
  if (map == NULL) return NULL;
  bool made = count <= SMALL_LIMIT ? give_small(map, count < 2 ? 2 : count) : give_dense_for(map, count);
  if (made) return map;
  map->slots = SMALL_TAG; /* an empty map for the deleter */
  tn__release(map);
  return NULL;
}

static uint64_t find_slot(const tn__map_t *map, const TVMFFIAny *key) {
  if (map->size == 0) return TN_MAP_END;
  uint64_t slot = home_of(map, key);
  if ((*meta_of(map, slot) & MEMBER) != 0) return TN_MAP_END;
  while (slot != TN_MAP_END && !tn__equal(key, &item_of(map, slot)->pair.key))
    slot = follow(map, slot, *meta_of(map, slot));
  return slot;
}

tn__pair_t *tn__map_find(const tn__map_t *map, const TVMFFIAny *key) {
  if (!is_small(map)) {
    uint64_t slot = find_slot(map, key);
    return slot == TN_MAP_END ? NULL : &item_of(map, slot)->pair;
  }
  for (uint64_t i = 0; i < map->size; i++)
    if (tn__equal(&small_pairs(map)[i].key, key)) return &small_pairs(map)[i];
  return NULL;
}

uint64_t tn__map_begin(const tn__map_t *map) {
  if (map->size == 0) return TN_MAP_END;
  return is_small(map) ? 0 : map->first;
}

uint64_t tn__map_next(const tn__map_t *map, uint64_t position) {
  if (!is_small(map)) return item_of(map, position)->next;
  return position + 1 < map->size ? position + 1 : TN_MAP_END;
}

bool tn__map_has(const tn__map_t *map, uint64_t position) {
  if (is_small(map)) return position < map->size;
  return position < map->slots && *meta_of(map, position) < RESERVED;
}

tn__pair_t *tn__map_pair(const tn__map_t *map, uint64_t position) {
  return is_small(map) ? &small_pairs(map)[position] : &item_of(map, position)->pair;
}

static void point_neighbours(tn__map_t *map, const item_t *item, uint64_t before, uint64_t after) {
  if (item->previous == TN_MAP_END) map->first = before;
  else item_of(map, item->previous)->next = before;
  if (item->next == TN_MAP_END) map->last = after;
  else item_of(map, item->next)->previous = after;
}

static void append(tn__map_t *map, uint64_t slot) {
  item_t *item = item_of(map, slot);
  item->previous = map->last;
  item->next = TN_MAP_END;
  if (map->last == TN_MAP_END) map->first = slot;
  else item_of(map, map->last)->next = slot;
  map->last = slot;
}

static void move_item(tn__map_t *map, uint64_t from, uint64_t to) {
  item_t *item = item_of(map, to);
  *item = *item_of(map, from);
  point_neighbours(map, item, to, to);
}

/* Finds the first slot in a state, FREE or RESERVED, that a jump from another slot reaches. */
static bool find_state(const tn__map_t *map, uint64_t slot, uint8_t state, uint8_t *jump, uint64_t *out) {
  for (uint8_t i = 1; i < JUMPS; i++) {
    uint64_t candidate = (slot + distance(i)) % map->slots;
    if (*meta_of(map, candidate) != state) continue;
    *jump = i;
    *out = candidate;
    return true;
  }
  return false;
}

static void set_jump(const tn__map_t *map, uint64_t slot, uint8_t jump) {
  uint8_t *meta = meta_of(map, slot);
  *meta = (uint8_t)((*meta & MEMBER) | jump);
}

static uint64_t before_in_chain(const tn__map_t *map, uint64_t slot) {
  uint64_t previous = home_of(map, &item_of(map, slot)->pair.key);
  for (uint64_t next = follow(map, previous, *meta_of(map, previous)); next != slot;
       next = follow(map, previous, *meta_of(map, previous)))
    previous = next;
  return previous;
}

/* Reserves places for the chain from `slot` on, behind `tail`. If there are too few, it reserves none. */
static bool reserve_chain(const tn__map_t *map, uint64_t slot, uint64_t tail) {
  uint8_t jump;
  uint64_t to, last = tail, from = slot;
  for (; from != TN_MAP_END; from = follow(map, from, *meta_of(map, from))) {
    if (!find_state(map, last, FREE, &jump, &to)) break;
    *meta_of(map, to) = RESERVED;
    last = to;
  }
  if (from == TN_MAP_END) return true;
  for (last = tail; slot != from; slot = follow(map, slot, *meta_of(map, slot))) {
    find_state(map, last, RESERVED, &jump, &to);
    *meta_of(map, to) = FREE;
    last = to;
  }
  return false;
}

/* Frees a slot that belongs to another chain by moving that member and all later ones. False without places for them. */
static bool evict(tn__map_t *map, uint64_t slot) {
  uint64_t tail = before_in_chain(map, slot);
  if (!reserve_chain(map, slot, tail)) return false;
  for (uint64_t from = slot; from != TN_MAP_END;) {
    uint8_t jump = 0;
    uint64_t to = 0;
    /* The same places in the same order: the earlier ones are taken, and the later ones were free then. */
    find_state(map, tail, RESERVED, &jump, &to);
    const uint8_t meta = *meta_of(map, from);
    *meta_of(map, to) = MEMBER;
    move_item(map, from, to);
    *meta_of(map, from) = FREE;
    set_jump(map, tail, jump);
    tail = to;
    from = follow(map, from, meta);
  }
  return true;
}

/* Claims the slot for a new key. TN_MAP_END if the table must grow. */
static uint64_t claim(tn__map_t *map, const TVMFFIAny *key) {
  uint64_t slot = home_of(map, key);
  uint8_t *meta = meta_of(map, slot);
  bool is_full = (double)(map->size + 1) > (double)map->slots * 0.99;
  if (*meta == FREE) {
    *meta = 0;
    return slot;
  }
  if (is_full) return TN_MAP_END;
  if ((*meta & MEMBER) != 0) {
    if (!evict(map, slot)) return TN_MAP_END;
    *meta_of(map, slot) = 0;
    return slot;
  }
  uint64_t next;
  while ((next = follow(map, slot, *meta_of(map, slot))) != TN_MAP_END) slot = next;
  uint8_t jump;
  uint64_t found;
  if (!find_state(map, slot, FREE, &jump, &found)) return TN_MAP_END;
  *meta_of(map, found) = MEMBER;
  set_jump(map, slot, jump);
  return found;
}

static bool grow(tn__map_t *map);

/* Adds a pair whose key is new. False without memory. */
static bool insert(tn__map_t *map, tn__pair_t pair) {
  map->changes++;
  if (is_small(map) && map->size == small_slots(map) && !grow(map)) return false;
  if (is_small(map)) {
    small_pairs(map)[map->size++] = pair;
    return true;
  }
  uint64_t slot;
  while ((slot = claim(map, &pair.key)) == TN_MAP_END)
    if (!grow(map)) return false;
  item_of(map, slot)->pair = pair;
  append(map, slot);
  map->size++;
  return true;
}

/* Moves all entries into larger memory: the largest small form, the smallest dense form, then twice as many slots. */
static bool grow(tn__map_t *map) {
  tn__map_t larger = *map;
  bool made = !is_small(map)               ? give_dense(&larger, map->slots * 2, map->shift - 1)
              : map->size >= SMALL_LIMIT ? give_dense_for(&larger, SMALL_LIMIT + 1)
                                         : give_small(&larger, SMALL_LIMIT);
  if (!made) return false;
  for (uint64_t at = tn__map_begin(map); at != TN_MAP_END; at = tn__map_next(map, at)) {
    if (insert(&larger, *tn__map_pair(map, at))) continue;
    drop_data(&larger);
    return false;
  }
  drop_data(map);
  larger.head = map->head;
  memcpy(&map->data, &larger.data, sizeof *map - offsetof(tn__map_t, data));
  return true;
}

bool tn__map_set(tn__map_t *map, TVMFFIAny key, TVMFFIAny value) {
  tn__pair_t *known = tn__map_find(map, &key);
  if (known == NULL) return insert(map, (tn__pair_t){key, value});
  TVMFFIAny old = known->value;
  known->value = value;
  tn__clear(&key);
  tn__clear(&old);
  return true;
}

static void erase_slot(tn__map_t *map, uint64_t slot) {
  item_t *item = item_of(map, slot);
  point_neighbours(map, item, item->next, item->previous);
  uint64_t last = slot, before_last = slot;
  for (uint64_t next; (next = follow(map, last, *meta_of(map, last))) != TN_MAP_END; last = next) before_last = last;
  if (last != slot) {
    /* The last member of the chain fills the slot, so that no other member moves. */
    move_item(map, last, slot);
    set_jump(map, before_last, 0);
  } else if ((*meta_of(map, slot) & MEMBER) != 0) {
    set_jump(map, before_in_chain(map, slot), 0);
  }
  *meta_of(map, last) = FREE;
}

void tn__map_erase(tn__map_t *map, const TVMFFIAny *key) {
  tn__pair_t *found = tn__map_find(map, key);
  if (found == NULL) return;
  tn__pair_t old = *found;
  if (is_small(map)) {
    tn__pair_t *end = small_pairs(map) + map->size;
    memmove(found, found + 1, (size_t)(end - found - 1) * sizeof *found);
  } else {
    erase_slot(map, find_slot(map, key));
  }
  map->size--;
  map->changes++;
  tn__clear(&old.key);
  tn__clear(&old.value);
}

bool tn__map_clear(tn__map_t *map) {
  tn__map_t old = *map;
  if (!give_small(map, SMALL_LIMIT)) return false;
  map->changes++;
  map_destroy(&old);
  return true;
}
