/* Strings of JavaScript as texts of native code, and back. */
#pragma once
#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "tenon_call.h"

/* The plan of the texts, which JavaScript has written to `vector_results` of the frame. */
typedef struct {
  int32_t words[TN_CALL_MOST_TEXTS];
  uint32_t count;
  int32_t returns_text;
} text_plan_t;

_Static_assert(sizeof(text_plan_t) == sizeof(((tn_call_frame_t *)NULL)->vector_results), "fits into the frame");

/* The texts of a call. Short ones are on the stack, so that calls of callbacks have memory of their own. */
typedef struct {
  char *large[TN_CALL_MOST_TEXTS]; /* of malloc(), or null */
  size_t used;
  char memory[1024];
} texts_t;

/* Writes the strings, and stores their addresses in the frame. Returns false if a string has U+0000, if there is no memory, or if
 * `strings` is null. tn_node_close_texts() follows in any case. */
bool tn_node_open_texts(napi_env env, texts_t *texts, const napi_value *strings, const text_plan_t *plan,
                        tn_call_frame_t *frame);
void tn_node_close_texts(texts_t *texts);

/* A copy of the text that a function has returned, or null. Undefined if it has no end, or if no memory can be at the address. */
napi_value tn_node_returned_text(napi_env env, uint64_t address);

/* text(address: number): a copy of the NUL-terminated UTF-8 at the address. */
napi_value tn_node_copy_text(napi_env env, napi_callback_info info);

/* boundedText(address: number, limit: number): the same, or undefined if the first `limit` bytes have no terminator. */
napi_value tn_node_copy_bounded_text(napi_env env, napi_callback_info info);
