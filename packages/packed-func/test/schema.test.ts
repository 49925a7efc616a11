import { describe, expect, it } from 'vitest'
import { ArgumentError } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { declarationOf, Module, typedBy } from '../src/index.ts'

const lib = Module.open(kernelLibrary('packed'))

/** Metadata as libraries write it, with the schema as JSON within JSON. */
const metadataOf = (...args: unknown[]): string =>
  JSON.stringify({ type_schema: JSON.stringify({ type: 'ffi.Function', args }) })
const of = (type: string): unknown => ({ type })

describe("the types in a library's metadata", () => {
  it('are checked by typedBy', () => {
    const sum = typedBy(lib.get('sum'), lib.metadata('sum')!, 'sum')
    expect(sum(1, 2)).toBe(3)
    expect(() => sum(1, 'x')).toThrow('when calling: `sum(0: int, 1: int) -> float`. Expected `int` but got `str`')
  })

  it('must not be missing', () => {
    for (const metadata of ['', '{}', 'null', '{"type_schema":"x"}', '{"type_schema":"{}"}']) {
      expect(() => typedBy(lib.get('sum'), metadata)).toThrow(ArgumentError)
    }
    expect(() => declarationOf('no name', metadataOf(of('int')))).toThrow('a name of JavaScript')
  })
})
