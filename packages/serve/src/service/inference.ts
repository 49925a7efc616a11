import { tensor, type NativeAllocator, type Tensor } from '@tenon/core'
import { StringTensor } from 'tenon/tstring'
import { InvalidRequestError } from '../errors.ts'
import type { RequestRecord } from '../log/request-record.ts'
import { closeWhenFree, type RequestMemory } from '../model/request-memory.ts'
import type { ModelTensor } from '../model/model-tensor.ts'
import { fillTensor, readTexts } from '../protocol/fill-tensor.ts'
import { bytesForBody, type AnsweredOutput, type ChosenOutput, type InferResponse } from '../protocol/infer-response.ts'
import { readStrings } from '../protocol/string-bytes.ts'
import { RegionPlaces } from '../shared-memory/region-place.ts'
import type { Region } from '../shared-memory/region.ts'
import type { Regions } from '../shared-memory/regions.ts'
import type { TraceContext } from '../tracing/trace-context.ts'
import type { RequestTrace } from '../tracing/tracing.ts'
import type { Cancellation } from './cancellation.ts'
import type { JobOutputs, ScheduledRequest } from '../scheduler/job.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import { SequenceTurn } from '../scheduler/sequence.ts'
import type { InferPlan, PlannedInput } from './infer-plan.ts'
import type { ServedModel } from './served-model.ts'

/** The request for which a model runs. */
interface RunOf {
  /** Says when the client is gone. */
  readonly cancellation: Cancellation
  readonly trace: RequestTrace | undefined
  readonly record: RequestRecord
  /** See {@link ScheduledRequest.affinity}. */
  readonly affinity?: string | undefined
}

/**
 * One request from its plan to its answer. The memory of the inputs and outputs is free after {@link close}, which follows the last
 * use of the answer.
 */
export class Inference implements ScheduledRequest {
  readonly parameters: ScheduledRequest['parameters']
  readonly priority: number
  readonly timeout: number
  readonly cancellation: Cancellation
  readonly trace: TraceContext | undefined
  readonly span: RequestTrace | undefined
  readonly affinity: string | undefined
  readonly memory: RequestMemory | undefined
  readonly turn: SequenceTurn | undefined
  inputs: readonly ModelTensor[] = []
  arrived = 0
  /** The places of the binary inputs in the order of the request, which the caller fills before {@link run}. */
  readonly places: readonly Uint8Array[]
  readonly #served: ServedModel
  readonly #id: string | undefined
  readonly #chosen: InferPlan['outputs']
  readonly #record: RequestRecord
  readonly #opened: readonly Input[]
  /** Undefined for a request without shared memory. */
  readonly #regionPlaces: RegionPlaces | undefined
  /** The regions of the outputs, for those that have one. */
  readonly #regions: readonly (Region | undefined)[]
  readonly #start = performance.now()
  #begun = 0
  #outputs: JobOutputs | undefined

  /**
   * Takes the memory of the inputs.
   *
   * @param plan the elements in its JSON, which take much more memory than their bytes, are not kept.
   * @param regions the shared memory that clients have registered.
   * @throws {InvalidRequestError} if elements in the JSON do not fit, or shared memory cannot be read.
   */
  constructor(
    served: ServedModel,
    plan: InferPlan,
    regions: Regions,
    { cancellation, trace, record, affinity }: RunOf,
  ) {
    const { id, parameters, priority, timeout, sequence } = plan.request
    this.parameters = parameters
    this.priority = priority
    this.timeout = timeout
    this.turn = sequence === undefined ? undefined : new SequenceTurn(sequence)
    this.cancellation = cancellation
    this.trace = trace?.context
    this.span = trace
    this.affinity = affinity
    this.#served = served
    this.#id = id
    this.#chosen = plan.outputs
    this.#record = record
    const memory = served.arena()
    const ofRequest = plan.usesRegions ? new RegionPlaces(regions, record.caller) : undefined
    this.memory = memory
    this.#regionPlaces = ofRequest
    try {
      const inputs: Input[] = []
      for (const input of plan.inputs) inputs.push(openInput(input, memory, ofRequest))
      this.#opened = inputs
      this.#regions =
        ofRequest === undefined
          ? NO_REGIONS
          : plan.outputs.map(({ range }) => (range === undefined ? undefined : ofRequest.acquire(range)))
      const places: Uint8Array[] = []
      for (const i of plan.arriving) places.push(inputs[i]!.place!)
      this.places = places
    } catch (error) {
      ofRequest?.release()
      memory?.close()
      throw error
    }
  }

  /**
   * Waits for its turn, runs the model, and encodes its outputs.
   *
   * @param encode makes the answer of a transport, while the outputs are in memory.
   * @returns the answer of a function that an instance has run at once, or a promise.
   * @throws (or rejects with) {InvalidRequestError | QueueFullError | KernelDeadlineError}, or what the model throws.
   */
  run<Encoded>(encode: (response: InferResponse) => Encoded): Encoded | Promise<Encoded> {
    this.#finishInputs()
    const outputs = this.#served.scheduler.run(this)
    return outputs instanceof Promise
      ? outputs.then((made) => this.#answer(made, encode))
      : this.#answer(outputs, encode)
  }

  /**
   * Runs the model as {@link run} does, and encodes each of its answers. The model goes on when the next answer is asked for, so its outputs need
   * only stay until then. To return ends the run.
   */
  async *stream<Encoded>(encode: (response: InferResponse) => Encoded): AsyncGenerator<Encoded, void, undefined> {
    const { model, scheduler } = this.#served
    if (model.stream === undefined) {
      yield await this.run(encode)
      return
    }
    if (this.#regions.some((region) => region !== undefined)) {
      throw new InvalidRequestError('the outputs of a stream must not be in shared memory', {
        hint: 'Each answer would overwrite the one before it.',
      })
    }
    this.#finishInputs()
    const spent = { computeInfer: 0, computeOutput: 0 }
    let asked: number | undefined
    // Pipelines have no streams.
    for await (const tensors of (scheduler as Scheduler).stream(this)) {
      const made = performance.now()
      spent.computeInfer += made - (asked ?? this.#begun)
      const outputs = this.#chosen.map((chosen) => ({ chosen, tensor: tensors[chosen.index]!, written: undefined }))
      const encoded = encode({ model, id: this.#id, chosen: this.#chosen, outputs })
      spent.computeOutput += performance.now() - made
      yield encoded
      asked = performance.now()
    }
    spent.computeInfer += performance.now() - (asked ?? this.#begun)
    this.#count(1, spent.computeInfer, spent.computeOutput)
  }

  #finishInputs(): void {
    const { model } = this.#served
    const inputs: ModelTensor[] = []
    for (let i = 0; i < this.#opened.length; i++) {
      const { made } = this.#opened[i]!
      inputs.push(typeof made === 'function' ? made() : made)
    }
    for (let i = 0; i < inputs.length; i++) {
      const { name, dtype } = model.inputs[i]!
      if (dtype === 'bool') checkBooleans(name, inputs[i] as Tensor)
    }
    this.inputs = inputs
    this.arrived = performance.now()
    this.#begun = this.arrived
  }

  /** Counts the request with its times in milliseconds. */
  #count(rows: number, computeInfer: number, computeOutput: number): void {
    const durations = {
      queue: 1e6 * (this.#begun - this.arrived),
      computeInput: 1e6 * (this.arrived - this.#start),
      computeInfer: 1e6 * computeInfer,
      computeOutput: 1e6 * computeOutput,
    }
    this.#served.statistics.addSuccess(rows, durations)
    this.span?.addParts(durations)
    this.#record.addTimes(durations)
  }

  /** Called when it leaves the queue. */
  begin(): void {
    this.#begun = performance.now()
  }

  #answer<Encoded>(outputs: JobOutputs, encode: (response: InferResponse) => Encoded): Encoded {
    const { model } = this.#served
    this.#outputs = outputs
    const ended = performance.now()
    const answered: AnsweredOutput[] = []
    for (let i = 0; i < this.#chosen.length; i++) {
      const chosen = this.#chosen[i]!
      const made = outputs.tensors[chosen.index]!
      const region = this.#regions[i]
      answered.push({ chosen, tensor: made, written: region === undefined ? undefined : writeTo(region, chosen, made) })
    }
    const response = encode({ model, id: this.#id, chosen: this.#chosen, outputs: answered })
    const rows = model.batching.maxBatchSize === 0 ? 1 : this.inputs[0]!.shape[0]!
    this.#count(rows, ended - this.#begun, performance.now() - ended)
    // While a slow client reads, only the answer is needed.
    this.inputs = []
    return response
  }

  /**
   * Gives the memory of the inputs and outputs back, once a run that was left alone has ended.
   *
   * @returns undefined if it was given back at once.
   */
  close(): Promise<void> | undefined {
    this.#regionPlaces?.release()
    this.#outputs?.release()
    return this.memory === undefined ? undefined : closeWhenFree(this.memory)
  }
}

/** Writes an output to the client's shared memory. @returns its bytes. @throws {InvalidRequestError} if there are too few. */
function writeTo(region: Region, { spec, range }: ChosenOutput, made: ModelTensor): number {
  const bytes = bytesForBody(made)
  const { offset, byteSize } = range!
  if (bytes.length > byteSize) {
    throw new InvalidRequestError(
      `the shared memory of the output ${spec.name} must have ${bytes.length} bytes, got ${byteSize}`,
    )
  }
  region.write(bytes, offset)
  return bytes.length
}

const NO_REGIONS: readonly undefined[] = []

/** An input whose memory is there. */
interface Input {
  /** The bytes that arrive behind the JSON, or undefined for elements in the JSON. */
  readonly place: Uint8Array | undefined
  /** The input, or what makes it of a place that was filled. It is called once. @throws {InvalidRequestError} */
  readonly made: ModelTensor | (() => ModelTensor)
}

/**
 * @param places undefined for a request without shared memory.
 * @throws {InvalidRequestError} if elements in the JSON do not fit, or shared memory cannot be read.
 */
function openInput(
  { input: { name, source }, spec: { stringLayout }, type }: PlannedInput,
  allocator: NativeAllocator | undefined,
  places: RegionPlaces | undefined,
): Input {
  const placed = allocator === undefined ? undefined : { allocator }
  if (stringLayout === undefined) {
    const made = tensor(type.dtype, type.shape, undefined, placed)
    if ('data' in source) fillTensor(name, source.data, made)
    else if ('region' in source) places!.acquire(source).readInto(bytesOf(made), source.offset)
    else return { place: bytesOf(made), made }
    return { place: undefined, made }
  }
  const options = { layout: stringLayout, shape: type.shape, storage: 'packed', ...placed } as const
  if ('data' in source)
    return { place: undefined, made: StringTensor.from(readTexts(name, source.data, type), options) }
  const bytes = new Uint8Array(source.byteSize)
  const made = (): StringTensor => StringTensor.from(readStrings(name, bytes, type.elementCount), options)
  if (!('region' in source)) return { place: bytes, made }
  places!.acquire(source).readInto(bytes, source.offset)
  return { place: undefined, made }
}

/** Compiled code relies on booleans that are 0 or 1. @throws {InvalidRequestError} */
function checkBooleans(name: string, booleans: Tensor): void {
  const other = bytesOf(booleans).findIndex((byte) => byte > 1)
  if (other === -1) return
  throw new InvalidRequestError(`element ${other} of ${name} must be 0 or 1, got ${bytesOf(booleans)[other]}`)
}

function bytesOf({ block, base, type }: Tensor): Uint8Array {
  return block.bytes.subarray(base, base + type.byteSize)
}
