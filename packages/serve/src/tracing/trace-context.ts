/** The place of a request in a distributed trace, as the headers `traceparent` and `tracestate` of the W3C have it. */
export interface TraceContext {
  /** Version, trace, span and flags: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. */
  readonly traceparent: string
  readonly tracestate?: string
}

/** Headers, or what else has names and values. */
export type Carrier = Readonly<Record<string, string | readonly string[] | undefined>>

/** Version 00 of https://www.w3.org/TR/trace-context/. Numbers of traces and spans must not be 0. */
const TRACEPARENT = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/

/** Reads the trace context of a request. Without one that is valid, the result is undefined. */
export function readTraceContext({ traceparent, tracestate }: Carrier): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  return typeof tracestate === 'string' ? { traceparent, tracestate } : { traceparent }
}
