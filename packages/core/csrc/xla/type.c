/* The types that handlers register, and the states that the runtime keeps for them. */
#include <stdatomic.h>
#include <stdlib.h>

#include "error.h"
#include "internal.h"

typedef struct type {
  int64_t id;
  void (*deleter)(void *object); /* null for types of 0.1, where each state has its own */
  size_t length;
  char *name;
} type_t;

static tn__lock_t lock = TN__LOCK;
static type_t *types;
static size_t type_count;
static int64_t last_id;

static type_t *find_name(tn_xla_span_t name) {
  for (size_t i = 0; i < type_count; i++)
    if (types[i].length == name.len && memcmp(types[i].name, name.ptr, name.len) == 0) return &types[i];
  return NULL;
}

static type_t *find_id(int64_t id) {
  for (size_t i = 0; i < type_count; i++)
    if (types[i].id == id) return &types[i];
  return NULL;
}

static tn_xla_error_t *append(tn_xla_span_t name, int64_t id, void (*deleter)(void *)) {
  type_t *grown = realloc(types, (type_count + 1) * sizeof *types);
  if (grown != NULL) types = grown;
  char *copy = malloc(name.len);
  if (grown == NULL || copy == NULL) {
    free(copy);
    return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "no memory to register a type");
  }
  memcpy(copy, name.ptr, name.len);
  types[type_count++] = (type_t){id, deleter, name.len, copy};
  return NULL;
}

/* Registers a type. An id of 0 asks for a new one; any other is free or of the same name. The lock is held. */
static tn_xla_error_t *enter(tn_xla_span_t name, tn_xla_type_id_t *type_id, void (*deleter)(void *)) {
  const type_t *named = find_name(name);
  if (named != NULL && named->id == type_id->type_id) return NULL;
  if (named != NULL)
    return tn__xla_error(TN_XLA_INTERNAL, "Type name %.*s already registered with type id %lld", (int)name.len,
                         name.ptr, (long long)named->id);
  int64_t id = type_id->type_id;
  if (id == 0) {
    do id = ++last_id;
    while (find_id(id) != NULL);
  } else if (find_id(id) != NULL) {
    return tn__xla_error(TN_XLA_INTERNAL, "Type id %lld of %.*s belongs to another type", (long long)id, (int)name.len,
                         name.ptr);
  }
  tn_xla_error_t *wrong = append(name, id, deleter);
  if (wrong == NULL) type_id->type_id = id;
  return wrong;
}

static tn_xla_error_t *type_register(tn_xla_span_t name, tn_xla_type_id_t *type_id, void (*deleter)(void *)) {
  if (type_id == NULL || name.ptr == NULL || name.len == 0)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "a type needs a name and a place for its id");
  tn__lock(&lock);
  tn_xla_error_t *wrong = enter(name, type_id, deleter);
  tn__unlock(&lock);
  return wrong;
}

/* Defines a function of the table whose arguments are of this type and size. */
#define VERSIONED(function, type, name, size, result)  \
  tn_xla_error_t *function(void *pointer) {            \
    type *args = pointer;                              \
    CHECK_SIZE(name, size);                            \
    return result;                                     \
  }

VERSIONED(tn__xla_type_register_v1, const tn_xla_type_register_args_v1_t, "TypeId_Register", sizeof *args,
          type_register(args->name, args->type_id, NULL))
VERSIONED(tn__xla_type_register_v2, const tn_xla_type_register_args_v2_t, "Type_Register", TN_XLA_SIZE_TYPE_REGISTER,
          type_register(args->name, args->type_id, args->type_info == NULL ? NULL : args->type_info->deleter))

int32_t tn_xla_type_register(int32_t minor, const char *name, size_t length, void *type_id, void *type_info,
                             int64_t *id, int32_t *code) {
  TN_REQUIRE(id != NULL && code != NULL, "id and code must not be null");
  const tn_xla_type_info_t *info = minor < 2 ? NULL : type_info;
  tn_xla_error_t *wrong = type_register((tn_xla_span_t){name, length}, type_id, info == NULL ? NULL : info->deleter);
  if (wrong != NULL) return tn__xla_error_report(wrong, code);
  *id = ((const tn_xla_type_id_t *)type_id)->type_id;
  return TN_OK;
}

static atomic_size_t live_states;

size_t tn_xla_live_states(void) { return atomic_load(&live_states); }

void tn__xla_state_clear(tn__xla_state_t *slot) {
  const tn__xla_state_t old = *slot;
  *slot = (tn__xla_state_t){0, NULL, NULL};
  if (old.state == NULL) return;
  atomic_fetch_sub(&live_states, 1);
  old.deleter(old.state);
}

static tn_xla_error_t *find_slot(tn_xla_context_t *ctx, int32_t stage, const tn_xla_type_id_t *type_id,
                                 tn__xla_state_t **out) {
  if (ctx == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "ctx must not be null");
  if (type_id == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "a state needs a type id");
  if (stage < TN_XLA_INSTANTIATE || stage > TN_XLA_INITIALIZE)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "stage %d has no state: only instantiate, prepare and initialize do",
                         (int)stage);
  *out = &(stage == TN_XLA_INSTANTIATE ? ctx->owner : ctx)->states[stage];
  return NULL;
}

static tn_xla_error_t *set(tn_xla_context_t *ctx, int32_t stage, const tn_xla_type_id_t *type_id, void *state,
                           void (*deleter)(void *)) {
  tn__xla_state_t *slot = NULL;
  tn_xla_error_t *wrong = find_slot(ctx, stage, type_id, &slot);
  if (wrong != NULL) return wrong;
  if (state == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "State must be not null");
  if (deleter == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "Type info must have a deleter");
  if (slot->state != NULL)
    return tn__xla_error(TN_XLA_FAILED_PRECONDITION, "State is already set with a type id %lld",
                         (long long)slot->type_id);
  *slot = (tn__xla_state_t){type_id->type_id, state, deleter};
  atomic_fetch_add(&live_states, 1);
  return NULL;
}

static tn_xla_error_t *set_registered(tn_xla_context_t *ctx, int32_t stage, const tn_xla_type_id_t *type_id,
                                      void *state) {
  if (type_id == NULL) return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "a state needs a type id");
  tn__lock(&lock);
  const type_t *type = find_id(type_id->type_id);
  void (*deleter)(void *) = type == NULL ? NULL : type->deleter;
  tn__unlock(&lock);
  if (type == NULL)
    return tn__xla_error(TN_XLA_INTERNAL, "Type id %lld is not registered", (long long)type_id->type_id);
  return set(ctx, stage, type_id, state, deleter);
}

static tn_xla_error_t *get(tn_xla_context_t *ctx, int32_t stage, const tn_xla_type_id_t *type_id, void **out) {
  tn__xla_state_t *slot = NULL;
  tn_xla_error_t *wrong = find_slot(ctx, stage, type_id, &slot);
  if (wrong != NULL) return wrong;
  if (slot->state == NULL) return tn__xla_error(TN_XLA_NOT_FOUND, "State is not set");
  if (slot->type_id != type_id->type_id)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "Set state type id %lld does not match the requested one %lld",
                         (long long)slot->type_id, (long long)type_id->type_id);
  *out = slot->state;
  return NULL;
}

VERSIONED(tn__xla_state_set_v1, const tn_xla_state_set_args_v1_t, "State_Set", sizeof *args,
          set(args->ctx, TN_XLA_INSTANTIATE, args->type_id, args->state, args->deleter))
VERSIONED(tn__xla_state_set_v2, const tn_xla_state_set_args_v2_t, "State_Set", sizeof *args,
          set_registered(args->ctx, TN_XLA_INSTANTIATE, args->type_id, args->state))
VERSIONED(tn__xla_state_set_v3, const tn_xla_state_set_args_v3_t, "State_Set", sizeof *args,
          set_registered(args->ctx, args->stage, args->type_id, args->state))
VERSIONED(tn__xla_state_get_v1, tn_xla_state_get_args_v1_t, "State_Get", sizeof *args,
          get(args->ctx, TN_XLA_INSTANTIATE, args->type_id, &args->state))
VERSIONED(tn__xla_state_get_v3, tn_xla_state_get_args_v3_t, "State_Get", sizeof *args,
          get(args->ctx, args->stage, args->type_id, &args->state))
