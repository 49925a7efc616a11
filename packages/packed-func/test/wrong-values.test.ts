import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ArgumentError, Tensor } from '@tenon/core'
import { getGlobal, InternalError, Module, packedFunc, TensorView } from '../src/index.ts'
import { compileLibrary } from './compile.ts'
import { isOwnLibrary } from './support.ts'

const include = fileURLToPath(new URL('../../core/include', import.meta.url))

const lib = Module.open(
  compileLibrary(
    'libwrong.so',
    `
    #include <string.h>
    #include <tenon/tvm_backend.h>
    #include <tenon/tvm_ffi.h>
    #define FUNCTION(name) \\
      TVM_FFI_EXPORT int __tvm_ffi_##name(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result)

    /* (type index, bits): a value of any type. */
    static TVMFFIAny value_of(const TVMFFIAny *args) {
      return (TVMFFIAny){.type_index = (int32_t)args[0].v_int64, .v_int64 = args[1].v_int64};
    }
    FUNCTION(value) { *result = value_of(args); return 0; }
    FUNCTION(pass) {
      TVMFFIAny value = value_of(args), unused = {0};
      return TVMFFIFunctionCall(args[2].v_obj, &value, 1, &unused);
    }

    /* (bytes): a small text, or small bytes, of a length. */
    static TVMFFIAny small_of(const TVMFFIAny *args) {
      TVMFFIAny value = {.type_index = args[1].v_int64 ? kTVMFFISmallBytes : kTVMFFISmallStr,
                         .small_str_len = (uint32_t)args[0].v_int64};
      memcpy(value.v_bytes, "abcdefg", 8);
      return value;
    }
    FUNCTION(small) { *result = small_of(args); return 0; }
    FUNCTION(pass_small) {
      TVMFFIAny value = small_of(args), unused = {0};
      return TVMFFIFunctionCall(args[2].v_obj, &value, 1, &unused);
    }

    /* (object, type index): the object as one of another type. */
    FUNCTION(retyped) {
      *result = args[0];
      result->type_index = (int32_t)args[1].v_int64;
      TVMFFIObjectIncRef(args[0].v_obj);
      return 0;
    }

    /* (bytes): a text whose padding is not 0. */
    FUNCTION(padded) {
      static char text[20000];
      const TVMFFIByteArray bytes = {memset(text, 'x', sizeof text), (size_t)args[0].v_int64};
      const int status = TVMFFIStringFromByteArray(&bytes, result);
      result->zero_padding = 1;
      return status;
    }

    FUNCTION(raise_and_succeed) {
      TVMFFIErrorSetRaisedFromCStr("ValueError", "raised by a function that succeeded");
      *result = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 1};
      return 0;
    }
    FUNCTION(fail_without_error) { return -1; }
    FUNCTION(call) { return TVMFFIFunctionCall(args[0].v_obj, NULL, 0, result); }
    FUNCTION(raise_and_call) {
      TVMFFIAny unused = {0};
      TVMFFIErrorSetRaisedFromCStr("ValueError", "raised before a callback");
      TVMFFIFunctionCall(args[0].v_obj, NULL, 0, &unused);
      return -1;
    }

    static int raise_in_task(int id, TVMParallelGroupEnv *env, void *data) {
      TVMFFIErrorSetRaisedFromCStr("ValueError", "raised by a task that succeeded");
      return 0;
    }
    static int fail_in_task(int id, TVMParallelGroupEnv *env, void *data) { return id == 0 ? 0 : -1; }
    FUNCTION(raise_in_tasks) { return TVMBackendParallelLaunch(raise_in_task, NULL, 4); }
    FUNCTION(fail_in_tasks) { return TVMBackendParallelLaunch(fail_in_task, NULL, 4); }

    static TVMFFIObject unknown = {.combined_ref_count = 1000};
    FUNCTION(unknown) {
      unknown.type_index = (int32_t)args[0].v_int64;
      *result = (TVMFFIAny){.type_index = unknown.type_index, .v_obj = &unknown};
      return 0;
    }
    `,
    ['-w', '-I', include],
  ),
)
const [value, pass, small, passSmall, retyped, unknown] = [
  'value',
  'pass',
  'small',
  'pass_small',
  'retyped',
  'unknown',
].map((name) => lib.get(name)) as [typeof lib.entry, ...(typeof lib.entry)[]] & Record<number, typeof lib.entry>

const OBJECTS = [64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 127, 128, 9999, 2_147_483_647]

describe('a result', () => {
  test.each(OBJECTS)('of the type index %i that is null is an error', async (index) => {
    expect(() => value(index, 0)).toThrow(InternalError)
    expect(() => value(index, 0)).toThrow(/a function returned an object that is null/)
    await expect(value.async(index, 0)).rejects.toThrow(/a function returned an object that is null/)
  })

  test.each([-1, -2, -5, -2_147_483_648])('of the type index %i is an error', async (index) => {
    for (const bits of [0, 16, -1]) {
      expect(() => value(index, bits)).toThrow(/whose type index is negative/)
      await expect(value.async(index, bits)).rejects.toThrow(/whose type index is negative/)
    }
  })

  test.each([100, 20_000])('of %i bytes of text whose padding is not 0 is the text', async (length) => {
    const padded = lib.get('padded')
    expect(padded(length)).toBe('x'.repeat(length))
    expect(await padded.async(length)).toBe('x'.repeat(length))
  })

  test.each([8, 9, 10, 13, 40, 63])('of the type index %i, which no result has, is an error', (index) => {
    expect(() => value(index, 0)).toThrow(InternalError)
  })

  test.each([65, 66, 68, 70, 71, 9999])('that is an array, with the type index %i, is an error', async (index) => {
    const array = getGlobal('ffi.List')(1, 2)
    expect(() => retyped!(array, index)).toThrow(/an object with the type index of another type/)
    await expect(retyped!.async(array, index)).rejects.toThrow(/an object with the type index of another type/)
  })

  test('of a type that is not registered is an error', async () => {
    for (const index of [9999, 100_000, 2_147_483_647]) {
      expect(() => unknown!(index)).toThrow(`must be that of a registered type, got ${index}`)
      await expect(unknown!.async(index)).rejects.toThrow(InternalError)
    }
  })

  test.each([0, 1])('that is small ends with the slot (bytes: %i)', async (isBytes) => {
    const longest = isBytes === 1 ? new TextEncoder().encode('abcdefg') : 'abcdefg'
    expect(small!(7, isBytes)).toEqual(longest)
    for (const length of [8, 16, 200, 65_536, 0x7fff_ffff, 0xffff_ffff]) {
      expect(() => small!(length, isBytes)).toThrow(`a small text must have at most 7 bytes, got ${length}`)
      await expect(small!.async(length, isBytes)).rejects.toThrow(InternalError)
    }
  })

  test('that is valid is read after wrong ones', () => {
    expect([value(1, 5), value(0, 0), value(2, 1)]).toEqual([5, null, true])
  })
})

describe('an argument of a function of TypeScript', () => {
  test.each(OBJECTS)('of the type index %i that is null is an error', (index) => {
    let calls = 0
    const callee = packedFunc(() => calls++)
    expect(() => pass!(index, 0, callee)).toThrow(/an argument of a function is an object that is null/)
    expect(calls).toBe(0)
  })

  test('that is small ends with the slot', () => {
    const seen: unknown[] = []
    const callee = packedFunc((one) => void seen.push(one))
    passSmall!(7, 0, callee)
    expect(() => passSmall!(200, 0, callee)).toThrow('a small text must have at most 7 bytes, got 200')
    expect(() => passSmall!(8, 1, callee)).toThrow(InternalError)
    expect(seen).toEqual(['abcdefg'])
  })
})

describe('an error that a function raises although it succeeds', () => {
  const succeed = lib.get('raise_and_succeed')
  const fail = lib.get('fail_without_error')
  const ownError = 'a native function failed and raised no error'

  test('is not that of a later call', () => {
    for (let i = 0; i < 3; i++) {
      expect(succeed()).toBe(1)
      expect(() => fail()).toThrow(ownError)
      expect(() => fail()).toThrow(ownError)
    }
  })

  test('is not that of a later call of a callback', () => {
    const call = lib.get('call')
    const callback = packedFunc(() => {
      succeed()
      fail()
    })
    expect(() => call(callback)).toThrow(ownError)
  })

  // The slot of a raised error is only known in the library of this package.
  if (isOwnLibrary) {
    test('stays raised while a callback calls functions that succeed', () => {
      const raise = lib.get('raise_and_call')
      expect(() => raise(packedFunc(() => void lib.get('value')(1, 5)))).toThrow('raised before a callback')
    })
  }

  test('is not that of a later parallel launch', () => {
    for (let i = 0; i < 20; i++) {
      lib.get('raise_in_tasks')()
      expect(() => lib.get('fail_in_tasks')()).toThrow(ownError)
    }
  })

  test('is not that of a later call on another thread', async () => {
    for (let i = 0; i < 3; i++) {
      expect(await succeed.async()).toBe(1)
      await expect(fail.async()).rejects.toThrow(ownError)
    }
  })
})

test('an object that only inherits from the class of tensors is refused as an argument', () => {
  const fake = Object.create(Tensor.prototype) as Tensor
  for (const one of [fake, [fake], new Map([['x', fake]]), new TensorView(fake)])
    expect(() => getGlobal('ffi.Array')(one)).toThrow(ArgumentError)
})
