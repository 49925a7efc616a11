/* Checks of the arguments of this library's global functions. */
#include "internal.h"

int tn__expect_count(const tn__call_t *call, int32_t expected) {
  if (expected == call->num_args) return 0;
  return tn__raise("TypeError", "Mismatched number of arguments when calling: `%s`. Expected %d but got %d arguments",
                   call->name, expected, call->num_args);
}

int tn__argument_mismatch(const tn__call_t *call, int32_t index, const char *expected) {
  return tn__raise("TypeError", "Mismatched type on argument #%d when calling: `%s`. Expected `%s` but got `%s`", index,
                   call->name, expected, tn__type_name(call->args[index].type_index));
}

int tn__argument_int(const tn__call_t *call, int32_t index, int64_t *out) {
  const TVMFFIAny *value = &call->args[index];
  if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool)
    return tn__argument_mismatch(call, index, "int");
  *out = value->v_int64;
  return 0;
}

int tn__argument_text(const tn__call_t *call, int32_t index, TVMFFIByteArray *out) {
  return tn__text_of(&call->args[index], false, out) ? 0 : tn__argument_mismatch(call, index, "str");
}

int tn__call_builtin(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  const tn__builtin_t *builtin = self;
  const tn__call_t call = {builtin->name, args, num_args, builtin->type_index, result};
  if (builtin->num_args != TN_ANY_COUNT) {
    if (tn__expect_count(&call, builtin->num_args) != 0) return -1;
    if (builtin->type_index != 0 && args[0].type_index != builtin->type_index)
      return tn__argument_mismatch(&call, 0, tn__type_name(builtin->type_index));
  }
  return builtin->run(&call);
}
