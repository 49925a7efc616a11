import { expect, describe, test } from 'vitest'
import { GRPCInferenceService } from '../src/generated/open_inference_pb.js'
import type { ServerOptions } from '../src/index.ts'
import { Caller } from './caller.ts'
import { double } from './models.ts'

const { method: methods } = GRPCInferenceService

const x = { name: 'x', datatype: 'FP32', shape: [1n, 4n] }

/** A server with a model that clients can unload. */
const unloadable: Partial<ServerOptions> = {
  modelControl: 'explicit',
  repository: { names: () => ['double'], load: async () => ({ models: [double], closeAsync: async () => {} }) },
}

describe('what the examples of Triton look for', () => {
  test('a version that is not a number is refused', async () => {
    const caller = await Caller.start([double])
    const request = { modelName: 'double', modelVersion: 'wrong', inputs: [x], rawInputContents: [Buffer.alloc(16)] }
    const text = "failed to get model version from specified version string 'wrong'. Use decimal digits only."
    expect(await caller.errorOf(methods.modelInfer, request)).toEqual(['INVALID_ARGUMENT', text])
    expect(await caller.served.get('/v2/models/double/versions/wrong')).toEqual([400, { error: text }])
  })

  test('a model that is not loaded is not ready, and one that does not exist is an error', async () => {
    const caller = await Caller.start([], unloadable)
    expect(await caller.call(methods.modelReady, { name: 'double' })).toMatchObject({ ready: false })
    await caller.call(methods.repositoryModelLoad, { modelName: 'double' })
    expect(await caller.call(methods.modelReady, { name: 'double' })).toMatchObject({ ready: true })
    await caller.call(methods.repositoryModelUnload, { modelName: 'double' })
    expect(await caller.call(methods.modelReady, { name: 'double' })).toMatchObject({ ready: false })
    expect((await caller.errorOf(methods.modelReady, { name: 'no' }))[0]).toBe('NOT_FOUND')
  })

  test('an input with bytes and with contents is refused before the number of inputs is checked', async () => {
    const caller = await Caller.start([double])
    const typed = { ...x, contents: { fp32Contents: [1, 2, 3, 4] } }
    const request = { modelName: 'double', inputs: [typed, typed], rawInputContents: [Buffer.alloc(16)] }
    expect(await caller.errorOf(methods.modelInfer, request)).toEqual([
      'INVALID_ARGUMENT',
      "contents field must not be specified when using raw_input_contents for 'x' for model 'double'",
    ])
  })

  test('regions in memory of GPUs can be listed and unregistered, because there are none, but not registered', async () => {
    const caller = await Caller.start([double])
    expect(await caller.call(methods.cudaSharedMemoryStatus, {})).toMatchObject({ regions: {} })
    expect((await caller.errorOf(methods.cudaSharedMemoryStatus, { name: 'a' }))[0]).toBe('NOT_FOUND')
    await caller.call(methods.cudaSharedMemoryUnregister, {})
    await caller.call(methods.cudaSharedMemoryUnregister, { name: 'a' })
    expect((await caller.errorOf(methods.cudaSharedMemoryRegister, { name: 'a' }))[0]).toBe('UNIMPLEMENTED')
  })
})
