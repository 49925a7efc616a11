import { ArgumentError } from '@tenon/core'
import { describe, expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope, toCString } from '../src/index.ts'
import { Linker, SymbolLookup, upcallStub } from '../src/linker.ts'

const scope = NativeScope.ofConfined()
const segment = scope.allocate(16)
const abs = SymbolLookup.ofProcess().get('abs')
const signature = { result: 'int32', parameters: ['int32'] } as const

/** Every function that takes an object of options, called with one. */
const functions: Record<string, { misspelled: string; meant: string; call: (options: never) => unknown }> = {
  'ResourceScope.ofConfined': { misspelled: 'nam', meant: 'name', call: ResourceScope.ofConfined },
  'ResourceScope.ofShared': { misspelled: 'manage', meant: 'managed', call: ResourceScope.ofShared },
  'NativeScope.ofConfined': { misspelled: 'Name', meant: 'name', call: NativeScope.ofConfined },
  'NativeScope.ofShared': { misspelled: 'mnaged', meant: 'managed', call: NativeScope.ofShared },
  'scope.closeAsync': { misspelled: 'deadlin', meant: 'deadline', call: (options) => scope.closeAsync(options) },
  'scope.share': { misspelled: 'segment', meant: 'segments', call: (options) => NativeScope.ofShared().share(options) },
  'MemorySegment.mapFile': {
    misspelled: 'acces',
    meant: 'access',
    call: (options) => MemorySegment.mapFile('/dev/null', scope, options),
  },
  'segment.setString': {
    misspelled: 'charst',
    meant: 'charset',
    call: (options) => segment.setString(0, 'a', options),
  },
  toCString: { misspelled: 'null', meant: 'nul', call: (options) => toCString('a', scope, options) },
  'Linker.downcall': {
    misspelled: 'captureErno',
    meant: 'captureErrno',
    call: (options) => Linker.downcall(abs, signature, options),
  },
  'Linker.downcall, signature': {
    misspelled: 'paramters',
    meant: 'parameters',
    call: (options) => Linker.downcall(abs, options),
  },
  'upcallStub, signature': {
    misspelled: 'reslt',
    meant: 'result',
    call: (options) => upcallStub(() => {}, options, scope),
  },
}

describe.each(Object.entries(functions))('%s', (_, { misspelled, meant, call }) => {
  test('refuses an unknown option and suggests the known one', async () => {
    const error = await Promise.resolve()
      .then(() => call({ [misspelled]: undefined } as never))
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ArgumentError)
    expect((error as ArgumentError).message).toMatch(new RegExp(`"${misspelled}"[^]*[Dd]id you mean ${meant}\\?`))
    expect((error as ArgumentError).details).toMatchObject({ received: misspelled })
  })

  test.each([1, 'a', null, true])('refuses %j in place of the options', async (options) => {
    const called = Promise.resolve().then(() => call(options as never))
    await expect(called).rejects.toThrow(ArgumentError)
  })
})

test('a fast path does not hide an unknown option', () => {
  expect(() => toCString('a', scope, { nul: 'allow', charst: 'utf-8' } as never)).toThrow(/did you mean charset/i)
})
