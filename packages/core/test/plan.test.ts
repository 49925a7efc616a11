import { describe, expect, test } from 'vitest'
import { ArgumentError } from '../src/errors/kinds.ts'
import type { Abi, PlanType } from '../src/native/call/call-plan.ts'
import { FLAGS, WORDS } from '../src/native/call/frame-layout.ts'
import { abiOf, planCall } from '../src/native/call/plan.ts'
import type { ValueType } from '../src/native/value-type.ts'
import { packed, placesOf, structOf } from './plan-fixture.ts'

const ABIS: readonly Abi[] = ['sysv-x64', 'aapcs64', 'apple-arm64', 'win64']

const repeat = <const Type>(count: number, type: Type): Type[] => new Array<Type>(count).fill(type)
const ints = (count: number): ValueType[] => repeat(count, 'int32')
const doubles = (count: number): ValueType[] => repeat(count, 'float64')

const pair = structOf(['int64', 'int64'])
const threeLongs = structOf(['int64', 'int64', 'int64'])
const floats3 = structOf(['float32', 'float32', 'float32'])
const floats4 = structOf(repeat(4, 'float32'))
const bytes3 = structOf(repeat(3, 'int8'))
/** `struct __attribute__((aligned(16))) { long a, b; }` */
const alignedPair = structOf(['int64', 'int64'], 8, 16)
/** `struct { _Alignas(16) long a; long b; }` */
const pairOfAligned = { ...alignedPair, naturalAlignment: 16 }

interface Case {
  readonly name: string
  readonly parameters?: readonly PlanType[]
  readonly result?: PlanType
  readonly fixed?: number
  readonly places: string
  readonly vectorCount?: number
  readonly stackSize?: number
}

/** The places were worked out by hand from the texts of the calling conventions. */
const CASES: Readonly<Record<Abi, readonly Case[]>> = {
  'sysv-x64': [
    { name: 'integers', parameters: ints(8), places: 'g0 g1 g2 g3 g4 g5 s0 s8', stackSize: 16 },
    { name: 'doubles', parameters: doubles(9), places: 'v0 v1 v2 v3 v4 v5 v6 v7 s0', vectorCount: 8, stackSize: 16 },
    {
      name: 'both kinds, counted apart',
      parameters: ['int8', 'float64', 'pointer', 'float32', 'uint64'],
      result: 'float32',
      places: 'g0 v0 g1 v1 g2 -> V0',
      vectorCount: 2,
    },
    { name: 'a result', result: 'pointer', places: '-> R0' },
    { name: 'a small struct', parameters: [structOf(['int32', 'int32'])], places: 'g0[0+8]' },
    { name: 'an eightbyte with a part', parameters: [floats3], places: 'v0[0+8]/v1[8+4]', vectorCount: 2 },
    {
      name: 'eightbytes of both classes',
      parameters: [structOf(['float64', 'int64']), structOf(['int16', 'float64'])],
      places: 'v0[0+8]/g0[8+8] g1[0+8]/v1[8+8]',
    },
    { name: 'an eightbyte of a float and an integer', parameters: [structOf(['float32', 'int8'])], places: 'g0[0+8]' },
    {
      name: 'a struct that has all its registers, or none',
      parameters: [...ints(5), pair, 'int32', 'int32'],
      places: 'g0 g1 g2 g3 g4 s0[0+16] g5 s16',
      stackSize: 32,
    },
    {
      name: 'a struct of doubles without vector registers',
      parameters: [...doubles(7), structOf(['float64', 'float64']), 'float64'],
      places: 'v0 v1 v2 v3 v4 v5 v6 s0[0+16] v7',
    },
    { name: 'a struct of class MEMORY', parameters: [threeLongs, 'int32'], places: 's0[0+24] g0', stackSize: 32 },
    { name: 'unaligned members', parameters: [packed('int8', 'int32')], places: 's0[0+5]' },
    { name: 'a packed struct with aligned members', parameters: [packed('int32', 'int8')], places: 'g0[0+5]' },
    {
      name: 'a struct of MEMORY with an alignment of 16',
      parameters: [...ints(7), structOf(repeat(4, 'int64'), 8, 16)],
      places: 'g0 g1 g2 g3 g4 g5 s0 s16[0+32]',
      stackSize: 48,
    },
    {
      name: 'padding, which needs no register',
      parameters: [{ byteSize: 16, byteAlignment: 16, naturalAlignment: 16, fields: [{ offset: 0, kind: 'float32' }] }],
      places: 'v0[0+8]',
    },
    { name: 'variadic doubles', parameters: ['pointer', 'float64', 'int32'], fixed: 1, places: 'g0 v0 g1' },
    { name: 'a result of both classes', result: structOf(['int64', 'float64']), places: '-> R0[0+8]/V0[8+8]' },
    { name: 'a result of floats', result: floats4, places: '-> V0[0+8]/V1[8+8]' },
    { name: 'a result of integers', result: packed('int64', 'int32'), places: '-> R0[0+8]/R1[8+4]' },
    { name: 'a result in memory', parameters: ['int32'], result: threeLongs, places: 'g1 -> &g0' },
    { name: 'an unaligned result', parameters: ['float32'], result: packed('int8', 'float32'), places: 'v0 -> &g0' },
  ],
  aapcs64: [
    { name: 'integers', parameters: ints(10), places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0 s8', stackSize: 16 },
    {
      name: 'narrow values on the stack',
      parameters: [...ints(8), 'int8', 'bool', 'uint16'],
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0 s8 s16',
      stackSize: 32,
    },
    { name: 'both kinds', parameters: ['int32', 'float32', 'pointer', 'float64'], places: 'g0 v0 g1 v1' },
    { name: 'homogeneous floats', parameters: [floats3, 'float32'], places: 'v0[0+4]/v1[4+4]/v2[8+4] v3' },
    {
      name: 'homogeneous floats that do not fit',
      parameters: [...doubles(5), floats4, 'float64', 'int32'],
      places: 'v0 v1 v2 v3 v4 s0[0+16] s16 g0',
      stackSize: 32,
    },
    {
      name: 'homogeneous floats of 12 bytes on the stack',
      parameters: [...doubles(8), floats3, 'float32'],
      places: 'v0 v1 v2 v3 v4 v5 v6 v7 s0[0+12] s16',
    },
    { name: 'five doubles', parameters: [structOf(doubles(5))], places: '&g0' },
    { name: 'floats of two kinds', parameters: [structOf(['float32', 'float64'])], places: 'g0[0+8]/g1[8+8]' },
    { name: 'a struct of 3 bytes', parameters: [bytes3], places: 'g0[0+3]' },
    {
      name: 'a struct that does not fit, after which no integer has a register',
      parameters: [...ints(7), pair, 'int32'],
      places: 'g0 g1 g2 g3 g4 g5 g6 s0[0+16] s16',
    },
    { name: 'a member aligned to 16', parameters: ['int32', pairOfAligned], places: 'g0 g2[0+8]/g3[8+8]' },
    {
      name: 'a member aligned to 16, on the stack',
      parameters: [...ints(9), pairOfAligned],
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0 s16[0+16]',
    },
    { name: 'a struct aligned to 16', parameters: ['int32', alignedPair], places: 'g0 g1[0+8]/g2[8+8]' },
    { name: 'a large struct', parameters: ['int32', threeLongs, 'int32'], places: 'g0 &g1 g2' },
    {
      name: 'a large struct on the stack',
      parameters: [...ints(8), threeLongs],
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 &s0',
    },
    {
      name: 'variadic arguments',
      parameters: ['pointer', 'float64', 'int32', floats3],
      fixed: 1,
      places: 'g0 v0 g1 v1[0+4]/v2[4+4]/v3[8+4]',
    },
    { name: 'a float result', result: 'float64', places: '-> V0' },
    {
      name: 'a result of homogeneous doubles',
      result: structOf(doubles(4)),
      places: '-> V0[0+8]/V1[8+8]/V2[16+8]/V3[24+8]',
    },
    { name: 'a result of homogeneous floats', result: structOf(['float32', 'float32']), places: '-> V0[0+4]/V1[4+4]' },
    { name: 'a result of integers', result: structOf(['int64', 'int8']), places: '-> R0[0+8]/R1[8+8]' },
    { name: 'a result in memory', parameters: ['int32'], result: threeLongs, places: 'g0 -> &x' },
  ],
  'apple-arm64': [
    {
      name: 'natural sizes on the stack',
      parameters: [...ints(8), 'int8', 'bool', 'uint16', 'int32', 'int64', 'uint8'],
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0:1 s1:1 s2:2 s4:4 s8 s16:1',
      stackSize: 32,
    },
    {
      name: 'floats on the stack',
      parameters: [...doubles(8), 'float32', 'float32', 'float32', 'float64'],
      places: 'v0 v1 v2 v3 v4 v5 v6 v7 s0:4 s4:4 s8:4 s16',
    },
    {
      name: 'homogeneous floats on the stack',
      parameters: [...doubles(8), floats3, 'float32'],
      places: 'v0 v1 v2 v3 v4 v5 v6 v7 s0[0+12] s12:4',
      stackSize: 16,
    },
    {
      name: 'homogeneous doubles of a packed struct on the stack, which are aligned',
      parameters: [...doubles(8), 'float32', structOf(['float64', 'float64'], 4)],
      places: 'v0 v1 v2 v3 v4 v5 v6 v7 s0:4 s8[0+16]',
    },
    {
      name: 'a small struct on the stack, which has whole slots',
      parameters: [...ints(8), 'int8', bytes3, 'int8'],
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0:1 s8[0+3] s16:1',
    },
    { name: 'a struct aligned to 16', parameters: ['int32', alignedPair], places: 'g0 g2[0+8]/g3[8+8]' },
    {
      name: 'variadic arguments',
      parameters: ['pointer', 'int32', 'float64', floats3, threeLongs, 'int64'],
      fixed: 1,
      places: 'g0 s0 s8 s16[0+12] &s32 s40',
      stackSize: 48,
    },
    {
      name: 'fixed and variadic arguments on the stack',
      parameters: [...ints(9), 'int32'],
      fixed: 9,
      places: 'g0 g1 g2 g3 g4 g5 g6 g7 s0:4 s8',
    },
    { name: 'a result in memory', result: threeLongs, places: '-> &x' },
  ],
  win64: [
    {
      name: 'positions that both kinds share',
      parameters: ['int32', 'float64', 'pointer', 'float32', 'int64', 'float64'],
      places: 'g0 v1 g2 v3 s0 s8',
      stackSize: 16,
    },
    {
      name: 'structs of 1, 2, 4 and 8 bytes',
      parameters: [
        structOf(['int8']),
        structOf(['int16']),
        structOf(['float32']),
        structOf(['float64']),
        structOf(['int8']),
      ],
      places: 'g0[0+1] g1[0+2] g2[0+4] g3[0+8] s0[0+1]',
      stackSize: 16,
    },
    { name: 'structs of other sizes', parameters: [bytes3, pair, floats4], places: '&g0 &g1 &g2' },
    { name: 'a large struct on the stack', parameters: [...ints(4), pair], places: 'g0 g1 g2 g3 &s0' },
    {
      name: 'variadic doubles',
      parameters: ['pointer', 'float64', 'float64', 'int32', 'float64'],
      fixed: 1,
      places: 'g0 v1+g1 v2+g2 g3 s0',
    },
    { name: 'a float result', result: 'float32', places: '-> V0' },
    { name: 'a struct result', result: structOf(['float32', 'float32']), places: '-> R0[0+8]' },
    { name: 'a result in memory', parameters: ['float64'], result: bytes3, places: 'v1 -> &g0' },
  ],
}

describe.each(ABIS)('a plan of %s places', (abi) => {
  test.each(CASES[abi])('$name', ({ parameters = [], result, fixed, places, name: _name, ...expected }) => {
    const plan = planCall(abi, { parameters, result: result ?? 'void', fixedParameters: fixed })
    expect(placesOf(plan)).toBe(places)
    expect(plan).toMatchObject(expected)
  })
})

test.each(ABIS)('VECTORS of %s is set if a register for floats has an argument', (abi) => {
  const flagsOf = (...parameters: PlanType[]): number => planCall(abi, { parameters, result: 'float64' }).flags
  expect([flagsOf('int32'), flagsOf('int32', 'float32')]).toEqual([0, FLAGS.VECTORS])
  // A struct of one float is in a general register on Windows.
  expect(flagsOf(structOf(['float32']))).toBe(abi === 'win64' ? 0 : FLAGS.VECTORS)
})

test('structs that are passed by reference have aligned copies behind their table', () => {
  const { parameters, flags, copyCount, copySize } = planCall('win64', {
    parameters: [bytes3, 'int32', threeLongs],
    result: 'void',
  })
  const bytes = WORDS.copies * 4 + 2 * 16
  expect(parameters.map(({ copy }) => copy)).toEqual([
    { entry: WORDS.copies, byteOffset: bytes, place: 0 },
    null,
    { entry: WORDS.copies + 4, byteOffset: bytes + 16, place: 16 },
  ])
  expect({ flags, copyCount, copySize }).toEqual({ flags: FLAGS.COPIES, copyCount: 2, copySize: 48 })
})

test('each supported platform has a convention', () => {
  expect(abiOf('linux', 'x64')).toBe('sysv-x64')
  expect(abiOf('darwin', 'x64')).toBe('sysv-x64')
  expect(abiOf('win32', 'x64')).toBe('win64')
  expect(abiOf('linux', 'arm64')).toBe('aapcs64')
  expect(abiOf('darwin', 'arm64')).toBe('apple-arm64')
  expect([abiOf('win32', 'arm64'), abiOf('linux', 'riscv64'), abiOf('linux', 'ia32')]).toEqual(repeat(3, undefined))
})

describe.each(ABIS)('a plan of %s', (abi) => {
  const plan = (...parameters: PlanType[]): unknown => planCall(abi, { parameters, result: 'void' })
  const bytes = (byteSize: number): PlanType => ({
    byteSize,
    byteAlignment: 1,
    naturalAlignment: 1,
    fields: Array.from({ length: byteSize }, (_, offset) => ({ offset, kind: 'int8' })),
  })

  test('has at most 255 parameters', () => {
    plan(...ints(255))
    expect(() => plan(...ints(256))).toThrow(/at most 255 parameters, got 256/)
  })

  test('has structs of at most 16,384 bytes, as parameters and as results', () => {
    plan(bytes(16_384))
    planCall(abi, { parameters: [], result: bytes(16_384) })
    expect(() => plan(bytes(16_385))).toThrow(/at most 16384 bytes, got 16385/)
    expect(() => planCall(abi, { parameters: [], result: bytes(16_385) })).toThrow(ArgumentError)
  })

  test('has at most as many bytes as the frame has room for', () => {
    plan(bytes(16_384), bytes(16_000))
    expect(() => plan(bytes(16_384), bytes(16_384), bytes(17))).toThrow(/the arguments of a call must need at most \d+/)
  })

  test('refuses structs with an alignment that the stack does not have, and structs of padding', () => {
    expect(() => plan(structOf(['int64'], 8, 32))).toThrow(/aligned to at most 16 bytes, got 32/)
    expect(() => plan(bytes(0))).toThrow(/at least one member that is not padding/)
  })
})
