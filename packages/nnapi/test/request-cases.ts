import type { Model, Request, RequestArgument } from '../src/index.ts'
import { facts, handModel, operand } from './support.ts'

interface ArgumentFields {
  readonly hasNoValue?: boolean
  readonly location?: Partial<RequestArgument['location']>
  readonly dimensions?: readonly number[]
}

export const argument = ({ location, ...fields }: ArgumentFields = {}): RequestArgument => ({
  hasNoValue: false,
  dimensions: [],
  ...fields,
  location: { poolIndex: 0, offset: 0, length: 16, padding: 0, ...location },
})

/** A valid request for the model by hand: input at 0, output at 64. */
export const request = (fields: Partial<Request> = {}): Request => ({
  inputs: [argument()],
  outputs: [argument({ location: { offset: 64 } })],
  pools: [facts()],
  ...fields,
})

export const model = handModel()
/** Input and output have rank 2 with open axes. */
const open = handModel((m) => {
  m.main.operands[0] = operand({ lifetime: 'SUBGRAPH_INPUT', dimensions: [0, 4] })
  m.main.operands[3] = operand({ lifetime: 'SUBGRAPH_OUTPUT', dimensions: [0, 4] })
})
const unranked = handModel((m) => {
  m.main.operands[0] = operand({ lifetime: 'SUBGRAPH_INPUT', dimensions: [] })
})
const nothing = { poolIndex: 0, offset: 0, length: 0, padding: 0 }

/** Requests that break a rule each: checked by the validator, and by drivers in every home. */
export const brokenRequests: readonly (readonly [what: string, rule: string, model: Model, request: Request])[] = [
  ['too few inputs', 'Q1', model, request({ inputs: [] })],
  ['too many outputs', 'Q1', model, request({ outputs: [argument(), argument()] })],
  ['no value with a length', 'Q2', model, request({ inputs: [argument({ hasNoValue: true })] })],
  [
    'no value with dimensions',
    'Q2',
    model,
    request({ inputs: [argument({ hasNoValue: true, location: nothing, dimensions: [4] })] }),
  ],
  ['a pool that is not there', 'Q3', model, request({ inputs: [argument({ location: { poolIndex: 1 } })] })],
  ['a value past the pool', 'Q4', model, request({ inputs: [argument({ location: { offset: 4090 } })] })],
  ['padding past the pool', 'Q4', model, request({ inputs: [argument({ location: { offset: 4080, padding: 1 } })] })],
  ['an end that wraps in 32 bits', 'Q4', model, request({ inputs: [argument({ location: { offset: 0xffff_fff0 } })] })],
  [
    'a device buffer with a length',
    'Q4',
    model,
    request({
      pools: [facts({ kind: 'token', byteSize: 0 })],
      outputs: [argument({ hasNoValue: true, location: nothing })],
    }),
  ],
  ['a length of 0', 'Q5', model, request({ inputs: [argument({ location: { length: 0 } })] })],
  ['another rank', 'Q6', open, request({ inputs: [argument({ dimensions: [4] })] })],
  ['another size where the model fixes it', 'Q6', open, request({ inputs: [argument({ dimensions: [1, 5] })] })],
  ['an input with an axis of 0', 'Q6', open, request({ inputs: [argument({ dimensions: [0, 4] })] })],
  ['an open input without dimensions', 'Q7', open, request()],
  ['an input of unknown rank without dimensions', 'Q7', unranked, request()],
  [
    'a scalar with dimensions',
    'Q7',
    handModel((m) => {
      m.main.operands[2] = operand({ type: 'INT32', dimensions: [], lifetime: 'SUBGRAPH_INPUT' })
      m.main.inputIndexes = [0, 2]
    }),
    request({ inputs: [argument(), argument({ location: { length: 4 }, dimensions: [1] })] }),
  ],
  ['a byte too little', 'Q8', model, request({ inputs: [argument({ location: { length: 15 } })] })],
  ['a byte too many', 'Q8', model, request({ inputs: [argument({ location: { length: 17 } })] })],
  [
    'another length than dimensions say',
    'Q8',
    open,
    request({ inputs: [argument({ dimensions: [2, 4] })], outputs: [argument({ location: { offset: 64 } })] }),
  ],
  ['an output over an input', 'Q10', model, request({ outputs: [argument({ location: { offset: 12 } })] })],
  [
    'an output in the padding of an input',
    'Q10',
    model,
    request({ inputs: [argument({ location: { padding: 48 + 1 } })] }),
  ],
  [
    'an output over an input in another pool of the same memory',
    'Q10',
    model,
    request({
      pools: [facts(), facts({ identityOffset: 4096 }), facts({ identityOffset: 4080 })],
      inputs: [argument({ location: { poolIndex: 1 } })],
      outputs: [argument({ location: { poolIndex: 2, offset: 16 } })],
    }),
  ],
  [
    'two outputs over each other',
    'Q10',
    twoOutputs(),
    {
      inputs: [argument()],
      outputs: [argument({ location: { offset: 64 } }), argument({ location: { offset: 76 } })],
      pools: [facts()],
    },
  ],
  [
    'an output over a constant',
    'Q10',
    constantInPool(),
    request({ outputs: [argument({ location: { offset: 1024 } })] }),
  ],
  [
    'a device buffer as input and output',
    'D19',
    model,
    request({
      pools: [facts({ kind: 'token', byteSize: 0, identity: 'token:1' })],
      inputs: [argument({ location: nothing })],
      outputs: [argument({ location: nothing })],
    }),
  ],
  ['a frozen pool as output', 'P18', model, request({ pools: [facts({ rights: 'frozen' })] })],
  ['a read-only pool as output', 'P18', model, request({ pools: [facts({ rights: 'read-only' })] })],
  ['a negative pool', 'Q20', model, request({ inputs: [argument({ location: { poolIndex: -1 } })] })],
  ['a dimension of 2^32', 'Q20', open, request({ inputs: [argument({ dimensions: [2 ** 32, 4] })] })],
]

function twoOutputs(): Model {
  return handModel((m) => {
    m.main.operands.push(operand({ lifetime: 'SUBGRAPH_OUTPUT' }))
    m.main.operations.push({ type: 'ADD', inputs: [0, 1, 2], outputs: [4] })
    m.main.outputIndexes = [3, 4]
  })
}

/** The constant lies at 1024 of the memory that requests use as well. */
function constantInPool(): Model {
  return handModel((m) => {
    m.pools = [facts({ rights: 'read-only' })]
    m.main.operands[1] = operand({
      lifetime: 'CONSTANT_POOL',
      location: { poolIndex: 0, offset: 1024, length: 16, padding: 0 },
    })
  })
}

/** Requests that look wrong and aren't. */
export const validRequests: readonly (readonly [what: string, model: Model, request: Request])[] = [
  ['an input that is left out', model, request({ inputs: [argument({ hasNoValue: true, location: nothing })] })],
  [
    'a whole device buffer',
    model,
    request({
      pools: [facts({ kind: 'token', byteSize: 0 }), facts({ identity: '2:2' })],
      inputs: [argument({ location: nothing })],
      outputs: [argument({ location: { poolIndex: 1 } })],
    }),
  ],
  [
    'an output with an axis of 0',
    open,
    request({
      inputs: [argument({ dimensions: [1, 4] })],
      outputs: [argument({ location: { offset: 64 }, dimensions: [0, 4] })],
    }),
  ],
  [
    'an open output without dimensions',
    open,
    request({
      inputs: [argument({ dimensions: [1, 4] })],
      outputs: [argument({ location: { offset: 64, length: 100 } })],
    }),
  ],
  ['room beyond the value as padding', model, request({ inputs: [argument({ location: { padding: 48 } })] })],
  [
    'inputs that overlap',
    handModel((m) => {
      m.main.operands.push(operand({ lifetime: 'SUBGRAPH_INPUT' }))
      m.main.inputIndexes = [0, 4]
    }),
    request({ inputs: [argument(), argument({ location: { offset: 4 } })] }),
  ],
  [
    'the same offsets of other memory',
    model,
    request({ pools: [facts(), facts({ identity: '2:2' })], outputs: [argument({ location: { poolIndex: 1 } })] }),
  ],
  [
    'a device buffer as two inputs',
    handModel((m) => {
      m.main.operands.push(operand({ lifetime: 'SUBGRAPH_INPUT' }))
      m.main.inputIndexes = [0, 4]
    }),
    request({
      pools: [facts({ kind: 'token', byteSize: 0, identity: 'token:1' }), facts()],
      inputs: [argument({ location: nothing }), argument({ location: nothing })],
      outputs: [argument({ location: { poolIndex: 1 } })],
    }),
  ],
]
