/** Runs a model in ONNX Runtime without blocking the event loop. Inputs and outputs are in memory of a scope. */
import { ScopeClosedError } from 'tenon/core'
import { type MemorySegment, NativeScope } from 'tenon/scope'
import { StatusError } from 'tenon/scope/bind'
import * as ort from '../dist/onnxruntime/index.js'
import { squareModel } from './onnx-model.ts'

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

const base = ort.OrtApiBase.of(ort.OrtGetApiBase())
const api = ort.OrtApi.of(base.GetApi(ort.ORT_API_VERSION))
const env = api.CreateEnv(ort.ORT_LOGGING_LEVEL_WARNING, 'inference')
const options = api.CreateSessionOptions()
const session = api.CreateSessionFromArray(env, squareModel(SIZE), options)
const cpu = api.CreateCpuMemoryInfo(ort.OrtArenaAllocator, ort.OrtMemTypeDefault)

const scope = NativeScope.ofConfined()
const shape = BigInt64Array.of(BigInt(SIZE), BigInt(SIZE))
const [x, y] = [scope.allocate(4 * SIZE * SIZE, 64), scope.allocate(4 * SIZE * SIZE, 64)]
for (let i = 0; i < SIZE * SIZE; i++) x.setFloat32(4 * i, 0.5)
const values = [x, y].map((memory: MemorySegment) =>
  api.CreateTensorWithDataAsOrtValue(cpu, memory, shape, ort.ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
)

let turns = 0
const timer = setInterval(() => turns++, 1)
await api.Run.async(session, null, ['x'], [values[0]!], ['y'], [values[1]!])
clearInterval(timer)
console.log(`result:   ${y.getFloat32(0)}`)
console.log(`turns:    ${turns > 0 ? 'the event loop went on' : 'the event loop was blocked'}`)

console.log(`refused:  ${errorOf(() => api.Run(session, null, ['z'], [values[0]!], ['y'], [values[1]!]))}`)

for (const handle of [...values, cpu, session, options, env]) handle.close()
scope.close()
console.log(`closed:   ${errorOf(() => y.getFloat32(0))}`)
