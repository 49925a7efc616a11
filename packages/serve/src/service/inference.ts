import { tensor, tensorType, type DType, type NativeAllocator, type Tensor, type TensorType } from '@tenon/core'
import { InvalidRequestError, RequestTooLargeError } from '../errors.ts'
import type { RequestMemory } from '../model/model.ts'
import { fillTensor } from '../protocol/fill-tensor.ts'
import type { InferInput, InferRequest } from '../protocol/infer-request.ts'
import { chooseOutputs, type ChosenOutput, type InferResponse } from '../protocol/infer-response.ts'
import type { Cancellation } from './cancellation.ts'
import { closeWhenFree } from './close-when-free.ts'
import type { JobOutputs } from '../scheduler/job.ts'
import type { ServedModel } from './served-model.ts'

const now = (): number => Number(process.hrtime.bigint())

/**
 * One request from its JSON to its answer. The memory of the inputs and outputs is free after {@link close}, which follows the last
 * use of the answer.
 */
export class Inference {
  readonly #served: ServedModel
  readonly #request: InferRequest
  readonly #inputs: readonly Tensor[]
  readonly #chosen: readonly ChosenOutput[]
  readonly #memory: RequestMemory | undefined
  readonly #start = now()
  #outputs: JobOutputs | undefined
  /** The places of the binary inputs in the order of the request, which the caller fills before {@link run}. */
  readonly places: readonly Uint8Array[]

  /**
   * Checks a request against its model, and takes the memory of its inputs.
   *
   * @param byteLimit the most bytes of all inputs.
   * @throws {InvalidRequestError} if they contradict. @throws {RequestTooLargeError} if the inputs have more bytes.
   */
  constructor(served: ServedModel, request: InferRequest, byteLimit: number) {
    const { model } = served
    const inputs = orderInputs(served, request)
    const types = inputs.map((input, i) => typeOf(model.inputs[i]!.dtype, input))
    model.check(types)
    this.#served = served
    this.#request = request
    this.#chosen = chooseOutputs(model, request)
    const byteSize = types.reduce((sum, type) => sum + type.byteSize, 0)
    if (byteSize > byteLimit) {
      throw new RequestTooLargeError(`the inputs of a request must have at most ${byteLimit} bytes, got ${byteSize}`)
    }
    this.#memory = model.memory?.arena()
    try {
      this.#inputs = types.map((type) => allocate(type, this.#memory))
      inputs.forEach(({ name, source }, i) => {
        if ('data' in source) fillTensor(name, source.data, this.#inputs[i]!)
      })
    } catch (error) {
      this.#memory?.close()
      throw error
    }
    const placeOf = new Map(inputs.map(({ name }, i) => [name, this.#inputs[i]!]))
    this.places = request.inputs
      .filter(({ source }) => 'byteSize' in source)
      .map(({ name }) => bytesOf(placeOf.get(name)!))
  }

  /**
   * Waits for its turn, runs the model, and encodes its outputs.
   *
   * @param cancellation says when the client is gone. @param encode makes the answer of a transport, while the outputs are in memory.
   * @throws (rejects with) {InvalidRequestError | QueueFullError | KernelDeadlineError}, or what the model throws.
   */
  async run<Encoded>(cancellation: Cancellation, encode: (response: InferResponse) => Encoded): Promise<Encoded> {
    const { model, scheduler, statistics } = this.#served
    const { id, parameters, priority, timeout } = this.#request
    const inputs = this.#inputs
    for (const [i, { name, dtype }] of model.inputs.entries()) if (dtype === 'bool') checkBooleans(name, inputs[i]!)
    const read = now()
    let begun = read
    const begin = (): void => void (begun = now())
    const outputs = await scheduler.run({ inputs, parameters, priority, timeout, cancellation, begin })
    this.#outputs = outputs
    const ended = now()
    const answered = this.#chosen.map((chosen) => ({ ...chosen, tensor: outputs.tensors[chosen.index]! }))
    const response = encode({ model, id, outputs: answered })
    statistics.addSuccess(model.batching.maxBatchSize === 0 ? 1 : inputs[0]!.shape[0]!, {
      queue: begun - read,
      computeInput: read - this.#start,
      computeInfer: ended - begun,
      computeOutput: now() - ended,
    })
    return response
  }

  /** Gives the memory of the inputs and outputs back, once a run that was left alone has ended. */
  async closeAsync(): Promise<void> {
    this.#outputs?.release()
    if (this.#memory !== undefined) await closeWhenFree(this.#memory)
  }
}

/** The type of an input. @throws {InvalidRequestError} if its shape is too large, or its binary size is not that of its elements. */
function typeOf(dtype: DType, { name, shape, source }: InferInput): TensorType {
  let type: TensorType
  try {
    type = tensorType(dtype, shape)
  } catch (error) {
    throw new InvalidRequestError(`the shape of ${name} must be that of a tensor, got [${shape.join(', ')}]`, {
      cause: error,
    })
  }
  if ('data' in source || source.byteSize === type.byteSize) return type
  throw new InvalidRequestError(
    `the binary_data_size of ${name} must be ${type.byteSize} for ${type.elementCount} elements, got ${source.byteSize}`,
  )
}

/** Compiled code relies on booleans that are 0 or 1. @throws {InvalidRequestError} */
function checkBooleans(name: string, booleans: Tensor): void {
  const other = bytesOf(booleans).findIndex((byte) => byte > 1)
  if (other === -1) return
  throw new InvalidRequestError(`element ${other} of ${name} must be 0 or 1, got ${bytesOf(booleans)[other]}`)
}

function allocate({ dtype, shape }: TensorType, allocator: NativeAllocator | undefined): Tensor {
  return tensor(dtype, shape, undefined, allocator === undefined ? {} : { allocator })
}

function bytesOf({ block, base, type }: Tensor): Uint8Array {
  return block.bytes.subarray(base, base + type.byteSize)
}

/** The inputs of a request in the order of the model. @throws {InvalidRequestError} if one is missing, unknown or of another type. */
function orderInputs({ model }: ServedModel, { inputs }: InferRequest): InferInput[] {
  const names = model.inputs.map(({ name }) => name)
  for (const { name } of inputs) {
    if (names.includes(name)) continue
    throw new InvalidRequestError(`the model ${model.name} has no input ${JSON.stringify(name.slice(0, 60))}`, {
      hint: `Its inputs are ${names.join(', ')}.`,
    })
  }
  return model.inputs.map((spec) => {
    const input = inputs.find(({ name }) => name === spec.name)
    if (input === undefined)
      throw new InvalidRequestError(`the request must have the input ${spec.name} of the model ${model.name}`)
    if (input.datatype === spec.datatype) return input
    const received = JSON.stringify(input.datatype.slice(0, 60))
    throw new InvalidRequestError(`the input ${spec.name} must have the datatype ${spec.datatype}, got ${received}`)
  })
}
