import type koffi from 'koffi'
import type * as everything from 'koffi'
import { tensor, type Lifetime, type Segment } from '@tenon/core'
import { fromKoffi, type Koffi, koffiCore, type KoffiPointer, toKoffi, useKoffi } from '@tenon/core/koffi'
import { expectTypeOf, test } from 'vitest'

declare const segment: Segment
declare const scope: Lifetime
declare const pointer: bigint

test('the default export and the namespace of koffi are accepted', () => {
  expectTypeOf<typeof koffi>().toExtend<Koffi>()
  expectTypeOf<typeof everything>().toExtend<Koffi>()
  expectTypeOf(useKoffi).parameter(0).toEqualTypeOf<Koffi>()
})

test('memory becomes bytes or an address, and a pointer becomes a segment', () => {
  expectTypeOf(toKoffi(segment)).toEqualTypeOf<Uint8Array | bigint>()
  expectTypeOf(toKoffi(tensor([1]))).toEqualTypeOf<Uint8Array | bigint>()
  expectTypeOf(toKoffi(segment)).toExtend<KoffiPointer>()
  expectTypeOf(fromKoffi(pointer, 4, scope)).toEqualTypeOf<Segment>()
  // @ts-expect-error an address is not memory
  toKoffi(pointer)
  // @ts-expect-error a scope is needed
  fromKoffi(pointer, 4)
  // @ts-expect-error a pointer that can be null is not a pointer to memory
  fromKoffi(null as bigint | null, 4, scope)
})

test('functions of the core have the types of their declarations', () => {
  const core = koffiCore({} as Koffi)
  expectTypeOf(core.func('tn_abi_version')).toEqualTypeOf<() => number>()
  expectTypeOf(core.func('tn_version')).returns.toEqualTypeOf<bigint | null>()
  expectTypeOf(core.func('tn_memory_free')).parameters.toEqualTypeOf<[KoffiPointer]>()
  expectTypeOf(core.func('tn_memory_free')).returns.toEqualTypeOf<void>()
  expectTypeOf(core.func('tn_library_open')).parameters.toEqualTypeOf<
    [string | KoffiPointer, number | bigint, KoffiPointer]
  >()
  // @ts-expect-error the core has no such function
  core.func('tn_missing')
  // @ts-expect-error the core has no such struct
  core.struct('Missing')
})
