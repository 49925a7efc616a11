import type { NativeLibrary, Segment, Tensor } from '@tenon/core'
import { MemoryLayout, type MemorySegment } from '@tenon/scope'
import type { FunctionSignature, WithErrno } from '@tenon/scope/linker'
import { expectTypeOf, test } from 'vitest'
import type { Library } from '../src/index.ts'

declare const library: Library
declare const native: NativeLibrary
type Pointer = Segment | Tensor | ArrayBufferView | null
const declaration = { result: 'pointer', parameters: ['pointer', 'int32', 'bool'] } as const satisfies FunctionSignature

test('one declaration types a function of Library and of NativeLibrary', () => {
  const own = library.function('f', declaration)
  expectTypeOf(own).parameters.toEqualTypeOf<[Pointer, number | bigint, boolean]>()
  expectTypeOf(own).returns.toEqualTypeOf<MemorySegment>()
  expectTypeOf(own.async).returns.toEqualTypeOf<Promise<MemorySegment>>()
  const core = native.function('f', declaration)
  expectTypeOf(core).parameters.toEqualTypeOf<[Pointer, number | bigint, boolean]>()
  expectTypeOf(core).returns.toEqualTypeOf<Segment>()
  expectTypeOf(core.async).returns.toEqualTypeOf<Promise<Segment>>()
  // @ts-expect-error: a number is no pointer
  expectTypeOf(own).toBeCallableWith(1, 1, true)
  // @ts-expect-error: an argument is missing
  expectTypeOf(core).toBeCallableWith(null, 1)
})

test('a literal is enough, also for structs and errno', () => {
  const pair = MemoryLayout.struct({ quot: MemoryLayout.int32, rem: MemoryLayout.int32 })
  const div = library.function('div', { result: pair, parameters: ['int32', 'int32'] }, { captureErrno: true })
  expectTypeOf(div).returns.toEqualTypeOf<WithErrno<MemorySegment>>()
  expectTypeOf(library.function('abs', { result: 'int32', parameters: ['int32'] })).returns.toEqualTypeOf<number>()
  expectTypeOf(native.function('f', {})).toExtend<() => undefined>()
  // @ts-expect-error: there is no such type
  library.function('f', { result: 'int' })
  // @ts-expect-error: the layouts of structs are of @tenon/scope
  native.function('f', { parameters: [pair] })
})
