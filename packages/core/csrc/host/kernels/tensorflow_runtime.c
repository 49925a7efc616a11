#include "tensorflow_runtime.h"

#include <string.h>

#include "siblings.h"

tn__tensorflow_t tn__tensorflow;

bool tn__tensorflow_is_missing(const char *reason) {
  return strstr(reason, "libtensorflow") != NULL || strstr(reason, "symbol: TF_") != NULL;
}

static int32_t open_sibling(const char *name, void **out) {
  char path[4096];
  return tn__sibling_path(name, path, sizeof path) ? tn_library_open_globally(path, strlen(path), out) : TN_NOT_FOUND;
}

static int32_t find(void *library, const char *name, void *place) {
  void *address = NULL;
  const int32_t status = tn_library_symbol(library, name, strlen(name), &address);
  if (status == TN_OK) memcpy(place, &address, sizeof address);
  return status;
}

int32_t tn__tensorflow_load(void) {
  if (tn__tensorflow.initialize != NULL) return TN_OK;
  tn__tensorflow_t found;
  void *library = NULL, *distribution = NULL;
  int32_t status = open_sibling("tenon_tensorflow", &library);
  if (status == TN_OK) status = open_sibling("tenon_tensorflow_c", &distribution);
  if (status == TN_OK) status = find(library, "tn_tf_initialize", &found.initialize);
  if (status == TN_OK) status = find(library, "tn_tf_list", &found.list);
  if (status == TN_OK) status = find(library, "tn_tf_create", &found.create);
  if (status == TN_OK) status = find(library, "tn_tf_delete", &found.delete);
  if (status == TN_OK) status = find(library, "tn_tf_run", &found.run);
  if (status == TN_OK) status = find(library, "tn_tf_end_exception", &found.end_exception);
  if (status == TN_OK) status = find(library, "tn_tf_shape", &found.shape);
  if (status == TN_OK) status = find(library, "tn_tf_take", &found.take);
  if (status == TN_OK) status = find(library, "tn_tf_failure", &found.failure);
  if (status == TN_OK) tn__tensorflow = found;
  return status;
}
