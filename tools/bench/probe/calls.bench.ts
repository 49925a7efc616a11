import type { Suite } from '@tenon/bench'

import {
  callStack,
  fail,
  fourSegments,
  libc,
  NO_OPERANDS,
  openBlock,
  Operand,
  type Gate,
  type Segment,
} from './design.ts'

// A C function ignores arguments beyond its own: strlen stands for functions of four pointers, and of one frame.
const POINTER = 'uintptr_t'
const strlen = libc.func('strlen', 'size_t', [POINTER])
const strlenOfVoid = libc.func('strlen', 'size_t', ['void *'])
const four = libc.func('strlen', 'size_t', [POINTER, POINTER, POINTER, POINTER])
const fourOfVoid = libc.func('strlen', 'size_t', ['void *', 'void *', 'void *', 'void *'])

function pointerTo(segment: Segment): number {
  return segment.block.address + segment.base
}

function fourBuffers(): [Buffer, Buffer, Buffer, Buffer] {
  return [Buffer.from('tenon\0'), Buffer.from('tenon\0'), Buffer.from('tenon\0'), Buffer.from('tenon\0')]
}

export const suite = {
  package: '@tenon/bench',
  rows: [
    {
      name: 'pass one segment',
      unit: 'ns',
      setup: () => {
        const [segment] = fourSegments()
        const [buffer] = fourBuffers()
        const address = pointerTo(segment)
        return {
          ours: () => {
            const { block } = segment
            const { gate } = block
            gate.enter()
            try {
              return strlen(block.address + segment.base)
            } finally {
              gate.exit()
            }
          },
          peers: {
            'a closure around it': () => {
              const { block } = segment
              return holding(block.gate, () => strlen(block.address + segment.base))
            },
            'a bigint address': () => {
              const { gate } = segment.block
              gate.enter()
              try {
                return strlen(segment.address)
              } finally {
                gate.exit()
              }
            },
            'koffi, uintptr_t number': () => strlen(address),
            'koffi, void * number': () => strlenOfVoid(address),
            'koffi, Buffer': () => strlenOfVoid(buffer),
          },
        }
      },
    },
    {
      name: 'pass four segments',
      unit: 'ns',
      setup: () => {
        const segments = fourSegments()
        const operands = segments.map((segment) => segment.block)
        const [a, b, c, d] = segments
        const [p, q, r, s] = segments.map(pointerTo) as [number, number, number, number]
        const [w, x, y, z] = fourBuffers()
        return {
          ours: () => {
            for (let i = 0; i < operands.length; i++) if (!operands[i]!.gate.alive) fail()
            callStack.frames[callStack.depth++] = operands
            try {
              return four(pointerTo(a), pointerTo(b), pointerTo(c), pointerTo(d))
            } finally {
              callStack.frames[--callStack.depth] = NO_OPERANDS
            }
          },
          peers: {
            'counted on each gate': () => {
              for (let i = 0; i < operands.length; i++) if (!operands[i]!.gate.alive) fail()
              for (let i = 0; i < operands.length; i++) operands[i]!.gate.holds++
              try {
                return four(pointerTo(a), pointerTo(b), pointerTo(c), pointerTo(d))
              } finally {
                for (let i = 0; i < operands.length; i++) operands[i]!.gate.holds--
              }
            },
            'koffi, uintptr_t numbers': () => four(p, q, r, s),
            'koffi, Buffers': () => fourOfVoid(w, x, y, z),
          },
        }
      },
    },
    {
      name: 'run with four patched operands',
      unit: 'ns',
      setup: () => {
        const operands = fourSegments().map((segment) => new Operand(segment))
        const frame = openBlock()
        const other = openBlock()
        const fixed = openBlock()
        const { view, address } = frame
        operands.forEach(({ pointer }, i) => fixed.view.setFloat64(i * 8, pointer, true))
        const [p, q, r, s] = operands.map((operand) => operand.address) as [number, number, number, number]
        const [w, x, y, z] = fourBuffers()
        return {
          ours: () => {
            for (let i = 0; i < operands.length; i++) {
              const operand = operands[i]!
              if (!operand.gate.alive) fail()
              view.setFloat64(i * 8, operand.pointer, true)
            }
            callStack.frames[callStack.depth++] = operands
            try {
              return strlen(address)
            } finally {
              callStack.frames[--callStack.depth] = NO_OPERANDS
            }
          },
          peers: {
            'patched by halves': () => {
              for (let i = 0; i < operands.length; i++) {
                const operand = operands[i]!
                if (!operand.gate.alive) fail()
                other.view.setUint32(i * 8, operand.address, true)
                other.view.setUint32(i * 8 + 4, operand.address / 2 ** 32, true)
              }
              callStack.frames[callStack.depth++] = operands
              try {
                return strlen(other.address)
              } finally {
                callStack.frames[--callStack.depth] = NO_OPERANDS
              }
            },
            'koffi, a fixed frame': () => strlen(fixed.address),
            'koffi, four uintptr_t numbers': () => four(p, q, r, s),
            'koffi, four Buffers': () => fourOfVoid(w, x, y, z),
          },
        }
      },
    },
  ],
} satisfies Suite

function holding<Result>(gate: Gate, use: () => Result): Result {
  gate.enter()
  try {
    return use()
  } finally {
    gate.exit()
  }
}
