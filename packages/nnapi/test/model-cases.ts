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
export const brokenModels: readonly (readonly [rule: string, what: string, change: Change])[] = [
  ['M1', 'no operands', (m) => (m.main.operands = [])],
  ['M1', 'no operations', (m) => (m.main.operations = [])],
  ['M1', 'no inputs', (m) => (m.main.inputIndexes = [])],
  ['M1', 'no outputs', (m) => (m.main.outputIndexes = [])],
  ['M2', 'an unknown type', withOperand(0, { type: 'NO_SUCH' as never })],
  ['M2', 'an unknown lifetime', withOperand(0, { lifetime: 'NO_SUCH' as never })],
  ['M2', 'a type name of Object.prototype', withOperand(0, { type: 'constructor' as never })],
  ['M2', 'type SUBGRAPH with another lifetime', withOperand(2, { type: 'SUBGRAPH' })],
  ['M2', 'lifetime SUBGRAPH with another type', withOperand(2, { lifetime: 'SUBGRAPH' })],
  ['M3', 'an input with an offset', withOperand(0, { location: location({ offset: 4 }) })],
  ['M3', 'an output with a length', withOperand(3, { location: location({ length: 16 }) })],
  ['M3', 'an input with a pool', withOperand(0, { location: location({ poolIndex: 1 }) })],
  ['M4', 'a copied value with a pool', withOperand(1, { location: location({ poolIndex: 1, length: 16 }) })],
  ['M4', 'a copied value past the end', withOperand(1, { location: location({ offset: 8, length: 16 }) })],
  [
    'M4',
    'a copied value whose end wraps in 32 bits',
    withOperand(1, { location: location({ offset: 0xffff_fff8, length: 16 }) }),
  ],
  ['M5', 'a pool that is not there', inPool({ poolIndex: 1 })],
  ['M5', 'a value past the pool', inPool({ offset: 4090 })],
  ['M5', 'a value whose end wraps in 32 bits', inPool({ offset: 0xffff_fff8 })],
  ['M6', 'padding', withOperand(1, { location: location({ length: 16, padding: 4 }) })],
  ['M7', 'a value that is too short', withOperand(1, { location: location({ length: 12 }) })],
  ['M7', 'a value that is too long', withOperand(1, { location: location({ length: 20 }) })],
  ['M7', 'a scalar of two bytes', withOperand(2, { location: location({ offset: 16, length: 2 }) })],
  ['M8', 'a constant of unknown rank', withOperand(1, { dimensions: [] })],
  ['M8', 'a constant with an open axis', withOperand(1, { dimensions: [0] })],
  ['M8', 'a scalar with dimensions', withOperand(2, { dimensions: [1] })],
  ['M9', 'a product that wraps in 64 bits', withOperand(0, { dimensions: [5, 4, 4, 786_433, 5, 3, 16_777_216, 4, 5] })],
  ['M9', 'four gigabytes', withOperand(0, { dimensions: [2 ** 30] })],
  ['M11', 'a value between elements, under strictAlignment', inPool({ offset: 2 })],
  ['M14', 'a constant in a device buffer', inPool({}, {}, 'token')],
  [
    'M15',
    'a subgraph that is not there',
    withOperand(2, { type: 'SUBGRAPH', lifetime: 'SUBGRAPH', location: location({}) }),
  ],
  ['M16', 'an index out of range', (m) => (m.main.inputIndexes = [9])],
  ['M16', 'an index of another lifetime', (m) => (m.main.inputIndexes = [1])],
  ['M16', 'an index twice', (m) => (m.main.inputIndexes = [0, 0])],
  ['M16', 'an input that is not listed', (m) => m.main.operands.push(operand({ lifetime: 'SUBGRAPH_INPUT' }))],
  [
    'M17',
    'an input of an operation out of range',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 9], outputs: [3] }]),
  ],
  [
    'M17',
    'an output of an operation out of range',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 2], outputs: [9] }]),
  ],
  [
    'M17',
    'something read before it is written',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 3, 2], outputs: [3] }]),
  ],
  ['M17', 'something written twice', (m) => m.main.operations.push({ type: 'ADD', inputs: [0, 1, 2], outputs: [3] })],
  [
    'M17',
    'a constant that is written',
    (m) => (m.main.operations = [{ type: 'ADD', inputs: [0, 1, 2], outputs: [1] }]),
  ],
  ['M17', 'something that is never written', (m) => m.main.operands.push(operand())],
  ['M18', 'a float with a scale', withOperand(0, { scale: 1 })],
  ['M18', 'a float with a zero point', withOperand(0, { zeroPoint: 1 })],
  ['M18', 'an INT32 tensor with a scale below 0', withOperand(0, { type: 'TENSOR_INT32', scale: -1 })],
  ['M18', 'QUANT8_ASYMM without a scale', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM' })],
  [
    'M18',
    'QUANT8_ASYMM with zero point 256',
    withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1, zeroPoint: 256 }),
  ],
  [
    'M18',
    'QUANT8_ASYMM_SIGNED with zero point -129',
    withOperand(0, { type: 'TENSOR_QUANT8_ASYMM_SIGNED', scale: 1, zeroPoint: -129 }),
  ],
  [
    'M18',
    'QUANT16_ASYMM with zero point 65536',
    withOperand(0, { type: 'TENSOR_QUANT16_ASYMM', scale: 1, zeroPoint: 65_536 }),
  ],
  ['M18', 'QUANT8_SYMM with a zero point', withOperand(0, { type: 'TENSOR_QUANT8_SYMM', scale: 1, zeroPoint: 1 })],
  ['M18', 'a scale that is no number', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: Number.NaN })],
  ['M18', 'a zero point between numbers', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1, zeroPoint: 0.5 })],
  ['M18', 'a scale that is 0 in 32 bits', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1e-60 })],
  ['M18', 'a scale that is infinite in 32 bits', withOperand(0, { type: 'TENSOR_QUANT8_ASYMM', scale: 1e60 })],
  ['M18', 'channels without their scales', withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL' })],
  [
    'M18',
    'too few scales of channels',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1], channelDim: 0 } }),
  ],
  [
    'M18',
    'a channel axis past the rank',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 1, 1, 1], channelDim: 1 } }),
  ],
  [
    'M18',
    'a channel scale of 0',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 0, 1, 1], channelDim: 0 } }),
  ],
  [
    'M18',
    'scales of channels beside a scale',
    withOperand(0, {
      type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL',
      scale: 1,
      channelQuant: { scales: [1, 1, 1, 1], channelDim: 0 },
    }),
  ],
  ['Q20', 'a negative offset', withOperand(1, { location: location({ offset: -1, length: 16 }) })],
  ['Q20', 'a fraction', withOperand(1, { location: location({ offset: 0.5, length: 16 }) })],
  ['Q20', 'NaN', withOperand(1, { location: location({ offset: Number.NaN, length: 16 }) })],
  ['Q20', '2^32', withOperand(1, { location: location({ offset: 2 ** 32, length: 16 }) })],
  ['Q20', '2^53', withOperand(1, { location: location({ offset: 2 ** 53, length: 16 }) })],
  ['Q20', 'a negative dimension', withOperand(0, { dimensions: [-4] })],
]

/** Models that look wrong and aren't. */
export const validModels: readonly (readonly [rule: string, what: string, change: Change])[] = [
  [
    'M10',
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
    'M7',
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
  ['M10', 'pools that nothing uses', (m) => (m.pools = [facts(), facts()])],
  ['M11', 'a value between elements', inPool({ offset: 2 })],
  ['M18', 'an INT32 tensor with a scale', withOperand(0, { type: 'TENSOR_INT32', scale: 0.5 })],
  [
    'M18',
    'scales of channels',
    withOperand(0, { type: 'TENSOR_QUANT8_SYMM_PER_CHANNEL', channelQuant: { scales: [1, 2, 3, 4], channelDim: 0 } }),
  ],
]
