import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Abi, CallPlan, ParameterPlan, PlanType, StructShape } from '../src/native/call/call-plan.ts'
import { WORDS } from '../src/native/call/frame-layout.ts'
import { isStruct } from '../src/native/call/classify.ts'
import { planCall } from '../src/native/call/plan.ts'
import { VALUE_SIZES, type ValueType } from '../src/native/value-type.ts'
import { structOf } from './plan-fixture.ts'

/** Random signatures in hundreds, or as many as fit into TENON_FUZZ_SECONDS. */
const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const budget =
  seconds === 0
    ? { numRuns: 300 }
    : { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 250, markInterruptAsFailure: false }

const kind = fc.constantFrom(...(Object.keys(VALUE_SIZES) as ValueType[]))
const struct = fc
  .record({ kinds: fc.array(kind, { minLength: 1, maxLength: 9 }), most: fc.constantFrom(1, 2, 4, 8) })
  .map(({ kinds, most }) => structOf(kinds, most))
const type: fc.Arbitrary<PlanType> = fc.oneof({ arbitrary: kind, weight: 3 }, struct)
const signature = fc
  .record({ parameters: fc.array(type, { maxLength: 30 }), result: fc.oneof(type, fc.constant('void' as const)) })
  .chain((plain) =>
    fc
      .option(fc.nat(plain.parameters.length), { nil: undefined })
      .map((fixedParameters) => ({ ...plain, fixedParameters })),
  )

/** The bytes of the frame that belong to an argument, registers as a whole. */
function bytesOf({ kind: of, byteOffset, byteSize, second, pieces }: ParameterPlan): number[] {
  const range = (start: number, size: number): number[] => Array.from({ length: size }, (_, i) => start + i)
  if (of === 'struct') {
    return pieces.flatMap((piece) => range(piece.word * 4, piece.word < WORDS.stack ? 8 : piece.byteSize))
  }
  const own = range(byteOffset, of === 'indirect' ? 8 : byteSize)
  return second === -1 ? own : [...own, ...range(second * 4, 8)]
}

function checkPieces(shape: StructShape, pieces: CallPlan['result']['pieces']): void {
  for (const { offset, kind: scalar } of shape.fields) {
    const end = offset + VALUE_SIZES[scalar]
    const holders = pieces.filter((piece) => piece.offset <= offset && end <= piece.offset + piece.byteSize)
    // A member of a packed struct may lie in two registers.
    const parts = pieces.filter((piece) => piece.offset < end && offset < piece.offset + piece.byteSize)
    expect(holders.length === 1 || (offset % VALUE_SIZES[scalar] !== 0 && parts.length === 2)).toBe(true)
  }
  for (const piece of pieces) {
    expect(piece.offset + piece.byteSize).toBeLessThanOrEqual(shape.byteSize)
    if (piece.word < WORDS.stack) expect(piece.byteSize).toBeLessThanOrEqual(8)
  }
}

test.each<Abi>(['sysv-x64', 'aapcs64', 'apple-arm64', 'win64'])(
  'no two arguments of %s share a byte, and each has all its bytes inside of the frame',
  { timeout: 30_000 + seconds * 1000 },
  (abi) => {
    fc.assert(
      fc.property(signature, (random) => {
        const plan = planCall(abi, random)
        const { parameters, result, stackSize } = plan
        expect(stackSize % 16).toBe(0)
        const used = parameters.flatMap(bytesOf)
        if (result.kind === 'memory') used.push(result.word * 4, result.word * 4 + 4)
        expect(new Set(used).size).toBe(used.length)
        const end = WORDS.stack * 4 + stackSize
        for (const byte of used) {
          expect((byte >= WORDS.general * 4 && byte < end) || Math.floor(byte / 8) === WORDS.extra / 2).toBe(true)
        }
        parameters.forEach((parameter, i) => {
          const expected = random.parameters[i]!
          if (!isStruct(expected)) expect(parameter.kind).toBe(expected)
          else if (parameter.kind === 'indirect') expect(parameter.copy!.place % 16).toBe(0)
          else checkPieces(expected, parameter.pieces)
        })
        if (isStruct(random.result) && result.kind === 'struct') checkPieces(random.result, result.pieces)
        const copies = parameters.flatMap(({ copy, byteSize }) => (copy === null ? [] : [{ ...copy, byteSize }]))
        expect(copies).toHaveLength(plan.copyCount)
        copies.reduce((last, { place, byteSize }) => {
          expect(place).toBeGreaterThanOrEqual(last)
          return place + byteSize
        }, 0)
      }),
      budget,
    )
  },
)
