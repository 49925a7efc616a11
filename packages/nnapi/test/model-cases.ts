import type { Operand } from '../src/index.ts'
import { facts, type handModel, operand } from './support.ts'

export type Change = Parameters<typeof handModel>[0]

/** Changes one operand of the valid model. */
const withOperand =
  (index: number, fields: Partial<Operand>): Change =>
  (model) => {
    model.main.operands[index] = { ...model.main.operands[index]!, ...fields }
  }

export const location = (fields: Partial<Operand['location']>): Operand['location'] => ({
  poolIndex: 0,
  offset: 0,
  length: 0,
  padding: 0,
  ...fields,
})

/** A constant in a pool of 4096 bytes in place of the copied one. */
const inPool =
  (fields: Partial<Operand['location']>, more: Partial<Operand> = {}, kind: 'shared' | 'token' = 'shared'): Change =>
  (model) => {
    model.pools = [facts({ kind })]
    model.main.operands[1] = operand({
      lifetime: 'CONSTANT_POOL',
      location: location({ length: 16, ...fields }),
      ...more,
    })
  }

/** Models that break a rule each: checked by the validator, and by drivers in every home. */
export const brokenModels: readonly (readonly [what: string, rule: string, change: Change])[] = [
  ['no operands', 'M1', (m) => (m.main.operands = [])],
  ['no operations', 'M1', (m) => (m.main.operations = [])],
  ['no inputs', 'M1', (m) => (m.main.inputIndexes = [])],
  ['no outputs', 'M1', (m) => (m.main.outputIndexes = [])],
  ['an unknown type', 'M2', withOperand(0, { type: 'NO_SUCH' as never })],
  ['an unknown lifetime', 'M2', withOperand(0, { lifetime: 'NO_SUCH' as never })],
  ['a type name of Object.prototype', 'M2', withOperand(0, { type: 'constructor' as never })],
  ['type SUBGRAPH with another lifetime', 'M2', withOperand(2, { type: 'SUBGRAPH' })],
  ['lifetime SUBGRAPH with another type', 'M2', withOperand(2, { lifetime: 'SUBGRAPH' })],
  ['an input with an offset', 'M3', withOperand(0, { location: location({ offset: 4 }) })],
  ['an output with a length', 'M3', withOperand(3, { location: location({ length: 16 }) })],
  ['an input with a pool', 'M3', withOperand(0, { location: location({ poolIndex: 1 }) })],
  ['a copied value with a pool', 'M4', withOperand(1, { location: location({ poolIndex: 1, length: 16 }) })],
  ['a copied value past the end', 'M4', withOperand(1, { location: location({ offset: 8, length: 16 }) })],
  [
    'a copied value whose end wraps in 32 bits',
    'M4',
    withOperand(1, { location: location({ offset: 0xffff_fff8, length: 16 }) }),
  ],
  ['a pool that is not there', 'M5', inPool({ poolIndex: 1 })],
  ['a value past the pool', 'M5', inPool({ offset: 4090 })],
  ['a value whose end wraps in 32 bits', 'M5', inPool({ offset: 0xffff_fff8 })],
  ['padding', 'M6', withOperand(1, { location: location({ length: 16, padding: 4 }) })],
  ['a value that is too short', 'M7', withOperand(1, { location: location({ length: 12 }) })],
  ['a value that is too long', 'M7', withOperand(1, { location: location({ length: 20 }) })],
  ['a scalar of two bytes', 'M7', withOperand(2, { location: location({ offset: 16, length: 2 }) })],
  ['a constant of unknown rank', 'M8', withOperand(1, { dimensions: [] })],
  ['a constant with an open axis', 'M8', withOperand(1, { dimensions: [0] })],
  ['a scalar with dimensions', 'M8', withOperand(2, { dimensions: [1] })],
  ['a product that wraps in 64 bits', 'M9', withOperand(0, { dimensions: [5, 4, 4, 786_433, 5, 3, 16_777_216, 4, 5] })],
  ['four gigabytes', 'M9', withOperand(0, { dimensions: [2 ** 30] })],
  ['a value between elements, under strictAlignment', 'M11', inPool({ offset: 2 })],
  ['a constant in a device buffer', 'M14', inPool({}, {}, 'token')],
  [
    'a subgraph that is not there',
    'M15',
    withOperand(2, { type: 'SUBGRAPH', lifetime: 'SUBGRAPH', location: location({}) }),
  ],
  ['an index out of range', 'M16', (m) => (m.main.inputIndexes = [9])],
  ['an index of another lifetime', 'M16', (m) => (m.main.inputIndexes = [1])],
  ['an index twice', 'M16', (m) => (m.main.inputIndexes = [0, 0])],
  ['an input that is not listed', 'M16', (m) => m.main.operands.push(operand({ lifetime: 'SUBGRAPH_INPUT' }))],
  [
    'an input of an operation out of range',
    'M17',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 9], outputs: [3] }]),
  ],
  [
    'an output of an operation out of range',
    'M17',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 2], outputs: [9] }]),
  ],
  [
    'something read before it is written',
    'M17',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 3, 2], outputs: [3] }]),
  ],
  ['something written twice', 'M17', (m) => m.main.operations.push({ type: 'ADD', inputs: [0, 1, 2], outputs: [3] })],
  [
    'a constant that is written',
    'M17',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 2], outputs: [1] }]),
  ],
  ['something that is never written', 'M17', (m) => m.main.operands.push(operand())],
  ['a float with a scale', 'M18', withOperand(0, { scale: 1 })],
  ['a float with a zero point', 'M18', withOperand(0, { zeroPoint: 1 })],
  ['an INT32 tensor with a scale below 0', 'M18', withOperand(0, { type: 'TENSOR_INT32', scale: -1 })],
  ['QUANT8_ASYMM without a scale', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM' })],
  [
    'QUANT8_ASYMM with zero point 256',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1, zeroPoint: 256 }),
  ],
  [
    'QUANT8_ASYMM_SIGNED with zero point -129',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT8_ASYMM_SIGNED', scale: 1, zeroPoint: -129 }),
  ],
  [
    'QUANT16_ASYMM with zero point 65536',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT16_ASYMM', scale: 1, zeroPoint: 65_536 }),
  ],
  ['QUANT8_SYMM with a zero point', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_SYMM', scale: 1, zeroPoint: 1 })],
  ['a scale that is no number', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: Number.NaN })],
  ['a zero point between numbers', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1, zeroPoint: 0.5 })],
  ['a scale that is 0 in 32 bits', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1e-60 })],
  ['a scale that is infinite in 32 bits', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1e60 })],
  ['channels without their scales', 'M18', withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL' })],
  [
    'too few scales of channels',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1], channelDim: 0 } }),
  ],
  [
    'a channel axis past the rank',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 1, 1, 1], channelDim: 1 } }),
  ],
  [
    'a channel scale of 0',
    'M18',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 0, 1, 1], channelDim: 0 } }),
  ],
  [
    'scales of channels beside a scale',
    'M18',
    withOperand(0, {
      type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL',
      scale: 1,
      channelQuant: { scales: [1, 1, 1, 1], channelDim: 0 },
    }),
  ],
  ['a negative offset', 'Q20', withOperand(1, { location: location({ offset: -1, length: 16 }) })],
  ['a fraction', 'Q20', withOperand(1, { location: location({ offset: 0.5, length: 16 }) })],
  ['NaN', 'Q20', withOperand(1, { location: location({ offset: Number.NaN, length: 16 }) })],
  ['2^32', 'Q20', withOperand(1, { location: location({ offset: 2 ** 32, length: 16 }) })],
  ['2^53', 'Q20', withOperand(1, { location: location({ offset: 2 ** 53, length: 16 }) })],
  ['a negative dimension', 'Q20', withOperand(0, { dimensions: [-4] })],
]

/** Models that look wrong and aren't. */
export const validModels: readonly (readonly [what: string, change: Change])[] = [
  [
    'gaps and values that overlap',
    (m) => {
      m.operandValues = new Uint8Array(64)
      m.main.operands[1] = operand({ lifetime: 'CONSTANT_COPY', location: location({ offset: 32, length: 16 }) })
      m.main.operands[2] = operand({
        type: 'INT32',
        dimensions: [],
        lifetime: 'CONSTANT_COPY',
        location: location({ offset: 40, length: 4 }),
      })
    },
  ],
  [
    'any size for types whose makers know it',
    (m) => {
      m.main.operands[1] = operand({
        type: 'TENSOR_OEM_BYTE',
        lifetime: 'CONSTANT_COPY',
        location: location({ length: 9 }),
      })
      m.main.operands[2] = operand({
        type: 'OEM',
        dimensions: [],
        lifetime: 'CONSTANT_COPY',
        location: location({ length: 20 }),
      })
    },
  ],
  ['pools that nothing uses', (m) => (m.pools = [facts(), facts()])],
  ['a value between elements', inPool({ offset: 2 })],
  ['an INT32 tensor with a scale', withOperand(0, { type: 'TENSOR_INT32', scale: 0.5 })],
  [
    'scales of channels',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 2, 3, 4], channelDim: 0 } }),
  ],
]
