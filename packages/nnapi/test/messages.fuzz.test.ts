import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PoolsError } from '@tenon/pools'
import { validateModel, type RequestArgument } from '../src/index.ts'
import { decodeBody, encodeBody } from '../src/wire/body.ts'
import { readExecute, readResult, writeExecute, writeResult } from '../src/wire/execute-frame.ts'
import { HEADER_SIZE, operations, readHeader, writeHeader } from '../src/wire/frame.ts'
import { readOutcome } from '../src/server/fenced-runs.ts'
import { readPool } from '../src/wire/pool-codec.ts'
import { readAllocate, readError, readModel } from '../src/wire/model-codec.ts'
import { importPool } from '@tenon/pools/internal'
import { facts, handModel } from './support.ts'

const seconds = Number(process.env['TENON_FUZZ_SECONDS'] ?? 0)
const settings = seconds > 0 ? { interruptAfterTimeLimit: seconds * 300, numRuns: 1e9 } : { numRuns: 300 }

/** Whatever comes, a reader returns or throws a PoolsError: never anything else. */
function expectOrderly(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(PoolsError)
  }
}

const noPool = (): never => {
  throw new PoolsError('INVALID_ARGUMENT', 'no pool')
}

test('mutated bodies are read or refused', () => {
  const bodies = [
    encodeBody({ model: { ...handModel(), pools: [1] } }),
    encodeBody({
      models: [1],
      description: { dimensions: [1], inputRoles: [{ modelIndex: 0, ioIndex: 0, frequency: 1 }], outputRoles: [] },
    }),
    encodeBody({ kind: 'device-image', byteSize: 0, byteOffset: 0, isWritable: true, image: new Uint8Array(40) }),
    encodeBody({ failed: { status: 2, sentence: 'x' }, outputs: [], timeLaunched: 1, timeFenced: 1 }),
    encodeBody({ sentence: 'x', rule: 'M1', path: 'main', outputShapes: [{ dimensions: [1], isSufficient: true }] }),
  ]
  const mutation = fc.record({
    body: fc.constantFrom(...bodies),
    changes: fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 6 }),
    cut: fc.nat(600),
  })
  fc.assert(
    fc.property(mutation, ({ body, changes, cut }) => {
      const bytes = body.slice(0, body.length - (cut % (body.length + 1) > body.length / 2 ? cut % body.length : 0))
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value
      expectOrderly(() => {
        const reader = decodeBody(bytes)
        expectOrderly(() => validateModel(readModel(reader.field('model'), noPool)))
        expectOrderly(() => readAllocate(reader.field('description')))
        expectOrderly(() => readError(reader, 'GENERAL_FAILURE'))
        expectOrderly(() => readPool(reader, 0))
        expectOrderly(() => readOutcome(reader))
      })
    }),
    settings,
  )
})

test('values of every shape in place of a model are refused', () => {
  fc.assert(
    fc.property(
      fc.anything({ withNullPrototype: false, maxDepth: 4 }),
      fc.constantFrom('main', 'operandValues', 'referenced', 'pools'),
      (value, field) => {
        let bytes: Uint8Array
        try {
          bytes = encodeBody({ model: { ...handModel(), [field]: value } })
        } catch {
          return
        }
        expectOrderly(() => validateModel(readModel(decodeBody(bytes).field('model'), noPool)))
      },
    ),
    settings,
  )
})

test('models with arbitrary numbers are valid or refused by a rule', () => {
  const number = fc.oneof(fc.constantFrom(0, 1, 3, 4, 20, -1, 0.5, Number.NaN, 2 ** 31, 2 ** 32, 2 ** 53), fc.nat(8))
  fc.assert(
    fc.property(
      fc.nat(3),
      fc.array(number, { maxLength: 9 }),
      fc.array(number, { minLength: 4, maxLength: 4 }),
      (index, dimensions, [poolIndex, offset, length, padding]) => {
        const model = handModel((m) => {
          m.pools = [facts()]
          m.main.operands[index] = {
            ...m.main.operands[index]!,
            dimensions,
            location: { poolIndex: poolIndex!, offset: offset!, length: length!, padding: padding! },
          }
        })
        const violation = validateModel(model)
        if (violation !== undefined) expect(violation.rule).toMatch(/^[MQ]\d+$/)
      },
    ),
    settings,
  )
})

test('requests and results are decoded as they were encoded', () => {
  const u32 = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat(2 ** 31 - 1))
  const argument: fc.Arbitrary<RequestArgument> = fc.record({
    hasNoValue: fc.boolean(),
    location: fc.record({ poolIndex: u32, offset: u32, length: u32, padding: u32 }),
    dimensions: fc.array(u32, { maxLength: 6 }),
  })
  const view = new DataView(new ArrayBuffer(65_536))
  fc.assert(
    fc.property(
      fc.array(argument, { maxLength: 5 }),
      fc.array(argument, { maxLength: 5 }),
      u32,
      fc.nat(2 ** 31 - 1),
      (inputs, outputs, model, id) => {
        const length = writeExecute(
          view,
          model,
          { inputs, outputs, pools: [facts(), facts({ kind: 'token' })] },
          ({ kind }) => ({ isToken: kind === 'token', id: 7 }),
        )
        writeHeader(view, length, { operation: operations.EXECUTE, id: id * 2 ** 20, timeout: 1.5, priority: 2 })
        expect(readExecute(view)).toEqual({
          model,
          inputs,
          outputs,
          pools: [
            { isToken: false, id: 7 },
            { isToken: true, id: 7 },
          ],
        })
        expect(readHeader(view)).toEqual({
          operation: operations.EXECUTE,
          isReply: false,
          length,
          rings: false,
          id: id * 2 ** 20,
          timeout: 1.5,
          status: 0,
          priority: 2,
        })
        const shapes = outputs.map(({ dimensions, hasNoValue }) => ({ dimensions, isSufficient: hasNoValue }))
        expect(writeResult(view, shapes, 12_345)).toBeGreaterThanOrEqual(HEADER_SIZE)
        expect(readResult(view)).toEqual({ outputs: shapes, driverTime: 12_345 })
      },
    ),
    settings,
  )
})

test('handles with arbitrary numbers are refused or mapped', () => {
  const number = fc.oneof(
    fc.constantFrom(-1, 0, 1, 4095, 4096, 2 ** 31, 2 ** 32, 2 ** 53, Number.NaN, 0.5),
    fc.integer(),
  )
  fc.assert(
    fc.property(number, number, (byteSize, byteOffset) => {
      expectOrderly(() => importPool({ kind: 'file', attachment: -1, byteSize, byteOffset, keep: false }))
    }),
    settings,
  )
})
