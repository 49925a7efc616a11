import { ByteShare, freeBytes } from '../service/byte-budget.ts'
import type { ModelInferRequest } from '../generated/open_inference_pb.js'
import type { Model } from '../model/model.ts'
import { inputsTooLarge, isBehind, planInference, type InferPlan } from '../service/infer-plan.ts'
import { InferenceCount, type Origin } from '../service/inference-count.ts'
import { Inference } from '../service/inference.ts'
import { headOf } from '../service/recent-plans.ts'
import { streamInference, streamRefusal } from '../service/stream-inference.ts'
import type { ServedModel } from '../service/served-model.ts'
import { findModel, type ServerState } from '../service/server-state.ts'
import { decodeInferRequest, divideInferRequest } from './decode-message.ts'
import { encodeInferResponse, type Message } from './encode-response.ts'
import { readGrpcRequest } from './to-request.ts'

/** One call. */
export interface GrpcExchange extends Origin {
  /** The model that the message names, for the description of errors. */
  model: string | undefined
  /** Called once, when the answer was copied or cannot be sent. Undefined for an answer that needs no memory of others. */
  onCopied: (() => void) | undefined
}

/** The model that the head of a message names. */
interface Named {
  readonly modelName: string
  readonly modelVersion: string
}

/** Cache of the model of each recent request header. A header always names the same model, so the cache is shared by all servers. */
const named = new Map<string, Named>()

/** The most headers in the cache. */
const MOST_NAMED = 1024

/** The bytes in front of a message, which are in the same memory. */
const FRAME_HEAD = 5

/**
 * Answers one `ModelInferRequest`.
 *
 * @returns a `ModelInferResponse`, at once if nothing has to be waited for.
 * @throws (or rejects with) the error to answer.
 */
export function infer(state: ServerState, bytes: Buffer, exchange: GrpcExchange): Message | Promise<Message> {
  const call = new InferCall(state, bytes, exchange)
  exchange.onCopied = () => call.release()
  return call.answer()
}

/** A message for a model, from its parts to its answers. Either {@link answer} or {@link stream} is called, once. */
export class InferCall {
  readonly #state: ServerState
  readonly #bytes: Buffer
  readonly #exchange: GrpcExchange
  readonly #headLength: number | undefined
  readonly #head: string | undefined
  /** Undefined if the model of the head is known, and when there is a plan: its elements take much more memory than their bytes. */
  #message: ModelInferRequest | undefined
  readonly #raw: readonly Uint8Array[]
  readonly #served: ServedModel
  readonly #count: InferenceCount
  readonly #share: ByteShare
  #inference: Inference | undefined
  /** Whether the client wants an answer without outputs at the end of a stream. Known with the first answer. */
  wantsEmptyFinal = false

  /** @throws {InvalidRequestError | RequestTooLargeError | ModelNotFoundError | ModelUnavailableError} */
  constructor(state: ServerState, bytes: Buffer, exchange: GrpcExchange) {
    this.#state = state
    this.#bytes = bytes
    this.#exchange = exchange
    const { headLength, raw } = divideInferRequest(bytes, state.limits.jsonBytes)
    const head = headLength === undefined ? undefined : headOf(bytes, headLength)
    this.#headLength = headLength
    this.#head = head
    const known = head === undefined ? undefined : named.get(head)
    this.#message = known === undefined ? this.#decode() : undefined
    this.#raw = headLength === undefined ? this.#message!.rawInputContents : raw
    const { modelName, modelVersion } = (known ?? this.#message)!
    exchange.model = modelName
    exchange.record.caller.check('infer', modelName)
    this.#served = findModel(state, modelName, modelVersion === '' ? undefined : modelVersion)
    this.#served.enter()
    this.#count = new InferenceCount(this.#served, state, exchange)
    this.#share = new ByteShare(state.budget, exchange.cancellation)
  }

  /** The name and the plan that are kept for a head are decoded from the head alone. */
  #decode(): ModelInferRequest {
    return decodeInferRequest(this.#bytes.subarray(0, this.#headLength))
  }

  get modelName(): string {
    return this.#served.model.name
  }

  get modelVersion(): string {
    return this.#served.model.version
  }

  /** Whether the model answers with a stream. */
  get isStream(): boolean {
    return this.#served.model.stream !== undefined
  }

  /** Answers once. @returns a `ModelInferResponse`, of which {@link release} ends the memory. @throws (or rejects with) the error to answer. */
  answer(): Message | Promise<Message> {
    let answer: Message | Promise<Message>
    try {
      if (this.isStream) throw streamRefusal('gRPC')
      answer = this.#open((inference) => inference.run(encodeInferResponse))
    } catch (error) {
      throw this.#fail(error)
    }
    if (!(answer instanceof Promise)) return this.#succeed(answer)
    return answer.then(
      (made) => this.#succeed(made),
      (error: unknown) => {
        throw this.#fail(error)
      },
    )
  }

  /**
   * Answers any number of times, with `ModelInferResponse`s that must be copied before the next one is asked for. The memory ends with the stream.
   *
   * @throws (rejects with) the error to answer.
   */
  async *stream(): AsyncGenerator<Message, void, undefined> {
    let inference: Inference
    try {
      inference = await this.#open((one) => one)
    } catch (error) {
      throw this.#fail(error)
    }
    try {
      yield* streamInference(inference, this.#count, encodeInferResponse)
    } finally {
      this.release()
    }
  }

  /** Waits for memory, and copies the inputs. @param use what is done then. */
  #open<Result>(use: (inference: Inference) => Result | Promise<Result>): Result | Promise<Result> {
    const { limits } = this.#state
    let rawBytes = 0
    for (const { length } of this.#raw) rawBytes += length
    if (rawBytes > limits.bytes) throw inputsTooLarge(limits.bytes, rawBytes)
    // The elements of 'contents' are in the head.
    const waiting = this.#share.reserve(this.#bytes.length)
    return waiting === undefined ? this.#plan(use) : waiting.then(() => this.#plan(use))
  }

  #plan<Result>(use: (inference: Inference) => Result | Promise<Result>): Result | Promise<Result> {
    const { model, messagePlans: plans } = this.#served
    const recent = plans.find(this.#head)
    const plan = recent !== undefined && fits(recent, this.#raw) ? recent : plans.add(this.#head, this.#newPlan(model))
    this.#exchange.record.inferenceId = plan.request.id
    this.wantsEmptyFinal = plan.request.wantsEmptyFinal
    if (this.#head !== undefined && this.#message !== undefined) keepName(this.#head, this.#message)
    this.#message = undefined
    const copying = this.#share.reserve(this.#bytes.length + plan.copiedBytes)
    return copying === undefined ? use(this.#infer(plan)) : copying.then(() => use(this.#infer(plan)))
  }

  #newPlan(model: Model): InferPlan {
    const request = readGrpcRequest(this.#message ?? this.#decode(), this.#raw, model.inputs)
    // A request that is refused has its id, too.
    this.#exchange.record.inferenceId = request.id
    return planInference(model, request, this.#state.limits.bytes)
  }

  #infer(plan: InferPlan): Inference {
    const { cancellation, record } = this.#exchange
    const inference = new Inference(this.#served, plan, this.#state.regions, {
      cancellation,
      trace: this.#count.trace,
      record,
    })
    this.#inference = inference
    for (let i = 0; i < inference.places.length; i++) inference.places[i]!.set(this.#raw[i]!)
    freeBytes(this.#bytes, FRAME_HEAD)
    return inference
  }

  /** @returns the answer */
  #succeed(answer: Message): Message {
    try {
      this.#count.succeed()
    } catch (error) {
      this.release()
      throw error
    }
    return answer
  }

  /** @returns the error */
  #fail(error: unknown): unknown {
    try {
      this.#count.fail(error)
      return error
    } finally {
      this.release()
    }
  }

  /** Gives the memory of the tensors back. Called once, when the answer was copied or cannot be sent. */
  release(): void {
    this.#share.release()
    const closing = this.#inference?.close()
    if (closing === undefined) this.#served.leave()
    else void closing.then(() => this.#served.leave())
  }
}

/** Whether tensors have the sizes that a plan has for them, which are not in its head. */
function fits({ request: { inputs } }: InferPlan, raw: readonly Uint8Array[]): boolean {
  return (
    inputs.length === raw.length &&
    inputs.every(({ source }, i) => isBehind(source) && source.byteSize === raw[i]!.length)
  )
}

function keepName(head: string, { modelName, modelVersion }: Named): void {
  if (named.size >= MOST_NAMED) named.delete(named.keys().next().value!)
  named.set(head, { modelName, modelVersion })
}
