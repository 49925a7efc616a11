import { ByteShare } from '../service/byte-budget.ts'
import { findModel } from '../service/find-model.ts'
import { freeBytes } from '../service/free-bytes.ts'
import { inputsTooLarge, planInference } from '../service/infer-plan.ts'
import { InferenceCount, type Origin } from '../service/inference-count.ts'
import { Inference } from '../service/inference.ts'
import { headOf } from '../service/recent-plans.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import { decodeInferRequest, divideInferRequest, type RequestParts } from './decode-message.ts'
import { encodeInferResponse } from './encode-response.ts'
import { readGrpcRequest } from './to-request.ts'

/** One call. */
export interface GrpcExchange extends Origin {
  /** The model that the message names, for the description of errors. */
  model: string | undefined
}

/** The model that the head of a message names. */
interface Named {
  readonly modelName: string
  readonly modelVersion: string
}

/** The models of the heads that came last. A head names the same model for ever, so all servers have them together. */
const named = new Map<string, Named>()

/** The most heads whose models are kept. */
const MOST_NAMED = 1024

/** The most tensors of a request with a head that is kept. */
const MOST_TENSORS = 64

/** The bytes in front of a message, which are in the same memory. */
const FRAME_HEAD = 5

/** Answers one `ModelInferRequest`. @returns the bytes of a `ModelInferResponse`. @throws (rejects with) the error to answer. */
export async function infer(state: ServerState, bytes: Buffer, exchange: GrpcExchange): Promise<Buffer> {
  const { cancellation } = exchange
  const parts = divideInferRequest(bytes, state.limits.jsonBytes)
  const head = headOfParts(parts)
  const known = head === undefined ? undefined : named.get(head)
  const message = known === undefined ? decodeInferRequest(bytes) : undefined
  const { modelName, modelVersion } = (known ?? message)!
  exchange.model = modelName
  const served = findModel(state, modelName, modelVersion === '' ? undefined : modelVersion)
  served.enter()
  const count = new InferenceCount(served, state, exchange)
  let inference: Inference | undefined
  const share = new ByteShare(state.budget, cancellation)
  try {
    const raw = message === undefined ? parts.raw : message.rawInputContents
    const rawBytes = raw.reduce((sum, { length }) => sum + length, 0)
    if (rawBytes > state.limits.bytes) throw inputsTooLarge(state.limits.bytes, rawBytes)
    // The elements of 'contents' are in the head.
    const waiting = share.reserve(bytes.length)
    if (waiting !== undefined) await waiting
    const { model, plans } = served
    const plan =
      plans.find(head) ??
      plans.add(
        head,
        planInference(model, readGrpcRequest(message ?? decodeInferRequest(bytes), model.inputs), state.limits.bytes),
      )
    const copying = share.reserve(bytes.length + plan.copiedBytes)
    if (copying !== undefined) await copying
    if (head !== undefined && known === undefined) keepName(head, { modelName, modelVersion })
    inference = new Inference(served, plan, state.regions)
    inference.places.forEach((place, i) => place.set(raw[i]!))
    freeBytes(bytes, FRAME_HEAD)
    const answer = await inference.run({ cancellation, trace: count.trace }, encodeInferResponse)
    count.succeed()
    return answer
  } catch (error) {
    count.fail(error)
    throw error
  } finally {
    share.release()
    void end(served, inference)
  }
}

/** The part that is the same in all requests with one plan: the fields before the tensors, and the sizes of the tensors. */
function headOfParts({ head, raw }: RequestParts): string | undefined {
  const text = head === undefined || raw.length > MOST_TENSORS ? undefined : headOf(head)
  // No JSON begins so.
  return text === undefined ? undefined : `\0${raw.map(({ length }) => length).join()} ${text}`
}

function keepName(head: string, name: Named): void {
  if (named.size >= MOST_NAMED) named.delete(named.keys().next().value!)
  named.set(head, name)
}

/** The answer is encoded, so nothing needs the memory of its tensors. */
async function end(served: ServedModel, inference: Inference | undefined): Promise<void> {
  await inference?.close()
  served.leave()
}
