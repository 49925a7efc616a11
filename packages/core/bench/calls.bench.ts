import type { Suite } from '@tenon/bench'
import { gcAllocator, globalLifetime, NativeLibrary, type Segment } from '@tenon/core'
import { callDepth, enterCall, globalGate, leaveCall } from '@tenon/core/internal'
import koffi from 'koffi'

import { LIBC } from './libc.ts'

const POINTER = 'pointer'
const libc = NativeLibrary.open(LIBC)
const raw = koffi.load(LIBC)

/** Memory above 2^31, as it is wherever Node is position-independent: addresses that are no small integers. */
function segment(text: string): Segment {
  const made = gcAllocator.allocate(2 ** 26)
  made.block.bytes.write(`${text}\0`, made.base)
  return made
}

export const suite = {
  package: '@tenon/core',
  rows: [
    {
      name: 'call abs(int)',
      unit: 'ns',
      target: { koffi: 1.6 },
      setup: () => {
        const abs = libc.function('abs', { result: 'int32', parameters: ['int32'] })
        const rawAbs = raw.func('abs', 'int', ['int'])
        return { ours: () => abs(-7), peers: { koffi: () => rawAbs(-7) } }
      },
    },
    {
      // A function with a result of 32 bits: 64 come back as a bigint, which is dearer than all the rest.
      name: 'pass one segment',
      unit: 'ns',
      target: { 'koffi, Buffer': 1.2 },
      setup: () => {
        const memory = segment('tenon')
        const address = memory.block.address + memory.base
        const buffer = Buffer.from('tenon\0')
        const strlen = libc.function('strlen', { result: 'int32', parameters: [POINTER] })
        const ofNumber = raw.func('strlen', 'int', ['uintptr_t'])
        const ofBuffer = raw.func('strlen', 'int', ['void *'])
        return {
          ours: () => strlen(memory),
          peers: { 'koffi, Buffer': () => ofBuffer(buffer), 'koffi, number': () => ofNumber(address) },
        }
      },
    },
    {
      // A C function ignores arguments beyond its own.
      name: 'pass four segments',
      unit: 'ns',
      target: { 'koffi, Buffers': 0.95 },
      setup: () => {
        const [a, b, c, d] = [segment('a'), segment('b'), segment('c'), segment('d')]
        const [p, q, r, s] = [Buffer.from('a\0'), Buffer.from('b\0'), Buffer.from('c\0'), Buffer.from('d\0')]
        const address = a.block.address + a.base
        const four = libc.function('strlen', { result: 'int32', parameters: [POINTER, POINTER, POINTER, POINTER] })
        const ofNumbers = raw.func('strlen', 'int', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
        const ofBuffers = raw.func('strlen', 'int', ['void *', 'void *', 'void *', 'void *'])
        return {
          ours: () => four(a, b, c, d),
          peers: {
            'koffi, Buffers': () => ofBuffers(p, q, r, s),
            'koffi, numbers': () => ofNumbers(address, address, address, address),
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
              return callDepth()
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
