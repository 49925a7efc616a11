import { ByteShare } from '../service/byte-budget.ts'
import type { ModelInferRequest } from '../generated/open_inference_pb.js'
import { findModel } from '../service/find-model.ts'
import { freeBytes } from '../service/free-bytes.ts'
import { inputsTooLarge, isBehind, planInference, type InferPlan } from '../service/infer-plan.ts'
import { InferenceCount, type Origin } from '../service/inference-count.ts'
import { Inference } from '../service/inference.ts'
import { headOf } from '../service/recent-plans.ts'
import type { ServedModel } from '../service/served-model.ts'
import type { ServerState } from '../service/server-state.ts'
import { decodeInferRequest, divideInferRequest } from './decode-message.ts'
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

/** The bytes in front of a message, which are in the same memory. */
const FRAME_HEAD = 5

/** Answers one `ModelInferRequest`. @returns the bytes of a `ModelInferResponse`. @throws (rejects with) the error to answer. */
export async function infer(state: ServerState, bytes: Buffer, exchange: GrpcExchange): Promise<Buffer> {
  const { cancellation } = exchange
  const parts = divideInferRequest(bytes, state.limits.jsonBytes)
  const head = parts.head === undefined ? undefined : headOf(parts.head)
  const known = head === undefined ? undefined : named.get(head)
  // The name and the plan that are kept for a head are decoded from the head alone.
  const decode = (): ModelInferRequest => decodeInferRequest(parts.head ?? bytes)
  const message = known === undefined ? decode() : undefined
  const { modelName, modelVersion } = (known ?? message)!
  exchange.model = modelName
  const served = findModel(state, modelName, modelVersion === '' ? undefined : modelVersion)
  served.enter()
  const count = new InferenceCount(served, state, exchange)
  let inference: Inference | undefined
  const share = new ByteShare(state.budget, cancellation)
  try {
    const raw = parts.head === undefined ? message!.rawInputContents : parts.raw
    const rawBytes = raw.reduce((sum, { length }) => sum + length, 0)
    if (rawBytes > state.limits.bytes) throw inputsTooLarge(state.limits.bytes, rawBytes)
    // The elements of 'contents' are in the head.
    const waiting = share.reserve(bytes.length)
    if (waiting !== undefined) await waiting
    const { model, messagePlans: plans } = served
    const recent = plans.find(head)
    const plan =
      recent !== undefined && fits(recent, raw)
        ? recent
        : plans.add(
            head,
            planInference(model, readGrpcRequest(message ?? decode(), raw, model.inputs), state.limits.bytes),
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

/** Whether tensors have the sizes that a plan has for them, which are not in its head. */
function fits({ request: { inputs } }: InferPlan, raw: readonly Uint8Array[]): boolean {
  return (
    inputs.length === raw.length &&
    inputs.every(({ source }, i) => isBehind(source) && source.byteSize === raw[i]!.length)
  )
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
