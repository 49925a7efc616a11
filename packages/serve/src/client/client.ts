import { ArgumentError, ScopeClosedError } from '@tenon/core/errors'
import { ProtocolError } from '../errors.ts'
import type { Model } from '../model/model.ts'
import { describeValue } from '../protocol/wrong-field.ts'
import { callLater } from '../service/call-later.ts'
import type { TrafficWeights } from '../service/traffic.ts'
import type { CallOptions, InferOptions } from './call-options.ts'
import { readClientOptions, type CheckedClientOptions, type ClientOptions } from './client-options.ts'
import type { ClientInputs, ClientOutputs } from './client-tensor.ts'
import { encodeRequest } from './encode-request.ts'
import type { Exchanger, Reply } from './exchange.ts'
import { parseAnswer, readAnswer, readJson } from './read-answer.ts'
import { readInput, type ReadInput, type TensorMetadata } from './read-input.ts'
import { checkDeadline, lateError, retriesOf } from './read-options.ts'
import { exchangeShared, SharedInputs, type Registrar } from './shared-inputs.ts'
import { settledBefore } from './settled-before.ts'
import { streamAnswers } from './stream-answers.ts'
import { send, type ClientRequest } from './transport.ts'

/** Models by their names, for the types of requests: `{ softmax: typeof softmax }`. */
export type Models = Readonly<Record<string, Model>>

/** The signature of a model, as a literal type; `string` for a model of unknown type. */
export type SignatureOf<One> = One extends Model<infer Signature> ? Signature : string

/** The description of a server. */
export interface ServerMetadata {
  readonly name: string
  readonly version: string
  readonly extensions: readonly string[]
}

/** The description of a model. */
export interface ModelMetadata {
  readonly name: string
  readonly versions: readonly string[]
  readonly platform: string
  readonly inputs: readonly TensorMetadata[]
  readonly outputs: readonly TensorMetadata[]
}

/** One entry of {@link Client.index}. */
export interface IndexedModel {
  readonly name: string
  readonly version?: string
  readonly state?: 'READY' | 'LOADING' | 'UNLOADING' | 'UNAVAILABLE'
  readonly reason?: string
}

/** A client of a server for the Open Inference Protocol. Made by {@link createClient}. */
export interface Client<Served extends Models = Models> extends AsyncDisposable {
  /**
   * Runs a model.
   *
   * @returns the outputs by name.
   * @throws (rejects with) {ArgumentError} if an input does not fit the model; {InvalidRequestError}, {ModelNotFoundError},
   * {RequestTooLargeError}, {ModelUnavailableError}, {KernelDeadlineError} or {NativeError} for the status of the answer;
   * {ProtocolError} if the answer contradicts the protocol; the reason of `signal`.
   */
  infer<Name extends keyof Served & string>(
    model: Name,
    inputs: ClientInputs<SignatureOf<Served[Name]>>,
    options?: InferOptions,
  ): Promise<ClientOutputs<SignatureOf<Served[Name]>>>
  /**
   * Runs a model that answers with a stream. The server makes the next answer when the one before was taken, and stops when the loop is left.
   * Inputs are sent, also with `sharedMemory`. `deadline` is the longest time until each answer.
   *
   * @returns the outputs of each answer by name. @throws (rejects with) what {@link infer} throws, also behind some answers;
   * {ModelUnavailableError} if the stream breaks off.
   * @example
   * for await (const { i } of client.stream('count', { n: [3] })) i.data // new Int32Array([0]), then 1 and 2
   */
  stream<Name extends keyof Served & string>(
    model: Name,
    inputs: ClientInputs<SignatureOf<Served[Name]>>,
    options?: InferOptions,
  ): AsyncGenerator<ClientOutputs<SignatureOf<Served[Name]>>, void, undefined>
  /** Returns whether the server runs. A server that cannot be reached does not. */
  live(options?: CallOptions): Promise<boolean>
  /** Returns whether the server, or one model, answers requests. */
  ready(model?: string, options?: CallOptions): Promise<boolean>
  /** Returns what the server says of itself. */
  metadata(): Promise<ServerMetadata>
  /** Returns the inputs and outputs of a model. */
  metadata(model: string, options?: CallOptions): Promise<ModelMetadata>
  /** Returns the configuration of a model, in the names of Triton's `model_config.proto`. */
  config(model: string, options?: CallOptions): Promise<Readonly<Record<string, unknown>>>
  /** Returns counts and times, of all models or of one. */
  statistics(model?: string, options?: CallOptions): Promise<Readonly<Record<string, unknown>>>
  /** Returns all models of the server's repository, and whether they are loaded. */
  index(options?: CallOptions): Promise<readonly IndexedModel[]>
  /** Loads a model of the repository, or loads it again. `config` changes batches and instances, in the names of Triton. */
  load(model: string, options?: CallOptions & { readonly config?: object }): Promise<void>
  /** Unloads a model, once its requests have ended. */
  unload(model: string, options?: CallOptions): Promise<void>
  /**
   * Returns the weights of the versions of a model, or undefined if requests without a version go to the highest one. Only for servers of Tenon, as
   * {@link setTraffic} is. Needs the permission `load`.
   */
  traffic(model: string, options?: CallOptions): Promise<TrafficWeights | undefined>
  /**
   * Distributes requests without a version among the versions of a loaded model, from the next one on: a canary. The server must let clients load
   * models.
   *
   * @param weights whole numbers from 0 to 1,000,000 by version. Undefined lets all of them go to the highest version again.
   * @throws (rejects with) {InvalidRequestError} if a weight is not valid, all are 0, or a version is not loaded.
   * @example
   * await client.setTraffic('double', { '1': 90, '2': 10 })
   * await client.traffic('double') // { '1': 90, '2': 10 }
   */
  setTraffic(model: string, weights: TrafficWeights | undefined, options?: CallOptions): Promise<void>
  /** Ends the client, once its requests have ended. Further requests throw {ScopeClosedError}. */
  closeAsync(): Promise<void>
}

/**
 * Makes a client. It connects with the first request.
 *
 * @param url the URL of the server, `http://127.0.0.1:8000`.
 * @throws {ArgumentError} if the URL or an option is not valid. @throws {UnsupportedError} for shared memory outside of Linux.
 * @example
 * await using client = createClient<{ double: typeof double }>(`http://127.0.0.1:${server.port}`)
 * const { y } = await client.infer('double', { x: [[1, 2, 3, 4]] })
 * Array.from(y.data) // [2, 4, 6, 8]
 */
export function createClient<Served extends Models = Models>(
  url: string | URL,
  options: ClientOptions = {},
): Client<Served> {
  return new HttpClient(readClientOptions(url, options)) as unknown as Client<Served>
}

type Untyped = Readonly<Record<string, unknown>>

class HttpClient {
  readonly #url: string
  readonly #exchanger: Exchanger
  readonly #authorization: (() => Promise<string>) | undefined
  readonly #shared: SharedInputs | undefined
  readonly #deadline: number
  readonly #retries: number
  /** The metadata of models by their paths. */
  readonly #models = new Map<string, Promise<ModelMetadata>>()
  /** Whether the server takes tensors as bytes. */
  #takesBytes: Promise<boolean> | undefined
  readonly #calls = new Set<Promise<unknown>>()
  #isOpen = true

  constructor({ url, deadline, retries, sharedMemory, authorization, exchanger }: CheckedClientOptions) {
    this.#url = url
    if (sharedMemory !== undefined) this.#shared = SharedInputs.open(url, sharedMemory, this.#registrar())
    this.#exchanger = exchanger
    this.#authorization = authorization
    this.#deadline = deadline
    this.#retries = retries
  }

  infer(model: string, inputs: Untyped, options: InferOptions = {}): Promise<Untyped> {
    return this.#call(options, (signal) => this.#infer(modelPath(model, options.version), inputs, options, signal))
  }

  async #infer(path: string, inputs: Untyped, options: InferOptions, signal: AbortSignal): Promise<Untyped> {
    const { read, takesBytes } = await this.#read(path, inputs, signal)
    const exchange = async (placed: readonly ReadInput[]): Promise<Untyped> => {
      const request = encodeRequest(placed, options, takesBytes)
      return readAnswer(await this.#send({ ...request, path: `${path}/infer`, signal, ...retriesOf(options) }))
    }
    try {
      return await (this.#shared === undefined ? exchange(read) : exchangeShared(this.#shared, read, exchange))
    } catch (error) {
      // The model may have been loaded again with other inputs.
      this.#models.delete(path)
      throw error
    }
  }

  async *stream(model: string, inputs: Untyped, options: InferOptions = {}): AsyncGenerator<Untyped, void, undefined> {
    this.#checkOpen()
    const { deadline = this.#deadline, signal: given } = options
    checkDeadline(deadline)
    const path = modelPath(model, options.version)
    const open = async (signal: AbortSignal): Promise<Reply> => {
      const { read, takesBytes } = await this.#read(path, inputs, signal)
      const request = encodeRequest(read, options, takesBytes)
      try {
        return await this.#send({
          ...request,
          path: `${path}/infer_stream`,
          signal,
          isStream: true,
          ...retriesOf(options),
        })
      } catch (error) {
        this.#models.delete(path)
        throw error
      }
    }
    let end = (): void => {}
    const call = new Promise<void>((resolve) => (end = resolve))
    this.#calls.add(call)
    try {
      yield* streamAnswers(open, given, deadline, () => lateError(deadline))
    } finally {
      this.#calls.delete(call)
      end()
    }
  }

  /** Reads inputs as the model has them. */
  async #read(
    path: string,
    inputs: Untyped,
    signal: AbortSignal,
  ): Promise<{ readonly read: readonly ReadInput[]; readonly takesBytes: boolean }> {
    const [metadata, takesBytes] = await settledBefore(signal, this.#facts(path))
    const read = Object.entries(inputs).map(([name, value]) => {
      const input = metadata.inputs.find((one) => one.name === name)
      if (input !== undefined) return readInput(input, value)
      throw new ArgumentError(`the model ${metadata.name} has no input ${JSON.stringify(name)}`, {
        hint: `Its inputs are ${metadata.inputs.map((one) => one.name).join(', ')}.`,
      })
    })
    return { read, takesBytes }
  }

  #registrar(): Registrar {
    const post = (name: string, verb: string, json: object): Promise<unknown> => {
      const path = `/v2/systemsharedmemory/region/${encodeURIComponent(name)}/${verb}`
      const signal = AbortSignal.timeout(Math.min(this.#deadline, 30_000))
      return this.#send({ path, method: 'POST', body: utf8(JSON.stringify(json)), signal })
    }
    return {
      register: ({ name, key, byteSize }) => post(name, 'register', { key, offset: 0, byte_size: byteSize }),
      unregister: (name) => post(name, 'unregister', {}),
    }
  }

  live(options?: CallOptions): Promise<boolean> {
    return this.#isOk('/v2/health/live', options)
  }

  ready(model?: string, options?: CallOptions): Promise<boolean> {
    return this.#isOk(model === undefined ? '/v2/health/ready' : `${modelPath(model)}/ready`, options)
  }

  metadata(model?: string, options?: CallOptions): Promise<Untyped> {
    return this.#get(model === undefined ? '/v2' : modelPath(model), options)
  }

  config(model: string, options?: CallOptions): Promise<Untyped> {
    return this.#get(`${modelPath(model)}/config`, options)
  }

  statistics(model?: string, options?: CallOptions): Promise<Untyped> {
    return this.#get(model === undefined ? '/v2/models/stats' : `${modelPath(model)}/stats`, options)
  }

  index(options: CallOptions = {}): Promise<readonly IndexedModel[]> {
    return this.#call(options, async (signal) => {
      const { bytes } = await this.#send({ path: '/v2/repository/index', method: 'POST', body: utf8('{}'), signal })
      const models = parseAnswer(bytes)
      if (Array.isArray(models)) return models as readonly IndexedModel[]
      throw new ProtocolError('the index of the server must be an array')
    })
  }

  load(model: string, options: CallOptions & { readonly config?: object } = {}): Promise<void> {
    const { config, ...rest } = options
    const body = config === undefined ? {} : { parameters: { config: JSON.stringify(config) } }
    return this.#control(model, 'load', JSON.stringify(body), rest)
  }

  unload(model: string, options?: CallOptions): Promise<void> {
    return this.#control(model, 'unload', '{}', options)
  }

  async traffic(model: string, options?: CallOptions): Promise<TrafficWeights | undefined> {
    const { traffic } = await this.#get(`/v2/repository/models/${nameInPath(model)}/traffic`, options)
    if (traffic === null) return undefined
    if (typeof traffic === 'object') return traffic as TrafficWeights
    throw new ProtocolError('the answer of the server must have the field traffic')
  }

  setTraffic(model: string, weights: TrafficWeights | undefined, options?: CallOptions): Promise<void> {
    return this.#control(model, 'traffic', JSON.stringify({ traffic: weights ?? null }), options)
  }

  async closeAsync(): Promise<void> {
    this.#isOpen = false
    await Promise.allSettled(this.#calls)
    await this.#shared?.closeAsync()
    this.#exchanger.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closeAsync()
  }

  #control(model: string, verb: string, body: string, options: CallOptions = {}): Promise<void> {
    const path = `/v2/repository/models/${nameInPath(model)}/${verb}`
    return this.#call(options, async (signal) => {
      this.#models.delete(modelPath(model))
      await this.#send({ path, method: 'POST', body: utf8(body), signal })
    })
  }

  #get(path: string, options: CallOptions = {}): Promise<Untyped> {
    return this.#call(options, async (signal) => readJson((await this.#send({ path, method: 'GET', signal })).bytes))
  }

  #isOk(path: string, options: CallOptions = {}): Promise<boolean> {
    return this.#call(options, async (signal) => {
      try {
        await this.#send({ path, method: 'GET', signal, retries: 0 })
        return true
      } catch {
        options.signal?.throwIfAborted()
        return false
      }
    })
  }

  /** The inputs and outputs of a model, and whether the server takes bytes. Each is asked for once, for all requests. */
  #facts(path: string): Promise<[ModelMetadata, boolean]> {
    const metadata = this.#models.get(path) ?? this.#get(path).then(readMetadata)
    this.#models.set(path, metadata)
    metadata.catch(() => this.#models.delete(path))
    this.#takesBytes ??= this.#get('/v2').then(
      ({ extensions }) => Array.isArray(extensions) && extensions.includes('binary_tensor_data'),
    )
    this.#takesBytes.catch(() => (this.#takesBytes = undefined))
    return Promise.all([metadata, this.#takesBytes])
  }

  #send(request: Omit<ClientRequest, 'retries'> & { readonly retries?: number }): Promise<Reply> {
    const all = { retries: this.#retries, ...request }
    if (this.#authorization === undefined) return send(this.#exchanger, this.#url, all)
    return settledBefore(request.signal, this.#authorization()).then((authorization) =>
      send(this.#exchanger, this.#url, { ...all, headers: { ...all.headers, authorization } }),
    )
  }

  /** @throws {ScopeClosedError} */
  #checkOpen(): void {
    if (!this.#isOpen) throw new ScopeClosedError('the client was used after it was closed')
  }

  /** Runs something until its deadline. {@link closeAsync} waits for it. */
  #call<Result>(
    { deadline = this.#deadline, signal }: CallOptions,
    run: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const call = (async () => {
      this.#checkOpen()
      checkDeadline(deadline)
      const late = new AbortController()
      const takeBack = callLater(() => late.abort(lateError(deadline)), deadline)
      try {
        return await run(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]))
      } finally {
        takeBack()
      }
    })()
    this.#calls.add(call)
    const forget = (): void => void this.#calls.delete(call)
    call.then(forget, forget)
    return call
  }
}

const utf8 = (text: string): readonly Uint8Array[] => [new TextEncoder().encode(text)]

function nameInPath(model: unknown): string {
  if (typeof model === 'string' && model !== '') return encodeURIComponent(model)
  throw new ArgumentError(`model must be the name of a model, got ${describeValue(model)}`)
}

const modelPath = (model: string, version?: string): string =>
  version === undefined
    ? `/v2/models/${nameInPath(model)}`
    : `/v2/models/${nameInPath(model)}/versions/${encodeURIComponent(version)}`

function readMetadata(json: Untyped): ModelMetadata {
  const { inputs } = json
  const areInputs =
    Array.isArray(inputs) &&
    (inputs as readonly Partial<TensorMetadata>[]).every(
      ({ name, datatype }) => typeof name === 'string' && typeof datatype === 'string',
    )
  if (areInputs) return json as unknown as ModelMetadata
  throw new ProtocolError('the metadata of a model must have its inputs')
}
