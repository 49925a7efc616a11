import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tensor } from '@tenon/core'
import { liveCallbacks } from '@tenon/core/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  fromDLPack,
  getGlobal,
  legacyFunc,
  Module,
  type NativeObject,
  type PackedFunc,
  packedFunc,
  registerGlobal,
  removeGlobal,
  shape,
  t,
  toDLPack,
} from '../src/index.ts'
import { compileLibrary } from './compile.ts'
import { collectAll, isOwnLibrary, kernel, live } from './support.ts'

/** `refuse(n)` refuses the allocation of an object after n others, once, and `refused()` says whether it has done so. */
const SOURCE = `
  #include <tenon/tvm_ffi.h>
  static TVMFFICustomAllocator *others;
  static int64_t left = -1;
  static int has_refused;
  static void *allocate(size_t size, size_t alignment, int32_t type_index, void *context) {
    if (left >= 0 && left-- == 0) { has_refused = 1; return 0; }
    return others->allocate(size, alignment, type_index, others->context);
  }
  static TVMFFICustomAllocator own = {allocate, 0};
  TVM_FFI_EXPORT int __tvm_ffi_refuse(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    if (others == 0) {
      others = TVMFFIGetCustomAllocator();
      TVMFFISetCustomAllocator(&own);
    }
    left = args[0].v_int64;
    result->type_index = kTVMFFIBool;
    result->v_int64 = has_refused;
    has_refused = 0;
    return 0;
  }
  TVM_FFI_EXPORT int __tvm_ffi_restore(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {
    TVMFFISetCustomAllocator(others);
    result->type_index = kTVMFFINone;
    return 0;
  }`

/** Calls a scenario, and closes what it returns. */
const closing = (make: () => unknown) => (): void => {
  const made = make()
  if (typeof made === 'object' || typeof made === 'function') (made as NativeObject).close()
}

const long = 'longer than a small text'
const [echo, call, sum] = [kernel('echo'), kernel('call'), kernel('sum')]
const withItems = (): unknown => getGlobal('ffi.Array')(long, 1n, [long, [2, long]], new Map([[long, [1]]]))

const scenarios: Readonly<Record<string, () => unknown>> = {
  'a text, bytes and a shape': () => [
    echo(long),
    echo(new TextEncoder().encode(long)),
    closing(() => echo(shape([1, 2, 3])))(),
  ],
  'an array in arrays': () => closing(() => echo([long, [long, [1, 2, [long]]]]))(),
  'a map of texts': () =>
    closing(() =>
      echo(
        new Map<string, string | string[]>([
          [long, long],
          ['b'.repeat(40), [long]],
        ]),
      ),
    )(),
  'the items of an array': closing(withItems),
  'a tensor': () => echo(tensor('f32', [2], [1, 2])),
  'a tensor through DLPack': () => {
    const pointer = toDLPack(tensor('f32', [2], [1, 2]))
    try {
      fromDLPack(pointer)
    } catch (error) {
      // A managed tensor that was refused is still the caller's.
      fromDLPack(pointer)
      throw error
    }
  },
  'a function': () => closing(() => packedFunc(() => long))(),
  'a function as an argument, which returns a text': () => call(() => long),
  'a function that takes and returns arrays': closing(() =>
    call((...values: unknown[]) => [long, values.length, [long]]),
  ),
  'a function that throws': () => {
    try {
      call(() => {
        throw new RangeError(long)
      })
    } catch (error) {
      if (!(error as Error).message.includes(long)) throw error
    }
  },
  'a typed function': () => closing(() => packedFunc((x: string) => x).typed([t.str], t.str))(),
  'a function of the older ABI': () => closing(() => legacyFunc((args, result) => result.set(args.length)))(),
  'a global function': () => {
    const f = registerGlobal('test.allocation.faults', () => long)
    try {
      getGlobal('test.allocation.faults')()
    } finally {
      removeGlobal('test.allocation.faults')
      f.close()
    }
  },
  'an asynchronous call': () =>
    sum
      .async(1, 2)
      .then(() => echo.async([long, [long]]))
      .then((made) => (made as NativeObject).close()),
  'an asynchronous call with a function': () =>
    call
      .async(() => long)
      .catch((error: Error) => {
        if (error.name === 'MemoryError') throw error
      }),
}

if (isOwnLibrary)
  describe('an object that cannot be allocated', () => {
    let module: Module
    let refuse: PackedFunc
    beforeAll(() => {
      const include = fileURLToPath(new URL('../../core/include', import.meta.url))
      const path = compileLibrary(join('faults', 'libfaults.so'), SOURCE, ['-I', include])
      module = Module.open(path)
      refuse = module.get('refuse')
      refuse(-1)
    })
    afterAll(() => void module.get('restore')())

    /** The objects that live once errors, which keep that of native code, are collected. */
    async function counters(): Promise<object> {
      await collectAll()
      return { ...live(), callbacks: liveCallbacks() }
    }

    /** Runs a scenario with the allocation after `count` others refused. Returns whether there was one, and that what was thrown is an error. */
    async function run(scenario: () => unknown, count: number): Promise<{ isRefused: boolean; isError: boolean }> {
      refuse(count)
      let isError = true
      try {
        await scenario()
      } catch (error) {
        isError = error instanceof Error
      }
      return { isRefused: refuse(-1) as boolean, isError }
    }

    test.each(Object.entries(scenarios))('in %s is an error that leaves nothing', async (_, scenario) => {
      for (let i = 0; i < 3; i++) await scenario()
      const before = await counters()
      let count = 0
      for (; ; count++) {
        const { isRefused, isError } = await run(scenario, count)
        expect(await counters(), `after ${count} others`).toEqual(before)
        expect(isError).toBe(true)
        if (!isRefused) break
      }
      await scenario()
      expect(await counters()).toEqual(before)
    })
  })
