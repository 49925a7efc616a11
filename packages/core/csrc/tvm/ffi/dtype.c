/* Element types as text: `float32`, `int8x4`, `float8_e4m3fn`, and back. */
#include <stdio.h>

#include "internal.h"

typedef struct {
  const char *name;
  uint8_t code, bits;
  bool has_bits; /* whether a number of bits may follow, as in int8 */
} prefix_t;

/* In the order of the search: a name comes before its own prefixes. */
static const prefix_t prefixes[] = {
    {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, false}, {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8, false},
    {"float8_e4m3fn", kDLFloat8_e4m3fn, 8, false},           {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8, false},
    {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8, false},         {"float8_e3m4", kDLFloat8_e3m4, 8, false},
    {"float8_e4m3", kDLFloat8_e4m3, 8, false},               {"float8_e5m2", kDLFloat8_e5m2, 8, false},
    {"float6_e2m3fn", kDLFloat6_e2m3fn, 6, false},           {"float6_e3m2fn", kDLFloat6_e3m2fn, 6, false},
    {"float4_e2m1fn", kDLFloat4_e2m1fn, 4, false},           {"bfloat", kDLBfloat, 16, true},
    {"float", kDLFloat, 32, true},                           {"handle", kDLOpaqueHandle, 64, true},
    {"uint", kDLUInt, 32, true},                             {"int", kDLInt, 32, true},
    {"bool", kDLBool, 8, true},
};

/* Short spellings of prefixes. Some apply only before a digit. */
static const struct {
  const char *alias, *prefix;
  bool before_digit;
} aliases[] = {
    {"i", "int", true},      {"u", "uint", true},      {"f", "float", true},      {"bf", "bfloat", true},
    {"fp8_", "float8_", false}, {"f8_", "float8_", false}, {"fp6_", "float6_", false}, {"f6_", "float6_", false},
    {"fp4_", "float4_", false}, {"f4_", "float4_", false},
};

#define TEXT_LIMIT 64
#define SCALABLE "xvscale"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int unknown(const char *text) { return tn__raise("ValueError", "unknown dtype `%s`", text); }

/* Reads the digits at `*at` and moves past them. Saturates at 2^32. */
static uint64_t read_number(const char **at) {
  uint64_t value = 0;
  for (; is_digit(**at); ++*at)
    if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(**at - '0');
  return value;
}

/* Expands the alias of a text. False if the text is too long for a type. */
static bool expand(TVMFFIByteArray text, char *out) {
  char copy[TEXT_LIMIT];
  if (text.size >= TEXT_LIMIT || memchr(text.data, '\0', text.size) != NULL) return false;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    size_t length = strlen(aliases[i].alias);
    if (strncmp(copy, aliases[i].alias, length) != 0) continue;
    if (aliases[i].before_digit && !is_digit(copy[length])) continue;
    return snprintf(out, TEXT_LIMIT, "%s%s", aliases[i].prefix, copy + length) < TEXT_LIMIT;
  }
  memcpy(out, copy, text.size + 1);
  return true;
}

static int read_lanes(const char *text, const char *at, bool scalable, DLDataType *out) {
  out->lanes = 1;
  if (*at == '\0') return 0;
  bool scales = scalable && strncmp(at, SCALABLE, strlen(SCALABLE)) == 0;
  if (scales) at += strlen(SCALABLE);
  if (*at != 'x') return unknown(text);
  const char *digits = ++at;
  uint64_t lanes = read_number(&at);
  if (at == digits || lanes == 0)
    return tn__raise("ValueError", "Invalid lanes specification in dtype '%s'. Lanes must be a positive integer.",
                     text);
  if (lanes > UINT16_MAX)
    return tn__raise("ValueError", "Lanes value %llu is out of range for uint16_t in dtype '%s'",
                     (unsigned long long)lanes, text);
  if (*at != '\0') return unknown(text);
  /* A negative number of lanes is a multiple of the lanes of the processor's vectors. */
  out->lanes = (uint16_t)(scales ? -(int32_t)lanes : (int32_t)lanes);
  return 0;
}

int TVMFFIDataTypeFromString(const TVMFFIByteArray *span, DLDataType *out) {
  if (span->size == 0 || tn__same(*span, TN_SPAN("void"))) {
    *out = (DLDataType){kDLOpaqueHandle, 0, 0};
    return 0;
  }
  char text[TEXT_LIMIT];
  if (!expand(*span, text)) return tn__raise("ValueError", "unknown dtype `%.*s`", (int)span->size, span->data);
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    const prefix_t *prefix = &prefixes[i];
    size_t length = strlen(prefix->name);
    if (strncmp(text, prefix->name, length) != 0) continue;
    DLDataType dtype = {prefix->code, prefix->bits, 1};
    const char *at = text + length;
    if (prefix->has_bits) {
      uint64_t bits = read_number(&at);
      if (bits > UINT32_MAX)
        return tn__raise("ValueError", "Integer value in dtype string '%s' is out of range for uint32_t", text);
      if (bits > UINT8_MAX)
        return tn__raise("ValueError", "Bits value %llu is out of range for uint8_t in dtype '%s'",
                         (unsigned long long)bits, text);
      if (bits != 0) dtype.bits = (uint8_t)bits;
    } else if (prefix->code == kDLFloat4_e2m1fn && *at == '_') {
      at++;
    }
    if (read_lanes(text, at, prefix->has_bits, &dtype) != 0) return -1;
    *out = dtype;
    return 0;
  }
  return unknown(text);
}

static const char *name_of(uint8_t code) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (prefixes[i].code == code) return prefixes[i].name;
  return NULL;
}

int TVMFFIDataTypeToString(const DLDataType *dtype, TVMFFIAny *out) {
  char text[TEXT_LIMIT];
  const char *name = name_of(dtype->code);
  int length = 0;
  if (dtype->code == kDLOpaqueHandle) {
    bool is_void = dtype->bits == 0 && dtype->lanes == 0;
    return tn__text(is_void ? "" : "handle", is_void ? 0 : 6, out);
  }
  if (name == NULL) return tn__raise("ValueError", "DLDataType contains unknown type_code=%d", dtype->code);
  bool shows_bits = dtype->code < kDLFloat8_e3m4 && !(dtype->code == kDLBool && dtype->bits == 8);
  length = snprintf(text, sizeof text, shows_bits ? "%s%d" : "%s", name, dtype->bits);
  int16_t lanes = (int16_t)dtype->lanes;
  if (lanes > 1) length += snprintf(text + length, sizeof text - (size_t)length, "x%d", lanes);
  if (lanes < -1) length += snprintf(text + length, sizeof text - (size_t)length, "xvscalex%d", -lanes);
  return tn__text(text, (size_t)length, out);
}
