import { randomFillSync } from 'node:crypto'
import { dtypeInfo, KernelDeadlineError, Tensor, TenonError, type DType } from '@tenon/core'
import { InvalidRequestError, ModelLoadError } from '../errors.ts'
import { RequestRecord, type RequestSource } from '../log/request-record.ts'
import type { Model } from '../model/model.ts'
import type { TensorSpec } from '../model/tensor-spec.ts'
import type { WarmUp, WarmUpInput } from '../model/warm-up.ts'
import { readInferRequest } from '../protocol/read-infer-request.ts'
import { Regions } from '../shared-memory/regions.ts'
import { Cancellation } from './cancellation.ts'
import { planInference, type InferPlan } from './infer-plan.ts'
import { Inference } from './inference.ts'
import { ServedModel } from './served-model.ts'

/** Warms up models one after the other. @throws (rejects with) {ModelLoadError} for the first one that fails. None has warm-ups any more then. */
export async function warmUpAll(all: readonly ServedModel[], byteLimit: number): Promise<void> {
  try {
    for (const served of all) served.endWarmUp = await warmUp(served.model, byteLimit)
  } catch (error) {
    for (const { endWarmUp } of all) endWarmUp()
    throw error
  }
}

/**
 * Lets each worker of a model answer the warm-up requests. Workers that replace others do so before they get other requests. Nothing of it is
 * counted as an inference.
 *
 * @param byteLimit the most bytes of the inputs of a request.
 * @returns a function that ends the warm-ups of later workers.
 * @throws (rejects with) {ModelLoadError} with the request that fails.
 */
async function warmUp(model: Model, byteLimit: number): Promise<() => void> {
  const { warmUps, kernel } = model
  if (warmUps.length === 0) return () => {}
  const answerAll = async (affinity: string | undefined): Promise<void> => {
    // A worker has a queue of its own, so that its requests cannot join those of other workers.
    const served = new ServedModel(model)
    let request: WarmUp | undefined
    try {
      for (request of warmUps) {
        const planned = planWarmUp(model, request, byteLimit)
        for (let i = 0; i < request.count; i++) await answer(served, planned, affinity)
      }
    } catch (error) {
      throw failureOf(model, request!, error)
    } finally {
      served.scheduler.endSequences()
    }
    served.scheduler.endSequences()
  }
  if (kernel !== undefined) return kernel.warmUp(answerAll)
  await answerAll(undefined)
  return () => {}
}

function failureOf({ name, version }: Model, request: WarmUp, error: unknown): ModelLoadError {
  const isOwn = error instanceof TenonError
  const late =
    error instanceof KernelDeadlineError
      ? 'Raise the deadline of the model, or make the warm-up request smaller.'
      : undefined
  const hint = isOwn ? (error.hint ?? late) : undefined
  const reason = isOwn ? error.sentence : error instanceof Error ? error.message : String(error)
  return new ModelLoadError(
    `failed to load '${name}': version ${version} did not answer the warm-up request ${request.name}: ${reason}`,
    {
      ...(hint === undefined ? {} : { hint }),
      details: { model: name, version, request: request.name },
      cause: error,
    },
  )
}

const NO_REGIONS = new Regions(undefined)
const NO_CLIENT: RequestSource = { method: '', path: '', address: undefined, header: () => undefined }

async function answer(
  served: ServedModel,
  { plan, contents }: PlannedWarmUp,
  affinity: string | undefined,
): Promise<void> {
  const inference = new Inference(served, plan, NO_REGIONS, {
    cancellation: new Cancellation(),
    trace: undefined,
    record: new RequestRecord(NO_CLIENT),
    affinity,
  })
  try {
    for (const [i, place] of inference.places.entries()) contents[i]!(place)
    // The first answer of a stream is enough, because a stream may have no end.
    for await (const _ of inference.stream(() => undefined)) break
  } finally {
    await inference.close()
  }
}

/** A warm-up request that was compared with its model. */
interface PlannedWarmUp {
  readonly plan: InferPlan
  /** Fill the inputs whose elements are not in JSON, in the order of the request. */
  readonly contents: readonly ((place: Uint8Array) => void)[]
}

/** @throws {InvalidRequestError | RequestTooLargeError} */
function planWarmUp(model: Model, { inputs, parameters }: WarmUp, byteLimit: number): PlannedWarmUp {
  const contents: ((place: Uint8Array) => void)[] = []
  const described = inputs.map((input) => {
    const spec = model.inputs.find(({ name }) => name === input.name)
    const { name, data, shape = spec?.shape ?? [] } = input
    const isTensor = data instanceof Tensor
    if (input.randomData === true && spec?.dtype === 'string') {
      throw new InvalidRequestError(`the input ${name} must have data or zeroData, because its elements are texts`)
    }
    // An input that the model does not have is refused by its name.
    const datatype = isTensor ? dtypeInfo(data.dtype).openInference : (input.datatype ?? spec?.datatype ?? 'UINT8')
    const one = { name, datatype, shape }
    if (data !== undefined && !isTensor) return { ...one, data }
    contents.push(contentOf(input, spec))
    return { ...one, parameters: { binary_data_size: byteSizeOf(shape, isTensor ? data.dtype : spec?.dtype) } }
  })
  const request = readInferRequest({ inputs: described, parameters })
  return { plan: planInference(model, request, byteLimit), contents }
}

/** An empty text is its length of four bytes. Strings are one element each. */
const TEXT_BYTES = 4

function byteSizeOf(shape: readonly number[], dtype: TensorSpec['dtype'] = 'uint8'): number {
  const elements = Array.isArray(shape) ? shape.reduce((product: number, size) => product * Number(size), 1) : 0
  return elements * (dtype === 'string' ? TEXT_BYTES : dtypeInfo(dtype).bits / 8)
}

function contentOf({ data, randomData }: WarmUpInput, spec: TensorSpec | undefined): (place: Uint8Array) => void {
  if (data instanceof Tensor) {
    const { block, base, type } = data.contiguous()
    return (place) => place.set(block.bytes.subarray(base, base + type.byteSize))
  }
  if (randomData !== true || spec === undefined) return (place) => void place.fill(0)
  const dtype = spec.dtype as DType
  return (place) => {
    randomFillSync(place)
    limitRandom(place, dtype)
  }
}

/** The exponents of the numbers from 1 to 2 in the highest bytes, and the bits of these bytes that belong to the fraction. */
const EXPONENTS: Readonly<Record<string, { readonly size: number; readonly high: number; readonly fraction: number }>> =
  {
    float16: { size: 2, high: 0x3c00, fraction: 0x03ff },
    bfloat16: { size: 2, high: 0x3f80, fraction: 0x007f },
    float32: { size: 4, high: 0x3f80, fraction: 0x007f },
    float64: { size: 8, high: 0x3ff0, fraction: 0x000f },
  }

/** Changes random bytes to elements that are valid, and neither infinite nor tiny. */
function limitRandom(bytes: Uint8Array, dtype: DType): void {
  if (dtype === 'bool') {
    for (let i = 0; i < bytes.length; i++) bytes[i]! &= 1
    return
  }
  const exponent = EXPONENTS[dtype]
  if (exponent === undefined) return
  const { size, high, fraction } = exponent
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = size - 2; at < bytes.length; at += size) {
    view.setUint16(at, (view.getUint16(at, true) & fraction) | high, true)
  }
}
