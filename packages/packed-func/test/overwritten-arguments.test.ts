import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { tensor } from '@tenon/core'
import { addressOf, keepAlive } from '@tenon/core/internal'
import {
  Module,
  packedFunc,
  readOnly,
  rvalue,
  tensorView,
  type Argument,
  type NativeObject,
  type PackedFunc,
} from '../src/index.ts'
import { openStack } from '../src/native/stack.ts'
import { openCell } from '../src/objects/native-object.ts'
import { pack } from '../src/values/pack.ts'
import { compileLibrary } from './compile.ts'
import { collectAll, kernel, live } from './support.ts'

const include = fileURLToPath(new URL('../../core/include', import.meta.url))

const lib = Module.open(
  compileLibrary(
    'liboverwrites.so',
    `
    #include <stdint.h>
    #include <string.h>
    #include <tenon/tvm_ffi.h>
    #define FUNCTION(name) \\
      TVM_FFI_EXPORT int __tvm_ffi_##name(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result)

    static void overwrite(const TVMFFIAny *args, int32_t count, TVMFFIAny value) {
      for (int32_t i = 0; i < count; i++) ((TVMFFIAny *)(uintptr_t)args)[i] = value;
    }
    static const TVMFFIAny ones = {.type_index = -1, .zero_padding = UINT32_MAX, .v_int64 = -1};

    FUNCTION(as_ones) { overwrite(args, count, ones); return 0; }
    FUNCTION(as_zeros) { overwrite(args, count, (TVMFFIAny){0}); return 0; }
    FUNCTION(as_integers) { overwrite(args, count, (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 77}); return 0; }
    FUNCTION(as_null_arrays) { overwrite(args, count, (TVMFFIAny){.type_index = kTVMFFIArray}); return 0; }
    FUNCTION(as_null_tensors) { overwrite(args, count, (TVMFFIAny){.type_index = kTVMFFITensor}); return 0; }
    FUNCTION(as_text) { overwrite(args, count, (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = "text"}); return 0; }
    FUNCTION(as_the_last) { overwrite(args, count, args[count - 1]); return 0; }
    FUNCTION(as_the_first) { overwrite(args, count, args[0]); return 0; }
    FUNCTION(failing) {
      overwrite(args, count, ones);
      TVMFFIErrorSetRaisedFromCStr("ValueError", "after the arguments");
      return -1;
    }
    /* (value, function): calls the function after it has overwritten both. */
    FUNCTION(calling) {
      TVMFFIObjectHandle function = args[1].v_obj;
      overwrite(args, count, ones);
      return TVMFFIFunctionCall(function, NULL, 0, result);
    }

    /* (object that may be moved): releases it. */
    FUNCTION(dropping) {
      TVMFFIObjectHandle *cell = args[0].v_ptr;
      TVMFFIObjectDecRef(*cell);
      *cell = NULL;
      return 0;
    }

    static TVMFFIObjectHandle kept;
    FUNCTION(keeping) {
      TVMFFIObjectIncRef(kept = args[count - 1].v_obj);
      overwrite(args, count, args[0]);
      return 0;
    }
    FUNCTION(drop) { return TVMFFIObjectDecRef(kept); }
    `,
    ['-w', '-I', include],
  ),
)
const [failing, calling, keeping, drop] = ['failing', 'calling', 'keeping', 'drop'].map((name) => lib.get(name)) as [
  PackedFunc,
  PackedFunc,
  PackedFunc,
  PackedFunc,
]

/** Functions that overwrite all their arguments. */
const overwriting: Readonly<Record<string, PackedFunc>> = Object.fromEntries(
  ['ones', 'zeros', 'integers', 'null_arrays', 'null_tensors', 'text', 'the_last', 'the_first'].map((name) => [
    name,
    lib.get(`as_${name}`),
  ]),
)

const x = tensor('float32', [4], [1, 2, 3, 4])
const y = tensor('float32', [2])
const [echo, typeIndex] = [kernel('echo'), kernel('type_index')]
const list = echo([1, 2, 3]) as NativeObject
const ended = packedFunc(() => 1)
// All small tensors share a gate. Their objects are made at the first call, and kept.
for (const each of [x, y]) typeIndex(each)

// The objects of other tests are garbage.
beforeAll(collectAll)

/** A value of each kind, made for each call. */
const kinds: Readonly<Record<string, () => Argument>> = {
  'an integer': () => 2 ** 40,
  'a float': () => 0.5,
  'short text': () => 'abc',
  text: () => 'a text that is longer than a slot',
  'text with U+0000': () => 'a text \0 that is longer than a slot',
  'text that does not fit on the stack': () => 'x'.repeat(200_000),
  'short bytes': () => new Uint8Array(3),
  bytes: () => new Uint8Array(40),
  'bytes that do not fit on the stack': () => new Uint8Array(200_000),
  'an array': () => [1, 'abcdefghijk', [x, 'x'.repeat(200_000)]],
  'a large array': () => Array.from({ length: 3000 }, (_, i) => (i % 2 === 0 ? i : `element number ${i}`)),
  'a map': () => new Map<string, Argument>([['a key that is longer than a slot', [1, 2]]]),
  'a function': () => () => 1,
  'a packed function': () => ended,
  'an error': () => new RangeError('an argument'),
  'a native object': () => list,
  'a tensor': () => x,
  'a read-only tensor': () => readOnly(x),
  'the view of a tensor': () => tensorView(x),
  'an object that may be moved': () => rvalue(list),
}

/** The objects that a call leaves behind. */
function state(): unknown {
  const { top, text, undo } = openStack()
  return [live(), top, text, undo.length, x.gate.calls, x.gate.holds, list.isAlive]
}

const LONG = 'a text that is longer than a slot'

/** Arguments with a value in the first, the last and another place, so that each form of a call has it. */
const among = (make: () => Argument): Argument[][] => [
  [make()],
  ['a', make()],
  [make(), y, 'b'],
  [y, 2, 'b', [3], make()],
  [...Array.from({ length: 40 }, () => LONG), make()],
]

describe.each(Object.keys(kinds))('%s that a function overwrites', (kind) => {
  const make = kinds[kind]!

  test.each(Object.keys(overwriting))('is released after a call (%s)', (name) => {
    const before = state()
    for (let i = 0; i < 3; i++) {
      for (const values of among(make)) overwriting[name]!(...values)
      expect(state()).toEqual(before)
    }
    expect(typeIndex(x)).toBe(70)
  })

  // A call on another thread does not take views, and keeps what it moves.
  if (kind !== 'the view of a tensor' && kind !== 'an object that may be moved') {
    test.each(Object.keys(overwriting))('is released after a call on another thread (%s)', async (name) => {
      const before = state()
      for (let i = 0; i < 3; i++) {
        for (const values of among(make)) await overwriting[name]!.async(...values)
      }
      expect(state()).toEqual(before)
    })
  }
})

test('an object that moved to a call on another thread, which overwrites it, is released', async () => {
  await collectAll()
  const before = state()
  for (const overwrite of Object.values(overwriting)) {
    const moved = echo([1, 2]) as NativeObject
    await overwrite.async(rvalue(moved))
    expect(moved.isAlive).toBe(false)
  }
  expect(state()).toEqual(before)
})

test('arguments that a failing function overwrites are released', async () => {
  await collectAll()
  const before = state()
  for (const [kind, make] of Object.entries(kinds)) {
    expect(() => failing(make(), y)).toThrow('after the arguments')
    expect(() => failing(1, 2, y, make())).toThrow('after the arguments')
    if (kind.includes('view') || kind.includes('moved')) continue
    const error = await failing.async(make()).catch((reason: Error) => reason.message)
    expect(error).toMatch('after the arguments')
  }
  // The errors live until they are collected.
  await collectAll()
  expect(state()).toEqual(before)
})

test('arguments that a function overwrites before it calls a callback are released', async () => {
  await collectAll()
  const before = state()
  for (const make of Object.values(kinds)) {
    const seen: unknown[] = []
    const callback = packedFunc(() => {
      seen.push(echo(LONG))
      for (const each of Object.values(overwriting)) each([1, LONG], x, y, LONG)
      return LONG
    })
    expect(calling(make(), callback)).toBe(LONG)
    expect(calling(make(), () => callback())).toBe(LONG)
    expect(seen).toEqual([LONG, LONG])
    callback.close()
  }
  await collectAll()
  expect(state()).toEqual(before)
})

test('a tensor that a function keeps and overwrites is held until it is dropped, and no other one', () => {
  const z = tensor('float32', [3])
  const { foreign } = live()
  const { holds } = z.gate
  for (const first of [1, y, null]) {
    keeping(first, z)
    expect([live().foreign, z.gate.holds]).toEqual([foreign + 1, holds + 1])
    drop()
    expect([live().foreign, z.gate.holds]).toEqual([foreign, holds])
  }
  keeping('four', y, 'values', z)
  expect([live().foreign, z.gate.holds]).toEqual([foreign + 1, holds + 1])
  drop()
  expect([live().foreign, z.gate.holds]).toEqual([foreign, holds])
})

test('values outside the stack that a function overwrites are released', () => {
  const stack = openStack()
  const { foreign, native } = live()
  for (const overwrite of Object.values(overwriting)) {
    const count = 8
    const values = Buffer.alloc(count * 16)
    stack.frame(count, (base) => {
      const at = stack.slotAddress(base)
      for (let i = 0; i < count; i++) pack(stack, base + 1 + i, LONG)
      stack.entered.tn_packed_own(at, count, addressOf(values))
      const { handle } = openCell(overwrite)
      expect(stack.entered.tn_packed_call_owned(at, handle, addressOf(values), count)).toBe(0)
    })
    keepAlive(values)
  }
  expect(live()).toMatchObject({ foreign, native })
})

test('an object lives until the end of the call that borrows it, also if the function overwrites it and another call takes it over', () => {
  const dropping = lib.get('dropping')
  const before = live().native
  const array = echo([1, 2]) as NativeObject
  let during = 0
  calling(array, () => {
    dropping(rvalue(array))
    during = live().native
    return null
  })
  // The array, and the function that the call gets.
  expect(during).toBe(before + 2)
  expect(array.isAlive).toBe(false)
  expect(live().native).toBe(before)
})
