import { ofNodeFfi, type Row, type Suite } from '@tenon/bench'
import { gcAllocator, NativeLibrary, type Segment } from '@tenon/core'
import { globalLifetime } from '../src/memory/global-lifetime.ts'
import { callsInProgress, enterCall, globalGate, leaveCall } from '@tenon/core/internal'
import koffi from 'koffi'

import { addonCall, fixture, FIXTURE } from './fixture.ts'
import { LIBC } from './libc.ts'

const POINTER = 'pointer'
const libc = NativeLibrary.open(LIBC)
const raw = koffi.load(LIBC)
const rawFixture = koffi.load(FIXTURE)

/** Returns its first argument. A C function ignores further arguments. */
const IDENTITY = 'fixture_int64'

const ffiInt64 = (count: number): { return: string; arguments: string[] } => ({
  return: 'int64',
  arguments: new Array<string>(count).fill('int64'),
})

/** Memory above 2^31, as it is wherever Node is position-independent: addresses that are no small integers. */
function segment(text: string): Segment {
  const made = gcAllocator.allocate(2 ** 26)
  made.block.bytes.write(`${text}\0`, made.base)
  return made
}

export const suite = {
  package: '@tenon/core',
  rows: [
    withoutArguments('call a function without arguments', 1.75, {}),
    withoutArguments('call a critical function without arguments', 1.45, { critical: true }),
    passInt32('pass int32', 1.1, {}),
    passInt32('pass int32 to a critical function', 0.9, { critical: true }),
    passDoubles('pass two doubles', 0.8, {}),
    passDoubles('pass two doubles to a critical function', 0.7, { critical: true }),
    {
      name: 'pass three int64',
      unit: 'ns',
      target: { 'Node-API addon': 0.8 },
      setup: () => {
        const ours = fixture.function(IDENTITY, { result: 'int64', parameters: new Array<'int64'>(3).fill('int64') })
        const koffiCall = rawFixture.func(IDENTITY, 'int64_t', new Array<string>(3).fill('int64_t'))
        const addon = addonCall<(...values: number[]) => bigint>('threeInt64', IDENTITY)
        return {
          ours: () => ours(1, 2, 3),
          peers: {
            'Node-API addon': () => addon(1, 2, 3),
            koffi: () => koffiCall(1, 2, 3),
            ...ofNodeFfi(FIXTURE, (library) => {
              const call = library.getFunction(IDENTITY, ffiInt64(3)) as (...values: bigint[]) => bigint
              return () => call(1n, 2n, 3n)
            }),
          },
        }
      },
    },
    {
      name: 'pass four int64',
      unit: 'ns',
      target: { 'Node-API addon': 0.8 },
      setup: () => {
        const ours = fixture.function(IDENTITY, { result: 'int64', parameters: ['int64', 'int64', 'int64', 'int64'] })
        const koffiCall = rawFixture.func(IDENTITY, 'int64_t', ['int64_t', 'int64_t', 'int64_t', 'int64_t'])
        const addon = addonCall<(...values: number[]) => bigint>('fourInt64', IDENTITY)
        return {
          ours: () => ours(1, 2, 3, 4),
          peers: {
            'Node-API addon': () => addon(1, 2, 3, 4),
            koffi: () => koffiCall(1, 2, 3, 4),
            ...ofNodeFfi(FIXTURE, (library) => {
              const call = library.getFunction(IDENTITY, ffiInt64(4)) as (...values: bigint[]) => bigint
              return () => call(1n, 2n, 3n, 4n)
            }),
          },
        }
      },
    },
    {
      name: 'pass eight int64',
      unit: 'ns',
      target: { 'Node-API addon': 0.8 },
      setup: () => {
        const ours = fixture.function(IDENTITY, { result: 'int64', parameters: new Array<'int64'>(8).fill('int64') })
        const koffiCall = rawFixture.func(IDENTITY, 'int64_t', new Array<string>(8).fill('int64_t'))
        const addon = addonCall<(...values: number[]) => bigint>('eightInt64', IDENTITY)
        return {
          ours: () => ours(1, 2, 3, 4, 5, 6, 7, 8),
          peers: {
            'Node-API addon': () => addon(1, 2, 3, 4, 5, 6, 7, 8),
            koffi: () => koffiCall(1, 2, 3, 4, 5, 6, 7, 8),
            ...ofNodeFfi(FIXTURE, (library) => {
              const call = library.getFunction(IDENTITY, ffiInt64(8)) as (...values: bigint[]) => bigint
              return () => call(1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n)
            }),
          },
        }
      },
    },
    {
      // A function with a result of 32 bits: 64 come back as a bigint, which is dearer than all the rest.
      name: 'pass one segment',
      unit: 'ns',
      target: { 'Node-API addon': 0.8, 'koffi, Buffer': 0.6 },
      setup: () => {
        const memory = segment('tenon')
        const address = memory.block.address + memory.base
        const buffer = Buffer.from('tenon\0')
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER] })
        const ofNumber = raw.func('strlen', 'int', ['uintptr_t'])
        const ofBuffer = raw.func('strlen', 'int', ['void *'])
        const ofAddon = addonCall<(memory: Buffer) => number>('buffer', 'strlen', libc)
        return {
          ours: () => strlen(memory),
          peers: {
            'Node-API addon': () => ofAddon(buffer),
            'koffi, Buffer': () => ofBuffer(buffer),
            'koffi, number': () => ofNumber(address),
            ...ofNodeFfi(LIBC, (library) => {
              const signature = { return: 'int32', arguments: ['buffer'] }
              const call = library.getFunction('strlen', signature) as (memory: Buffer) => number
              return () => call(buffer)
            }),
          },
        }
      },
    },
    {
      // A C function ignores arguments beyond its own.
      name: 'pass one segment and its length',
      unit: 'ns',
      target: { 'Node-API addon': 0.8, 'koffi, Buffer': 0.6 },
      setup: () => {
        const memory = segment('tenon')
        const address = memory.block.address + memory.base
        const buffer = Buffer.from('tenon\0')
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER, 'int64'] })
        const ofNumber = raw.func('strlen', 'int', ['uintptr_t', 'int64_t'])
        const ofBuffer = raw.func('strlen', 'int', ['void *', 'int64_t'])
        const ofAddon = addonCall<(memory: Buffer, length: number) => number>('bufferAndLength', 'strlen', libc)
        return {
          ours: () => strlen(memory, 6),
          peers: {
            'Node-API addon': () => ofAddon(buffer, 6),
            'koffi, Buffer': () => ofBuffer(buffer, 6),
            'koffi, number': () => ofNumber(address, 6),
            ...ofNodeFfi(LIBC, (library) => {
              const signature = { return: 'int32', arguments: ['buffer', 'int64'] }
              const call = library.getFunction('strlen', signature) as (memory: Buffer, length: bigint) => number
              return () => call(buffer, 6n)
            }),
          },
        }
      },
    },
    {
      name: 'pass two segments and their length',
      unit: 'ns',
      target: { 'Node-API addon': 0.8, 'koffi, Buffers': 0.6 },
      setup: () => {
        const [a, b] = [segment('a'), segment('b')]
        const [p, q] = [Buffer.from('a\0'), Buffer.from('b\0')]
        const ours = libc.function('strlen', { result: 'int32', parameters: [POINTER, POINTER, 'int64'] })
        const ofBuffers = raw.func('strlen', 'int', ['void *', 'void *', 'int64_t'])
        const ofAddon = addonCall<(a: Buffer, b: Buffer, length: number) => number>(
          'twoBuffersAndLength',
          'strlen',
          libc,
        )
        return {
          ours: () => ours(a, b, 2),
          peers: {
            'Node-API addon': () => ofAddon(p, q, 2),
            'koffi, Buffers': () => ofBuffers(p, q, 2),
            ...ofNodeFfi(LIBC, (library) => {
              const signature = { return: 'int32', arguments: ['buffer', 'buffer', 'int64'] }
              const call = library.getFunction('strlen', signature) as (a: Buffer, b: Buffer, length: bigint) => number
              return () => call(p, q, 2n)
            }),
          },
        }
      },
    },
    {
      name: 'pass four segments',
      unit: 'ns',
      target: { 'Node-API addon': 0.8, 'koffi, Buffers': 0.4 },
      setup: () => {
        const [a, b, c, d] = [segment('a'), segment('b'), segment('c'), segment('d')]
        const [p, q, r, s] = [Buffer.from('a\0'), Buffer.from('b\0'), Buffer.from('c\0'), Buffer.from('d\0')]
        const address = a.block.address + a.base
        const four = libc.function('strlen', { result: 'int32', parameters: [POINTER, POINTER, POINTER, POINTER] })
        const ofNumbers = raw.func('strlen', 'int', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
        const ofBuffers = raw.func('strlen', 'int', ['void *', 'void *', 'void *', 'void *'])
        const ofAddon = addonCall<(...memory: Buffer[]) => number>('fourBuffers', 'strlen', libc)
        return {
          ours: () => four(a, b, c, d),
          peers: {
            'Node-API addon': () => ofAddon(p, q, r, s),
            'koffi, Buffers': () => ofBuffers(p, q, r, s),
            'koffi, numbers': () => ofNumbers(address, address, address, address),
            ...ofNodeFfi(LIBC, (library) => {
              const signature = { return: 'int32', arguments: ['buffer', 'buffer', 'buffer', 'buffer'] }
              const call = library.getFunction('strlen', signature) as (...memory: Buffer[]) => number
              return () => call(p, q, r, s)
            }),
          },
        }
      },
    },
    {
      name: 'lock one segment',
      unit: 'ns',
      setup: () => {
        const { block } = gcAllocator.allocate(64)
        return {
          ours: () => {
            block.gate.enter()
            try {
              return block.address
            } finally {
              block.gate.exit()
            }
          },
          peers: { 'acquire() and release()': () => globalLifetime.acquire().release() },
        }
      },
    },
    {
      name: 'lock four segments',
      unit: 'ns',
      setup: () => {
        const operands = [1, 2, 3, 4].map(() => gcAllocator.allocate(64).block)
        return {
          ours: () => {
            for (let i = 0; i < operands.length; i++) if (!operands[i]!.gate.alive) return 0
            enterCall(operands)
            try {
              return callsInProgress.depth
            } finally {
              leaveCall()
            }
          },
          peers: {
            'acquire() and release() of each': () => {
              for (let i = 0; i < operands.length; i++) globalGate.owner.acquire().release()
              return operands.length
            },
          },
        }
      },
    },
  ],
} satisfies Suite

/** A call without arguments. @param target the greatest ratio to the addon. @param options those of the function */
function withoutArguments(name: string, target: number, options: { readonly critical?: boolean }): Row {
  return {
    name,
    unit: 'ns',
    target: { 'Node-API addon': target },
    setup: () => {
      const ours = fixture.function(IDENTITY, {}, options)
      const koffiCall = rawFixture.func(IDENTITY, 'void', [])
      const addon = addonCall<() => void>('none', IDENTITY)
      return {
        ours: () => ours(),
        peers: {
          'Node-API addon': () => addon(),
          koffi: () => koffiCall(),
          ...ofNodeFfi(FIXTURE, (library) => {
            const call = library.getFunction(IDENTITY, { return: 'void', arguments: [] }) as () => void
            return () => call()
          }),
        },
      }
    },
  }
}

/** A call with one int32. The parameters are those of {@link withoutArguments}. */
function passInt32(name: string, target: number, options: { readonly critical?: boolean }): Row {
  return {
    name,
    unit: 'ns',
    target: { 'Node-API addon': target },
    setup: () => {
      const ours = fixture.function('fixture_int32', { result: 'int32', parameters: ['int32'] }, options)
      const koffiCall = rawFixture.func('fixture_int32', 'int32_t', ['int32_t'])
      const addon = addonCall<(value: number) => number>('int32', 'fixture_int32')
      return {
        ours: () => ours(-7),
        peers: {
          'Node-API addon': () => addon(-7),
          koffi: () => koffiCall(-7),
          ...ofNodeFfi(FIXTURE, (library) => {
            const signature = { return: 'int32', arguments: ['int32'] }
            const call = library.getFunction('fixture_int32', signature) as (value: number) => number
            return () => call(-7)
          }),
        },
      }
    },
  }
}

/** A call with two doubles. The parameters are those of {@link withoutArguments}. */
function passDoubles(name: string, target: number, options: { readonly critical?: boolean }): Row {
  return {
    name,
    unit: 'ns',
    target: { 'Node-API addon': target },
    setup: () => {
      const ours = fixture.function(
        'fixture_float64',
        { result: 'float64', parameters: ['float64', 'float64'] },
        options,
      )
      const koffiCall = rawFixture.func('fixture_float64', 'double', ['double', 'double'])
      const addon = addonCall<(a: number, b: number) => number>('doubles', 'fixture_float64')
      return {
        ours: () => ours(1.5, 2.5),
        peers: {
          'Node-API addon': () => addon(1.5, 2.5),
          koffi: () => koffiCall(1.5, 2.5),
          ...ofNodeFfi(FIXTURE, (library) => {
            const signature = { return: 'double', arguments: ['double', 'double'] }
            const call = library.getFunction('fixture_float64', signature) as (a: number, b: number) => number
            return () => call(1.5, 2.5)
          }),
        },
      }
    },
  }
}
