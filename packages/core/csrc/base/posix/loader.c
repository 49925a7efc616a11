#include "loader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/floating_point.h"
#include "base/modules.h"
#include "base/stacks.h"
#include "base/status.h"
#include "shadowed.h"

int32_t tn__loader_open(const char *path, int visibility, void **out) {
  const tn__floating_point_t floating_point = tn__floating_point_save();
  /* A name without a directory is searched for by the loader. What is opened globally is Tenon's own, and has no functions of the program. */
  const bool is_of_user = visibility == RTLD_LOCAL && strchr(path, '/') != NULL;
  const int own_symbols = is_of_user ? tn__own_symbols_flag(path) : 0;
  void *library = dlopen(path, RTLD_NOW | visibility | own_symbols);
  tn__floating_point_restore(floating_point);
  if (library == NULL) {
    const char *reason = dlerror();
    return tn__fail(TN_LOAD_FAILED, "%s", reason != NULL ? reason : "the loader gave no reason");
  }
  *out = library;
  tn__modules_after_load();
  return tn__stacks_after_load(library);
}
