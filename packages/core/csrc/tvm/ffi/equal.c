/* Equality and hashes of values, as tvm-ffi's containers compute them. Text is compared by content in all its forms,
 * and objects by identity unless their type has hooks. */
#include "internal.h"

#define HASH_STEP 0x9e3779b9u

static uint64_t combine(uint64_t key, uint64_t value) { return key ^ (value + HASH_STEP + (key << 6) + (key >> 2)); }

static const TVMFFIAny *hook(const char *attribute, const TVMFFIAny *value) {
  if (!tn__is_object(value)) return NULL;
  const TVMFFIByteArray name = tn__span(attribute);
  const TVMFFITypeAttrColumn *column = TVMFFIGetTypeAttrColumn(&name);
  int64_t place = column == NULL ? -1 : (int64_t)value->type_index - column->begin_index;
  if (place < 0 || place >= column->size || column->data[place].type_index == kTVMFFINone) return NULL;
  return &column->data[place];
}

/* Calls a hook that is a packed function and returns its integer. A hook that fails counts as 0 and leaves no error. */
static int64_t ask(const TVMFFIAny *function, TVMFFIAny *args, int32_t count) {
  TVMFFIAny result = tn__none();
  if (function->type_index != kTVMFFIFunction) return 0;
  if (TVMFFIFunctionCall(function->v_obj, args, count, &result) != 0) {
    TVMFFIErrorSetRaised(NULL);
    return 0;
  }
  int64_t answer = result.type_index == kTVMFFIInt || result.type_index == kTVMFFIBool ? result.v_int64 : 0;
  tn__clear(&result);
  return answer;
}

static bool is_text(const TVMFFIAny *value) {
  return value->type_index == kTVMFFIStr || value->type_index == kTVMFFISmallStr || value->type_index == kTVMFFIRawStr;
}

bool tn__equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIByteArray left, right;
  if (tn__text_of(a, true, &left) && tn__text_of(b, true, &right))
    return is_text(a) == is_text(b) && tn__same(left, right);
  if (a->type_index != b->type_index) return false;
  if (a->v_uint64 == b->v_uint64) return true;
  const TVMFFIAny *equal = hook("__any_equal__", a);
  if (equal == NULL) return false;
  if (equal->type_index == kTVMFFIOpaquePtr)
    return ((bool (*)(const TVMFFIAny *, const TVMFFIAny *))(uintptr_t)equal->v_ptr)(a, b);
  TVMFFIAny args[2] = {*a, *b};
  return ask(equal, args, 2) != 0;
}

uint64_t tn__value_hash(const TVMFFIAny *value) {
  TVMFFIByteArray text;
  if (tn__text_of(value, true, &text))
    return combine(is_text(value) ? kTVMFFIStr : kTVMFFIBytes, tn__hash(text));
  const TVMFFIAny *hash = hook("__any_hash__", value);
  uint64_t own = value->v_uint64;
  if (hash != NULL && hash->type_index == kTVMFFIOpaquePtr) {
    own = (uint64_t)((int64_t (*)(const TVMFFIAny *))(uintptr_t)hash->v_ptr)(value);
  } else if (hash != NULL) {
    TVMFFIAny argument = *value;
    own = (uint64_t)ask(hash, &argument, 1);
  }
  return combine((uint64_t)(int64_t)value->type_index, own);
}
