/* Strings of JavaScript as texts of native code, and back. */
#include "node_texts.h"

#include <stdlib.h>
#include <string.h>

#include "node_buffer.h"
#include "tenon.h"

/* A text that the rest of `memory` has no room for may be cut off, at the end of a character. */
#define LARGEST_CHARACTER 4

/* The most bytes of a unit of a string. */
#define LARGEST_UNIT 3

/* Writes a string with its terminator. Returns null if it has U+0000, or if there is no memory. */
static char *copy_string(napi_env env, napi_value string, texts_t *texts, char **large) {
  char *copy = texts->memory + texts->used;
  const size_t room = sizeof texts->memory - texts->used;
  size_t size = room;
  if (room > LARGEST_CHARACTER && napi_get_value_string_utf8(env, string, copy, room, &size) != napi_ok) return NULL;
  if (size + LARGEST_CHARACTER < room) {
    texts->used += size + 1;
  } else {
    /* The number of units is known, and counting the bytes would take as long as writing them. */
    size_t units;
    if (napi_get_value_string_latin1(env, string, NULL, 0, &units) != napi_ok) return NULL;
    const size_t capacity = LARGEST_UNIT * units + 1;
    copy = *large = malloc(capacity);
    if (copy == NULL || napi_get_value_string_utf8(env, string, copy, capacity, &size) != napi_ok) return NULL;
  }
  return memchr(copy, 0, size) == NULL ? copy : NULL;
}

bool tn_node_open_texts(napi_env env, texts_t *texts, const napi_value *strings, const text_plan_t *plan,
                        tn_call_frame_t *frame) {
  memset(texts->large, 0, sizeof texts->large);
  texts->used = 0;
  if (strings == NULL) return false;
  for (uint32_t i = 0; i < plan->count; i++) {
    if (plan->words[i] == 0) continue;
    const char *copy = copy_string(env, strings[i], texts, &texts->large[i]);
    if (copy == NULL) return false;
    const uint64_t address = (uintptr_t)copy;
    memcpy((uint8_t *)frame + 4 * (size_t)plan->words[i], &address, sizeof address);
  }
  return true;
}

void tn_node_close_texts(texts_t *texts) {
  for (size_t i = 0; i < TN_CALL_MOST_TEXTS; i++) free(texts->large[i]);
}

napi_value tn_node_returned_text(napi_env env, uint64_t address) {
  napi_value made = NULL;
  if (address == 0) return napi_get_null(env, &made) == napi_ok ? made : NULL;
  if (address >> 53 != 0) return NULL;
  const char *text = (const char *)(uintptr_t)address;
  const size_t length = tn_text_length(text, TN_CALL_LARGEST_TEXT);
  if (length != TN_CALL_LARGEST_TEXT) (void)napi_create_string_utf8(env, text, length, &made);
  return made;
}

napi_value tn_node_copy_text(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument, made;
  int64_t address;
  if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok || count != 1 ||
      napi_get_value_int64(env, argument, &address) != napi_ok || address == 0)
    return refuse(env, "text() must get an address");
  if (napi_create_string_utf8(env, (const char *)(uintptr_t)address, NAPI_AUTO_LENGTH, &made) == napi_ok) return made;
  return refuse(env, "the engine refuses the text");
}

napi_value tn_node_copy_bounded_text(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value arguments[2], made;
  int64_t address;
  uint32_t limit;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count != 2 ||
      napi_get_value_int64(env, arguments[0], &address) != napi_ok || address == 0 ||
      napi_get_value_uint32(env, arguments[1], &limit) != napi_ok)
    return refuse(env, "boundedText() must get an address and a limit");
  const char *text = (const char *)(uintptr_t)address;
  const size_t length = tn_text_length(text, limit);
  if (length == limit) return NULL;
  if (napi_create_string_utf8(env, text, length, &made) == napi_ok) return made;
  return refuse(env, "the engine refuses the text");
}
