/* The table of global functions of the process, guarded by a mutex. */
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"
#include "internal.h"

typedef struct {
  void *function;          /* retained */
  TVMFFIAny metadata, doc; /* owned */
} global_t;

static tn__lock_t lock = TN__LOCK;
static tn__names_t globals;

static void free_global(global_t *global) {
  if (global == NULL) return;
  tn__release(global->function);
  tn__clear(&global->metadata);
  tn__clear(&global->doc);
  free(global);
}

static int set(TVMFFIByteArray name, void *function, TVMFFIByteArray metadata, TVMFFIByteArray doc,
               bool allow_override) {
  global_t *global = calloc(1, sizeof *global);
  if (global == NULL) return tn__no_memory();
  if (TVMFFIStringFromByteArray(&metadata, &global->metadata) != 0 ||
      TVMFFIStringFromByteArray(&doc, &global->doc) != 0) {
    tn__clear(&global->metadata);
    free(global);
    return -1;
  }
  tn__retain(function);
  global->function = function;
  tn__lock(&lock);
  bool taken = !allow_override && tn__names_get(&globals, name) != NULL;
  void **place = taken ? NULL : tn__names_add(&globals, name);
  global_t *unused = global;
  if (place != NULL) {
    unused = *place;
    *place = global;
  }
  tn__unlock(&lock);
  free_global(unused); /* not under the lock, because this may run a deleter */
  if (taken)
    return tn__raise("RuntimeError", "Global Function `%.*s` is already registered", (int)name.size, name.data);
  return place == NULL ? tn__no_memory() : 0;
}

int TVMFFIFunctionSetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle function, int allow_override) {
  return set(*name, function, (TVMFFIByteArray){"", 0}, (TVMFFIByteArray){"", 0}, allow_override != 0);
}

int TVMFFIFunctionSetGlobalFromMethodInfo(const TVMFFIMethodInfo *method, int allow_override) {
  if (method->method.type_index != kTVMFFIFunction)
    return tn__raise("TypeError", "a global function must be a function, got `%s`",
                     tn__type_name(method->method.type_index));
  return set(method->name, method->method.v_obj, method->metadata, method->doc, allow_override != 0);
}

int TVMFFIFunctionGetGlobal(const TVMFFIByteArray *name, TVMFFIObjectHandle *out) {
  tn__lock(&lock);
  const global_t *global = tn__names_get(&globals, *name);
  *out = global == NULL ? NULL : global->function;
  if (*out != NULL) tn__retain(*out);
  tn__unlock(&lock);
  return 0;
}

TVMFFIObjectHandle tn__find_loader(const char *prefix, TVMFFIByteArray kind, char name[TN_LOADER_NAME]) {
  int length = snprintf(name, TN_LOADER_NAME, "%s%.*s", prefix, (int)kind.size, kind.data);
  const TVMFFIByteArray span = {name, (size_t)length};
  TVMFFIObjectHandle loader = NULL;
  if (length > 0 && length < TN_LOADER_NAME) TVMFFIFunctionGetGlobal(&span, &loader);
  return loader;
}

static int remove_global(const tn__call_t *call) {
  TVMFFIByteArray name;
  if (tn__argument_text(call, 0, &name) != 0) return -1;
  tn__lock(&lock);
  global_t *global = tn__names_remove(&globals, name);
  tn__unlock(&lock);
  *call->result = tn__bool(global != NULL);
  free_global(global);
  return 0;
}

static int get_text(const tn__call_t *call, size_t member) {
  TVMFFIByteArray name;
  if (tn__argument_text(call, 0, &name) != 0) return -1;
  tn__lock(&lock);
  const global_t *global = tn__names_get(&globals, name);
  if (global != NULL) *call->result = tn__copy((const TVMFFIAny *)(const void *)((const char *)global + member));
  tn__unlock(&lock);
  if (global != NULL) return 0;
  return tn__raise("RuntimeError", "Global Function is not found: %.*s", (int)name.size, name.data);
}

static int get_metadata(const tn__call_t *call) { return get_text(call, offsetof(global_t, metadata)); }

/* The library of tvm-ffi keeps the documentation too, but has no function that returns it. */
static int get_doc(const tn__call_t *call) { return get_text(call, offsetof(global_t, doc)); }

/* --- the list of names: a snapshot, as a function that returns the count for -1 and the i-th name for i ----------- */

typedef struct {
  size_t count;
  TVMFFIAny names[];
} listing_t;

static void free_listing(void *self) {
  listing_t *listing = self;
  for (size_t i = 0; i < listing->count; i++) tn__clear(&listing->names[i]);
  free(listing);
}

static int ask_listing(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const tn__call_t call = {"ffi.FunctionListGlobalNamesFunctor()", args, num_args, 0, result};
  const listing_t *listing = self;
  int64_t index;
  if (tn__expect_count(&call, 1) != 0 || tn__argument_int(&call, 0, &index) != 0) return -1;
  if (index >= 0 && (uint64_t)index >= listing->count)
    return tn__raise("IndexError", "Index %lld out of bounds %zu", (long long)index, listing->count);
  *result = index < 0 ? tn__int((int64_t)listing->count) : tn__copy(&listing->names[index]);
  return 0;
}

/* Copies the names, each as its size and its bytes, because objects cannot be created under the lock. Null without memory. */
static char *copy_names(size_t *count) {
  tn__lock(&lock);
  size_t size = 1;
  for (size_t i = 0; i < globals.used; i++)
    if (globals.entries[i].key != NULL) size += sizeof size + globals.entries[i].key_size;
  char *copy = malloc(size), *at = copy;
  *count = globals.live;
  for (size_t i = 0; copy != NULL && i < globals.used; i++) {
    const tn__name_t *entry = &globals.entries[i];
    if (entry->key == NULL) continue;
    memcpy(at, &entry->key_size, sizeof entry->key_size);
    memcpy(at + sizeof entry->key_size, entry->key, entry->key_size);
    at += sizeof entry->key_size + entry->key_size;
  }
  tn__unlock(&lock);
  return copy;
}

static listing_t *make_listing(void) {
  size_t count;
  char *names = copy_names(&count), *at = names;
  listing_t *listing = names == NULL ? NULL : calloc(1, sizeof *listing + count * sizeof(TVMFFIAny));
  for (size_t i = 0; listing != NULL && i < count; i++) {
    size_t size;
    memcpy(&size, at, sizeof size);
    if (tn__text(at + sizeof size, size, &listing->names[i]) != 0) {
      free_listing(listing);
      listing = NULL;
      break;
    }
    listing->count++;
    at += sizeof size + size;
  }
  free(names);
  return listing;
}

static int list_names(const tn__call_t *call) {
  TVMFFIObjectHandle function;
  listing_t *listing = make_listing();
  if (listing == NULL) return tn__no_memory();
  if (TVMFFIFunctionCreate(listing, ask_listing, free_listing, &function) != 0) {
    free_listing(listing);
    return -1;
  }
  return tn__give(call, tn__object(function));
}

const tn__builtin_t tn__registry_builtins[] = {
    {"ffi.FunctionRemoveGlobal", remove_global, 1, 0},
    {"ffi.GetGlobalFuncMetadata", get_metadata, 1, 0},
    {"ffi.GetGlobalFuncDoc", get_doc, 1, 0},
    {"ffi.FunctionListGlobalNamesFunctor", list_names, 0, 0},
    {.name = NULL},
};
