/* Opening the file that is at a path now, which may not be the file that the loader has opened by this path before. */
#include "library_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/lock.h"
#include "base/status.h"
#include "library_dependencies.h"
#include "loader.h"

/* How often a file is opened again that was replaced while the loader read it. */
#define MOST_ATTEMPTS 8

typedef struct {
  uint64_t device, inode, size;
  int64_t modified; /* in nanoseconds */
} file_t;

/* A library that was opened. Entries are never removed, because libraries stay mapped, and so their inodes stay in use. */
typedef struct opened {
  struct opened *next;
  file_t file;
  void *library;
  char name[]; /* the path that was passed to the loader, NUL-terminated */
} opened_t;

static tn__lock_t lock = TN__LOCK;
static opened_t *all;
static unsigned spellings;

/* Describes the file at a path. False if there is no such file, or the loader searches for the name. */
static bool describe(const char *path, file_t *out) {
  struct stat found;
  if (strchr(path, '/') == NULL || stat(path, &found) != 0) return false;
#if defined(__APPLE__)
  const struct timespec time = found.st_mtimespec;
#else
  const struct timespec time = found.st_mtim;
#endif
  *out = (file_t){(uint64_t)found.st_dev, (uint64_t)found.st_ino, (uint64_t)found.st_size,
                  (int64_t)time.tv_sec * 1000000000 + time.tv_nsec};
  return true;
}

static bool is_same_inode(const file_t *a, const file_t *b) { return a->device == b->device && a->inode == b->inode; }

static bool is_same(const file_t *a, const file_t *b) {
  return is_same_inode(a, b) && a->size == b->size && a->modified == b->modified;
}

static void write_identity(const file_t *file, char text[TN_IDENTITY_SIZE]) {
  snprintf(text, TN_IDENTITY_SIZE, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64, file->device, file->inode, file->size,
           file->modified);
}

static bool has_identity(const file_t *file, const char *identity) {
  char text[TN_IDENTITY_SIZE];
  write_identity(file, text);
  return strcmp(text, identity) == 0;
}

bool tn__library_file_identity(const char *path, char text[TN_IDENTITY_SIZE]) {
  file_t file;
  if (!describe(path, &file)) return false;
  write_identity(&file, text);
  return true;
}

/* Returns the entry of a file, whose size and time may have changed since, or null. */
static const opened_t *find_inode(const file_t *file) {
  tn__lock(&lock);
  const opened_t *entry = all;
  while (entry != NULL && !is_same_inode(&entry->file, file)) entry = entry->next;
  tn__unlock(&lock);
  return entry;
}

/* Returns an entry of a library, or null. */
static const opened_t *find_library(const void *library) {
  tn__lock(&lock);
  const opened_t *entry = all;
  while (entry != NULL && entry->library != library) entry = entry->next;
  tn__unlock(&lock);
  return entry;
}

/* Returns a new entry with a path that the loader does not know yet: the path itself or, if the loader knows it, another
 * spelling of the same path. The bits of a number that no other path has are segments of the directory, "./" or "/". The
 * loader then compares the inode of the file with those that it has. Null without memory. */
static opened_t *make_entry(const char *path) {
  unsigned number = 0;
  if (dlopen(path, RTLD_LAZY | RTLD_NOLOAD) != NULL) {
    tn__lock(&lock);
    number = ++spellings;
    tn__unlock(&lock);
  }
  opened_t *entry = calloc(1, sizeof *entry + strlen(path) + 2 * 8 * sizeof number + 1);
  if (entry == NULL) return NULL;
  const char *file = strrchr(path, '/') + 1;
  char *end = entry->name + (file - path);
  memcpy(entry->name, path, (size_t)(file - path));
  for (; number != 0; number >>= 1) {
    if ((number & 1) != 0) *end++ = '.';
    *end++ = '/';
  }
  memcpy(end, file, strlen(file));
  return entry;
}

static void add(opened_t *entry) {
  tn__lock(&lock);
  entry->next = all;
  all = entry;
  tn__unlock(&lock);
}

/* Opens a file that is not open yet. */
static int32_t open_new(const char *path, const file_t *file, bool *is_replaced, void **out) {
  opened_t *entry = make_entry(path);
  if (entry == NULL) return tn__fail(TN_OUT_OF_MEMORY, "out of memory: cannot open %s", path);
  void *library = NULL;
  const int32_t status = tn__loader_open(entry->name, RTLD_LOCAL, &library);
  file_t now;
  *is_replaced = status == TN_OK && !(describe(path, &now) && is_same(&now, file));
  if (status != TN_OK || *is_replaced) {
    free(entry);
    return status;
  }
  const opened_t *other = find_library(library);
  if (other != NULL && !is_same(&other->file, file)) {
    free(entry);
    return tn__fail(TN_LOAD_FAILED, "the loader still has the file that %s has replaced", path);
  }
  const int32_t current = tn__dependencies_check(library);
  if (current != TN_OK) {
    free(entry);
    return current;
  }
  tn__dependencies_remember();
  entry->file = *file;
  entry->library = library;
  add(entry);
  *out = library;
  return TN_OK;
}

/* Opens a name that the loader searches for. The loader would also open a path whose file was removed after it was loaded. */
static int32_t open_unknown(const char *path, void **out) {
#if !defined(__APPLE__) /* whose own libraries have no files */
  struct stat found;
  if (strchr(path, '/') != NULL && stat(path, &found) != 0)
    return tn__fail(TN_LOAD_FAILED, "%s: cannot open shared object file: %s", path, strerror(errno));
#endif
  return tn__loader_open(path, RTLD_LOCAL, out);
}

int32_t tn__library_file_open(const char *path, const char *identity, void **out) {
  for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    file_t file;
    const bool is_file = describe(path, &file);
    if (identity != NULL && !(is_file && has_identity(&file, identity)))
      return tn__fail(TN_LOAD_FAILED, "the file %s was replaced after the library was opened", path);
    if (!is_file) return open_unknown(path, out);
    const opened_t *known = find_inode(&file);
    if (known != NULL && !is_same(&known->file, &file))
      return tn__fail(TN_LOAD_FAILED, "the file %s was overwritten after it was loaded", path);
    if (known != NULL) {
      *out = known->library;
      return TN_OK;
    }
    bool is_replaced = false;
    const int32_t status = open_new(path, &file, &is_replaced, out);
    if (!is_replaced) return status;
  }
  return tn__fail(TN_LOAD_FAILED, "the file %s is replaced again and again", path);
}
