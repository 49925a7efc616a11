/* The handlers and the functions of untyped conventions that libraries register, by name and platform, and the registrations that were
 * refused. Entries are never removed, because libraries stay mapped. */
#include <stdlib.h>

#include "error.h"
#include "internal.h"

/* The longest name of a handler or a platform. */
#define LONGEST_NAME 65535

typedef struct entry {
  struct entry *next;
  char *name; /* NUL-terminated, as the others */
  char *platform;
  char *reason; /* null for an accepted registration */
  int is_untyped;
  tn_xla_bundle_t bundle; /* the address of an untyped function is that of the execute handler */
  int32_t major, minor;   /* -1 until the execute handler has answered */
  uint32_t traits;
  int64_t state_type_id;
} entry_t;

static tn__lock_t lock = TN__LOCK;
static entry_t *entries; /* the newest first */
static size_t refused_count;

/* Returns a NUL-terminated copy, or null without memory. */
static char *copy_span(tn_xla_span_t span) {
  char *copy = malloc(span.len + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, span.ptr, span.len);
  copy[span.len] = '\0';
  return copy;
}

/* Returns a lower-case copy with the short names replaced. */
static char *canonical_platform(tn_xla_span_t platform) {
  char *copy = copy_span(platform);
  if (copy == NULL) return NULL;
  for (char *c = copy; *c != '\0'; c++)
    if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  const char *longer = strcmp(copy, "cpu") == 0 ? "host" : strcmp(copy, "gpu") == 0 ? "cuda" : NULL;
  if (longer == NULL) return copy;
  free(copy);
  return copy_span((tn_xla_span_t){longer, 4});
}

static int is_of(const entry_t *entry, const char *name, const char *platform) {
  return strcmp(entry->name, name) == 0 && strcmp(entry->platform, platform) == 0;
}

/* Returns the accepted registration, or null. The lock is held. */
static const entry_t *find(const char *name, const char *platform, int is_untyped) {
  const entry_t *entry = entries;
  while (entry != NULL &&
         (entry->reason != NULL || entry->is_untyped != is_untyped || !is_of(entry, name, platform)))
    entry = entry->next;
  return entry;
}

static int is_newer(const entry_t *entry) { return entry->major == 0 && entry->minor > TN_XLA_NEWEST_MINOR; }

/* Returns the newest registration that was refused only because it needs a newer XLA FFI, or null. The lock is held. */
static const entry_t *find_newer(const char *name, const char *platform) {
  const entry_t *entry = entries;
  while (entry != NULL && (entry->reason == NULL || !is_newer(entry) || !is_of(entry, name, platform)))
    entry = entry->next;
  return entry;
}

static void destroy(entry_t *entry) {
  free(entry->name);
  free(entry->platform);
  free(entry->reason);
  free(entry);
}

static void push(entry_t *entry) {
  entry->next = entries;
  entries = entry;
}

/* Adds an entry, which the registry owns from here on. Another entry with the same name and platform is an error, and the
 * caller keeps the entry, unless both are equal. */
static tn_xla_error_t *accept(entry_t *entry) {
  tn__lock(&lock);
  const entry_t *same = find(entry->name, entry->platform, entry->is_untyped);
  if (same == NULL) {
    push(entry);
    tn__unlock(&lock);
    return NULL;
  }
  const int other_metadata =
      same->minor != entry->minor || same->traits != entry->traits || same->state_type_id != entry->state_type_id;
  const int other_bundle = memcmp(&same->bundle, &entry->bundle, sizeof entry->bundle) != 0;
  tn__unlock(&lock);
  if (entry->is_untyped && other_bundle)
    return tn__xla_error(TN_XLA_ALREADY_EXISTS, "another function is registered as %s for %s", entry->name,
                         entry->platform);
  if (other_metadata || other_bundle)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                         "Duplicate FFI handler registration for %s on platform %s with different %s", entry->name,
                         entry->platform, other_metadata ? "metadata" : "bundle addresses");
  destroy(entry);
  return NULL;
}

/* Whether a registration like this one was refused before, as when a library is loaded twice. The lock is held. */
static int is_repeated(const entry_t *refused) {
  for (const entry_t *entry = entries; entry != NULL; entry = entry->next)
    if (entry->reason != NULL && is_of(entry, refused->name, refused->platform) &&
        strcmp(entry->reason, refused->reason) == 0 &&
        memcmp(&entry->bundle, &refused->bundle, sizeof refused->bundle) == 0)
      return 1;
  return 0;
}

/* Keeps an entry, which the registry owns from here on, with the reason why it was refused. Returns the error. */
static tn_xla_error_t *refuse(entry_t *entry, tn_xla_error_t *wrong) {
  entry->reason = copy_span((tn_xla_span_t){wrong->message, wrong->length});
  int is_kept = 0;
  if (entry->name != NULL && entry->platform != NULL && entry->reason != NULL) {
    tn__lock(&lock);
    is_kept = refused_count < TN_XLA_MOST_REFUSED && !is_repeated(entry);
    if (is_kept) push(entry);
    refused_count += (size_t)is_kept;
    tn__unlock(&lock);
  }
  if (!is_kept) destroy(entry);
  return wrong;
}

static tn_xla_error_t *ask(tn_xla_handler_t *handler, const tn_xla_api_t *api, tn_xla_metadata_t *out) {
  int32_t code = TN_XLA_UNKNOWN;
  return tn__xla_metadata(handler, api, out, &code) == TN_OK ? NULL : tn__xla_error(code, "%s", tn_last_error());
}

static tn_xla_error_t *describe(entry_t *entry, const tn_xla_api_t *api) {
  tn_xla_metadata_t metadata;
  tn_xla_error_t *wrong = ask(entry->bundle.execute, api, &metadata);
  if (wrong != NULL) return wrong;
  entry->major = metadata.api_version.major_version;
  entry->minor = metadata.api_version.minor_version;
  if (entry->major != 0 || entry->minor < 1 || entry->minor > TN_XLA_NEWEST_MINOR)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                         "XLA FFI handler registration for %s on platform %s failed: the handler's API version (%d.%d) "
                         "is incompatible with the runtime's (0.%d). Minimum supported API version is (0.1).",
                         entry->name, entry->platform, (int)entry->major, (int)entry->minor, TN_XLA_NEWEST_MINOR);
  entry->traits |= metadata.traits;
  if (entry->bundle.instantiate == NULL) return NULL;
  wrong = ask(entry->bundle.instantiate, api, &metadata);
  if (wrong == NULL && entry->minor >= 2) entry->state_type_id = metadata.state_type_id.type_id;
  return wrong;
}

static tn_xla_error_t *no_memory(void) {
  return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "no memory to register a handler");
}

/* Reads the arguments of either layout. The size tells them apart, and says nothing about the version. */
static tn_xla_error_t *read_arguments(entry_t *entry, const tn_xla_handler_register_args_v1_t *args) {
  const size_t size = args == NULL ? 0 : args->struct_size;
  if (size < offsetof(tn_xla_handler_register_args_v1_t, bundle))
    return tn__xla_check_size("XLA_FFI_Handler_Register_Args", TN_XLA_SIZE_HANDLER_REGISTER_V1, args);
  if (args->name.ptr == NULL || args->name.len == 0 || args->platform.ptr == NULL || args->platform.len == 0 ||
      args->name.len > LONGEST_NAME || args->platform.len > LONGEST_NAME)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "a handler needs a name and a platform of 1 to %d bytes", LONGEST_NAME);
  entry->name = copy_span(args->name);
  entry->platform = canonical_platform(args->platform);
  if (entry->name == NULL || entry->platform == NULL) return no_memory();
  if (size == TN_XLA_SIZE_HANDLER_REGISTER_V1) {
    memcpy(&entry->bundle, &args->bundle, sizeof args->bundle);
    entry->traits = args->traits;
  } else if (size >= TN_XLA_SIZE_HANDLER_REGISTER) {
    const tn_xla_handler_register_args_t *newer = (const void *)args;
    entry->bundle = newer->bundle;
    entry->traits = newer->traits;
  } else {
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                         "Unexpected XLA_FFI_Handler_Register_Args size: expected %d, or at least %d, got %zu",
                         TN_XLA_SIZE_HANDLER_REGISTER_V1, TN_XLA_SIZE_HANDLER_REGISTER, size);
  }
  if (entry->bundle.execute != NULL) return NULL;
  return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                       "FFI handler for %s on a platform %s must provide an execute implementation", entry->name,
                       entry->platform);
}

tn_xla_error_t *tn__xla_handler_register(const void *args, const tn_xla_api_t *api) {
  entry_t *entry = calloc(1, sizeof *entry);
  if (entry == NULL) return no_memory();
  entry->major = entry->minor = -1;
  tn_xla_error_t *wrong = read_arguments(entry, args);
  if (wrong == NULL) wrong = describe(entry, api);
  if (wrong == NULL) wrong = accept(entry);
  return wrong == NULL ? NULL : refuse(entry, wrong);
}

static int is_name(const char *name, size_t length) { return name != NULL && length > 0 && length <= LONGEST_NAME; }

TN_API void tn_xla_register_function(const char *name, size_t name_length, const char *platform, size_t platform_length,
                                     void *function) {
  if (!is_name(name, name_length) || !is_name(platform, platform_length) || function == NULL) return;
  entry_t *entry = calloc(1, sizeof *entry);
  if (entry == NULL) return;
  entry->is_untyped = 1;
  entry->major = entry->minor = -1;
  memcpy(&entry->bundle.execute, &function, sizeof function);
  entry->name = copy_span((tn_xla_span_t){name, name_length});
  entry->platform = copy_span((tn_xla_span_t){platform, platform_length});
  tn_xla_error_t *wrong = entry->name == NULL || entry->platform == NULL ? no_memory() : accept(entry);
  if (wrong != NULL) tn__xla_error_destroy(refuse(entry, wrong));
}

TN_API void *tn_xla_registered_function(const char *name, size_t name_length, const char *platform,
                                        size_t platform_length) {
  void *function = NULL;
  if (!is_name(name, name_length) || !is_name(platform, platform_length)) return NULL;
  char *name_copy = copy_span((tn_xla_span_t){name, name_length});
  char *platform_copy = copy_span((tn_xla_span_t){platform, platform_length});
  if (name_copy != NULL && platform_copy != NULL) {
    tn__lock(&lock);
    const entry_t *entry = find(name_copy, platform_copy, 1);
    if (entry != NULL) memcpy(&function, &entry->bundle.execute, sizeof function);
    tn__unlock(&lock);
  }
  free(name_copy);
  free(platform_copy);
  return function;
}

int32_t tn_xla_find_function(const char *name, size_t name_length, const char *platform, size_t platform_length,
                             uint64_t *address) {
  TN_REQUIRE(name != NULL && platform != NULL && address != NULL, "name, platform and address must not be null");
  *address = (uint64_t)(uintptr_t)tn_xla_registered_function(name, name_length, platform, platform_length);
  return *address != 0 ? TN_OK : tn__fail(TN_NOT_FOUND, "no function is registered as %.*s", (int)name_length, name);
}

/* The members of XLA's C++ class for objects that were compiled with its own header and libstdc++, whose std::string begins with the
 * address and the length. The registry that Global() returns has no members that callers read. */
typedef struct {
  const char *data;
  size_t length;
} std_string_t;

TN_API void *_ZN3xla24CustomCallTargetRegistry6GlobalEv(void);
TN_API void *_ZN3xla24CustomCallTargetRegistry6GlobalEv(void) {
  static char registry;
  return &registry;
}

TN_API void
_ZN3xla24CustomCallTargetRegistry8RegisterERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPvS8_(
    void *registry, const std_string_t *symbol, void *address, const std_string_t *platform);
TN_API void
_ZN3xla24CustomCallTargetRegistry8RegisterERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPvS8_(
    void *registry, const std_string_t *symbol, void *address, const std_string_t *platform) {
  (void)registry;
  tn_xla_register_function(symbol->data, symbol->length, platform->data, platform->length, address);
}

TN_API void *_ZNK3xla24CustomCallTargetRegistry6LookupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_(
    const void *registry, const std_string_t *symbol, const std_string_t *platform);
TN_API void *_ZNK3xla24CustomCallTargetRegistry6LookupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES8_(
    const void *registry, const std_string_t *symbol, const std_string_t *platform) {
  (void)registry;
  return tn_xla_registered_function(symbol->data, symbol->length, platform->data, platform->length);
}

static void copy_registered(const entry_t *entry, tn_xla_registered_t *out) {
  memcpy(out->handlers, &entry->bundle, sizeof out->handlers);
  out->traits = entry->traits;
  out->minor = entry->minor;
}

static int32_t look_up(const char *name, const char *platform, tn_xla_registered_t *out) {
  tn__lock(&lock);
  const entry_t *accepted = find(name, platform, 0);
  const entry_t *entry = accepted != NULL ? accepted : find_newer(name, platform);
  if (entry != NULL) copy_registered(entry, out);
  tn__unlock(&lock);
  if (accepted != NULL) return TN_OK;
  if (entry != NULL) return tn__fail(TN_VERSION_MISMATCH, "%s was registered for XLA FFI 0.%d", name, (int)out->minor);
  return tn__fail(TN_NOT_FOUND, "No FFI handler registered for %s on platform %s", name, platform);
}

int32_t tn_xla_find_handler(const char *name, size_t name_length, const char *platform, size_t platform_length,
                            tn_xla_registered_t *out) {
  TN_REQUIRE(name != NULL && platform != NULL && out != NULL && out->struct_size >= sizeof *out,
             "name, platform and out must not be null, and out must have its struct_size");
  char *name_copy = copy_span((tn_xla_span_t){name, name_length});
  char *platform_copy = canonical_platform((tn_xla_span_t){platform, platform_length});
  const int32_t status = name_copy != NULL && platform_copy != NULL
                             ? look_up(name_copy, platform_copy, out)
                             : tn__fail(TN_OUT_OF_MEMORY, "no memory to look up a handler");
  free(name_copy);
  free(platform_copy);
  return status;
}

static void write_registration(uint8_t *at, size_t size, const entry_t *entry, const tn_xla_registration_t *head) {
  memset(at, 0, size);
  memcpy(at, head, sizeof *head);
  at += sizeof *head;
  memcpy(at, entry->name, head->name_length);
  memcpy(at + head->name_length, entry->platform, head->platform_length);
  if (entry->reason != NULL) memcpy(at + head->name_length + head->platform_length, entry->reason, head->reason_length);
}

int32_t tn_xla_list_handlers(void *out, size_t capacity, size_t *length) {
  TN_REQUIRE(length != NULL && (out != NULL || capacity == 0), "out and length must not be null");
  size_t used = 0;
  tn__lock(&lock);
  for (const entry_t *entry = entries; entry != NULL; entry = entry->next) {
    const tn_xla_registration_t head = {(uint32_t)strlen(entry->name), (uint32_t)strlen(entry->platform),
                                        entry->reason == NULL ? 0 : (uint32_t)strlen(entry->reason), entry->major,
                                        entry->minor, (uint32_t)entry->is_untyped};
    const size_t size = (sizeof head + head.name_length + head.platform_length + head.reason_length + 7) & ~(size_t)7;
    if (used + size <= capacity) write_registration((uint8_t *)out + used, size, entry, &head);
    used += size;
  }
  tn__unlock(&lock);
  *length = used;
  return TN_OK;
}
