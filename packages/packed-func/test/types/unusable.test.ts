import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { describeType, listTypes, Module, objectClass, PackedFunc, registerClass, types } from '../../src/index.ts'
import { compileLibrary } from '../compile.ts'

/** Registers types under keys that no string can name, and members and constructors that are not functions. */
const source = `
#include <string.h>
#include "tenon/tvm_ffi.h"

static int32_t type(const char *key, size_t size) {
  TVMFFIByteArray text = {key, size};
  return TVMFFITypeGetOrAllocIndex(&text, -1, 1, 0, 1, 64);
}

static void method(int32_t index, const char *name, TVMFFIAny value) {
  TVMFFIMethodInfo info;
  memset(&info, 0, sizeof info);
  info.name = (TVMFFIByteArray){name, strlen(name)};
  info.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  info.method = value;
  TVMFFITypeRegisterMethod(index, &info);
}

static int five(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
  *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 5};
  return 0;
}

__attribute__((constructor)) static void load(void) {
  type("unusable.A\\xff", 11);
  type("unusable.A\\0B", 12);
  type("", 0);
  type("unusable.\\xef\\xbf\\xbd", 12);
  TVMFFIAny number = {.type_index = kTVMFFIInt, .v_int64 = 4};
  int32_t good = type("unusable.Good", 13);
  TVMFFIObjectHandle function;
  TVMFFIFunctionCreate(NULL, five, NULL, &function);
  method(good, "value", number);
  method(good, "value", (TVMFFIAny){.type_index = kTVMFFIFunction, .v_obj = function});
  method(good, "none", (TVMFFIAny){.type_index = kTVMFFINone});
  method(good, "__ffi_init__", number);
  int32_t attribute = type("unusable.Attribute", 18);
  TVMFFIByteArray init = {"__ffi_init__", 12};
  TVMFFITypeRegisterAttr(attribute, &init, &number);
}
`
const headers = fileURLToPath(new URL('../../../core/include', import.meta.url))
Module.open(compileLibrary('libunusable.so', source, [`-I${headers}`]))

describe('keys that no string can name', () => {
  test('are left out of listTypes() and types(), which return the others', () => {
    const keys = ['unusable.\uFFFD', 'unusable.Good', 'unusable.Attribute']
    expect(listTypes().slice(-3)).toEqual(keys)
    expect(Object.keys(types('unusable'))).toEqual(['\uFFFD', 'Good', 'Attribute'])
    for (const key of listTypes()) expect(describeType(key).key).toBe(key)
  })
})

describe('methods and constructors that are not functions', () => {
  test('are not described, and are not members', () => {
    expect(describeType('unusable.Good').methods).toEqual([{ name: 'value', isStatic: true }])
    const Good = objectClass('unusable.Good') as unknown as { value(): number; none: undefined }
    expect(Good.value()).toBe(5)
    expect(Good.none).toBeUndefined()
  })

  test('do not make a type constructable', () => {
    for (const key of ['unusable.Good', 'unusable.Attribute']) {
      expect(describeType(key).constructable).toBe(false)
      const Made = objectClass(key) as new () => unknown
      expect(() => new Made()).toThrow('has no constructor')
    }
  })
})

describe('registerClass()', () => {
  test('refuses a function that has only the prototype of a class, which would make functions that cannot be called', () => {
    const made = Object.defineProperty(function Made() {}, 'prototype', { value: Object.create(PackedFunc.prototype) })
    expect(() => registerClass('ffi.Function', made as unknown as typeof PackedFunc)).toThrow(
      "the class for 'ffi.Function' must extend its class PackedFunc, got the function Made",
    )
  })
})
