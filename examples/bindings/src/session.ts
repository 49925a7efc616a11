import * as ort from '../dist/onnxruntime/index.js'

/** A session of ONNX Runtime, with all that it needs. */
export interface OpenSession extends Disposable {
  readonly api: ort.OrtApi
  readonly session: ort.Session
  /** Where the memory of tensors is. */
  readonly cpu: ort.MemoryInfo
}

/** Opens a session for the bytes of a model. */
export function openSession(model: Uint8Array): OpenSession {
  const base = ort.OrtApiBase.of(ort.OrtGetApiBase())
  const api = ort.OrtApi.of(base.GetApi(ort.ORT_API_VERSION))
  const env = api.CreateEnv(ort.ORT_LOGGING_LEVEL_WARNING, 'bindings')
  const options = api.CreateSessionOptions()
  const session = api.CreateSessionFromArray(env, model, options)
  const cpu = api.CreateCpuMemoryInfo(ort.OrtArenaAllocator, ort.OrtMemTypeDefault)
  return {
    api,
    session,
    cpu,
    [Symbol.dispose]() {
      for (const handle of [cpu, session, options, env]) handle.close()
    },
  }
}
