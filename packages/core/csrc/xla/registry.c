/* The handlers that libraries register, by name and platform. Never removed, because libraries stay mapped. */
#include <stdlib.h>

#include "internal.h"

typedef struct entry {
  struct entry *next;
  char *name; /* both NUL-terminated */
  char *platform;
  tn_xla_bundle_t bundle;
  int32_t minor;
  uint32_t traits;
  int64_t state_type_id;
} entry_t;

static tn__lock_t lock = TN__LOCK;
static entry_t *entries;

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

static entry_t *find(const char *name, const char *platform) {
  entry_t *entry = entries;
  while (entry != NULL && (strcmp(entry->name, name) != 0 || strcmp(entry->platform, platform) != 0))
    entry = entry->next;
  return entry;
}

static void destroy(entry_t *entry) {
  free(entry->name);
  free(entry->platform);
  free(entry);
}

/* Adds an entry. Another entry with the same name and platform is an error, unless it is equal. */
static tn_xla_error_t *enter(entry_t *entry) {
  tn__lock(&lock);
  const entry_t *same = find(entry->name, entry->platform);
  if (same == NULL) {
    entry->next = entries;
    entries = entry;
    tn__unlock(&lock);
    return NULL;
  }
  const int other_metadata =
      same->minor != entry->minor || same->traits != entry->traits || same->state_type_id != entry->state_type_id;
  const int other_bundle = memcmp(&same->bundle, &entry->bundle, sizeof entry->bundle) != 0;
  tn__unlock(&lock);
  tn_xla_error_t *wrong = NULL;
  if (other_metadata || other_bundle)
    wrong = tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                          "Duplicate FFI handler registration for %s on platform %s with different %s", entry->name,
                          entry->platform, other_metadata ? "metadata" : "bundle addresses");
  destroy(entry);
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
  const int32_t major = metadata.api_version.major_version;
  entry->minor = metadata.api_version.minor_version;
  if (major != 0 || entry->minor < 1 || entry->minor > TN_XLA_NEWEST_MINOR)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                         "XLA FFI handler registration for %s on platform %s failed: the handler's API version (%d.%d) "
                         "is incompatible with the runtime's (0.%d). Minimum supported API version is (0.1).",
                         entry->name, entry->platform, (int)major, (int)entry->minor, TN_XLA_NEWEST_MINOR);
  entry->traits |= metadata.traits;
  if (entry->bundle.instantiate == NULL) return NULL;
  wrong = ask(entry->bundle.instantiate, api, &metadata);
  if (wrong == NULL && entry->minor >= 2) entry->state_type_id = metadata.state_type_id.type_id;
  return wrong;
}

static tn_xla_error_t *no_memory(void) {
  return tn__xla_error(TN_XLA_RESOURCE_EXHAUSTED, "no memory to register a handler");
}

tn_xla_error_t *tn__xla_handler_register(tn_xla_handler_register_args_t *args, const tn_xla_api_t *api) {
  CHECK_SIZE("Handler_Register", TN_XLA_SIZE_HANDLER_REGISTER);
  if (args->name.ptr == NULL || args->name.len == 0 || args->platform.ptr == NULL || args->platform.len == 0)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT, "a handler needs a name and a platform");
  if (args->bundle.execute == NULL)
    return tn__xla_error(TN_XLA_INVALID_ARGUMENT,
                         "FFI handler for %.*s on a platform %.*s must provide an execute implementation",
                         (int)args->name.len, args->name.ptr, (int)args->platform.len, args->platform.ptr);
  entry_t *entry = calloc(1, sizeof *entry);
  if (entry == NULL) return no_memory();
  *entry = (entry_t){.name = copy_span(args->name), .platform = canonical_platform(args->platform),
                     .bundle = args->bundle, .traits = args->traits};
  const int is_copied = entry->name != NULL && entry->platform != NULL;
  tn_xla_error_t *wrong = is_copied ? describe(entry, api) : no_memory();
  if (wrong == NULL) return enter(entry);
  destroy(entry);
  return wrong;
}

int32_t tn_xla_find_handler(const char *name, size_t name_length, const char *platform, size_t platform_length,
                            void *out) {
  TN_REQUIRE(name != NULL && platform != NULL && out != NULL, "name, platform and out must not be null");
  char *name_copy = copy_span((tn_xla_span_t){name, name_length});
  char *platform_copy = canonical_platform((tn_xla_span_t){platform, platform_length});
  int32_t status = TN_OUT_OF_MEMORY;
  if (name_copy != NULL && platform_copy != NULL) {
    tn__lock(&lock);
    const entry_t *entry = find(name_copy, platform_copy);
    if (entry != NULL) memcpy(out, &entry->bundle, sizeof entry->bundle);
    tn__unlock(&lock);
    status = entry != NULL ? TN_OK
                           : tn__fail(TN_NOT_FOUND,
                                      "No FFI handler registered for %s on a platform %.*s (canonical %s)",
                                      name_copy, (int)platform_length, platform, platform_copy);
  }
  free(name_copy);
  free(platform_copy);
  return status;
}

int32_t tn_xla_list_handlers(void *out, size_t capacity, size_t *length) {
  TN_REQUIRE(length != NULL && (out != NULL || capacity == 0), "out and length must not be null");
  size_t used = 0;
  tn__lock(&lock);
  for (const entry_t *entry = entries; entry != NULL; entry = entry->next) {
    const uint32_t lengths[2] = {(uint32_t)strlen(entry->name), (uint32_t)strlen(entry->platform)};
    const size_t size = (sizeof lengths + lengths[0] + lengths[1] + 7) & ~(size_t)7;
    if (used + size <= capacity) {
      uint8_t *at = (uint8_t *)out + used;
      memset(at, 0, size);
      memcpy(at, lengths, sizeof lengths);
      memcpy(at + sizeof lengths, entry->name, lengths[0]);
      memcpy(at + sizeof lengths + lengths[0], entry->platform, lengths[1]);
    }
    used += size;
  }
  tn__unlock(&lock);
  *length = used;
  return TN_OK;
}
