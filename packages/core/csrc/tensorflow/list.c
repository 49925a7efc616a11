/* Lists of texts for TypeScript. */
#include <stdio.h>

#include "internal.h"

void tn__tf_put(tn__tf_list_t *list, const void *bytes, size_t size) {
  if (list->length + size <= list->capacity) memcpy(list->out + list->length, bytes, size);
  list->length += size;
}

void tn__tf_add(tn__tf_list_t *list, const char *text) { tn__tf_put(list, text, strlen(text) + 1); }

void tn__tf_add_number(tn__tf_list_t *list, long long number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", number);
  tn__tf_add(list, text);
}
