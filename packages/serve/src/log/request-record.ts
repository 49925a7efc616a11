import { ANYONE, type Caller } from '../access/caller.ts'
import type { FailureReason } from '../service/metrics.ts'
import type { InferenceTimes } from '../service/statistics.ts'
import { readTraceContext } from '../tracing/trace-context.ts'

/** The facts about a request that its transport knows. All but the address are read only if the request has a line in the log. */
export interface RequestSource {
  /** The verb of HTTP, or `gRPC`. */
  readonly method: string
  /** The path without its query, or the method of gRPC. */
  readonly path: string
  /** The address of the client; undefined if it had left before its request was read. */
  readonly address: string | undefined
  /** The value of a header, whose name is in lower case. */
  header(name: string): string | undefined
}

/** One request of either transport, as its line in the log and `logError` have it. The parts of the server that answer it fill it in. */
export class RequestRecord {
  readonly source: RequestSource
  caller: Caller = ANYONE
  /** The `id` of an inference. The header `x-request-id` wins over it. */
  inferenceId: string | undefined = undefined
  model: string | undefined = undefined
  version: string | undefined = undefined
  /** The times of the inference. Those of the answers of a stream are added up. */
  times: InferenceTimes | undefined = undefined
  /** The bytes of the bodies or messages, without their heads. */
  bytesIn = 0
  bytesOut = 0
  /** The status of HTTP, or the number of gRPC. Undefined if the client left before. */
  status: number | undefined = undefined
  /** The error that the client was told of. */
  error: unknown = undefined
  /** Why it failed. */
  reason: FailureReason | undefined = undefined
  /** Whether its line was written, or is not wanted. */
  hasEnded = false
  readonly start: number = performance.now()

  constructor(source: RequestSource) {
    this.source = source
  }

  /** Ends the record of a client that left before it got an answer. */
  leave(): void {
    this.error = undefined
    this.reason = 'CANCELED'
  }

  /** Makes the record of one message of a stream, which is a request of its own. */
  next(): RequestRecord {
    const record = new RequestRecord(this.source)
    record.caller = this.caller
    return record
  }

  /** The number that the client chose for logs. */
  get id(): string | undefined {
    return this.source.header('x-request-id') ?? this.inferenceId
  }

  /** The number of the client's trace, if it has one. */
  get trace(): string | undefined {
    return readTraceContext({ traceparent: this.source.header('traceparent') })?.traceparent.slice(3, 35)
  }

  /** Adds the times of one inference. */
  addTimes(times: InferenceTimes): void {
    const before = this.times
    if (before === undefined) {
      this.times = times
      return
    }
    this.times = {
      queue: before.queue + times.queue,
      computeInput: before.computeInput + times.computeInput,
      computeInfer: before.computeInfer + times.computeInfer,
      computeOutput: before.computeOutput + times.computeOutput,
    }
  }
}
