/** Runs a model in ONNX Runtime without blocking the event loop. Outputs are in memory of a scope, and in memory that threads share. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { tensor } from 'tenon'
import { ScopeClosedError } from 'tenon/core'
import { SharedMemory } from 'tenon/pools'
import { MemorySegment, NativeScope } from 'tenon/scope'
import { StatusError } from 'tenon/scope/bind'
import * as ort from '../dist/onnxruntime/index.js'
import { squareModel } from './onnx-model.ts'
import { openSession } from './session.ts'

const SIZE = 1024

/** Returns the sentence of the error that a function throws. */
function errorOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError || error instanceof ScopeClosedError) return error.sentence
    throw error
  }
  throw new Error('nothing was thrown')
}

const open = openSession(squareModel(SIZE))
const { api, session, cpu } = open

const scope = NativeScope.ofConfined()
const shape = BigInt64Array.of(BigInt(SIZE), BigInt(SIZE))
const value = (memory: MemorySegment): ort.Value =>
  api.CreateTensorWithDataAsOrtValue(cpu, memory, shape, ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
const [x, y] = [scope.allocate(4 * SIZE * SIZE, 64), scope.allocate(4 * SIZE * SIZE, 64)]
for (let i = 0; i < SIZE * SIZE; i++) x.setFloat32(4 * i, 0.5)
const [input, output] = [value(x), value(y)]

let turns = 0
const timer = setInterval(() => turns++, 1)
await api.Run.async(session, null, ['x'], [input], ['y'], [output])
clearInterval(timer)
console.log(`result:   ${y.getFloat32(0)}`)
console.log(`turns:    ${turns > 0 ? 'the event loop went on' : 'the event loop was blocked'}`)

// The session writes where another thread reads.
using memory = SharedMemory.open({ chunk: '4 MiB' })
const shared = tensor('f32', [SIZE, SIZE], undefined, { allocator: memory })
const sharedOutput = value(MemorySegment.ofSegment(shared.segment))
await api.Run.async(session, null, ['x'], [input], ['y'], [sharedOutput])
const reader = `const { parentPort, workerData } = require('node:worker_threads')
import('tenon/pools').then(({ SharedMemory }) => {
  using memory = SharedMemory.ofHandle(workerData)
  parentPort.postMessage(memory.tensor('y').view().at(-1))
})`
const worker = new Worker(reader, { eval: true, workerData: memory.handle({ tensors: { y: shared } }) })
console.log(`thread:   ${(await once(worker, 'message'))[0]}`)

console.log(`refused:  ${errorOf(() => api.Run(session, null, ['z'], [input], ['y'], [output]))}`)

for (const handle of [input, output, sharedOutput, open]) handle[Symbol.dispose]()
scope.close()
console.log(`closed:   ${errorOf(() => y.getFloat32(0))}`)
