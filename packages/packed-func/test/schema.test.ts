import { describe, expect, it } from 'vitest'
import { ArgumentError, tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { declarationOf, Module, packedFunc, typedBy, type Value } from '../src/index.ts'

const lib = Module.open(kernelLibrary('packed'))

/** Metadata as libraries write it, with the schema as JSON within JSON. */
const metadataOf = (...args: unknown[]): string =>
  JSON.stringify({ type_schema: JSON.stringify({ type: 'ffi.Function', args }) })
const of = (type: string, ...args: unknown[]): unknown => (args.length === 0 ? { type } : { type, args })

describe("the types in a library's metadata", () => {
  it('are checked by typedBy', () => {
    const sum = typedBy(lib.get('sum'), lib.metadata('sum')!, 'sum')
    expect(sum(1, 2)).toBe(3)
    expect(() => sum(1, 'x')).toThrow('when calling: `sum(0: int, 1: int) -> float`. Expected `int` but got `str`')
  })

  it.each<[unknown, unknown, string, string]>([
    [of('int'), 7, 'number | bigint', 'number | bigint'],
    [of('bool'), true, 'boolean', 'boolean'],
    [of('ffi.String'), 'text', 'string', 'string'],
    [of('const char*'), 'text', 'string', 'string'],
    [of('ffi.Bytes'), new Uint8Array(9), 'Uint8Array', 'Uint8Array'],
    [of('ffi.Tensor'), tensor('int8', [2]), 'Tensor | TensorView', 'Tensor'],
    [of('Optional', of('float')), null, 'number | null', 'number | null'],
    [of('ffi.Array', of('int')), [1, 2], 'readonly (number | bigint)[]', '(number | bigint)[]'],
    [
      of('ffi.Map', of('ffi.String'), of('int')),
      new Map([['a', 1]]),
      'ReadonlyMap<string, number | bigint>',
      'Map<string, number | bigint>',
    ],
    [of('some.Other'), 'anything', 'Argument', 'Value'],
    [of('Union', of('int'), of('float')), 1.5, 'Argument', 'Value'],
  ])('%j is checked and declared', (schema, value, input, output) => {
    const echo = packedFunc((x: Value) => x)
    const metadata = metadataOf(schema, schema)
    expect(typedBy(echo, metadata)(value as never)).toEqual(value)
    expect(declarationOf('echo', metadata)).toBe(`export function echo(a0: ${input}): ${output}`)
  })

  it('must not be missing', () => {
    for (const metadata of ['', '{}', 'null', '{"type_schema":"x"}', '{"type_schema":"{}"}']) {
      expect(() => typedBy(lib.get('sum'), metadata)).toThrow(ArgumentError)
    }
    expect(() => declarationOf('no name', metadataOf(of('int')))).toThrow('a name of JavaScript')
  })
})
