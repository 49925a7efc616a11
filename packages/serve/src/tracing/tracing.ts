import type * as OpenTelemetry from '@opentelemetry/api'
import type { Model } from '../model/model.ts'
import type { InferenceTimes } from '../service/statistics.ts'
import { readTraceContext, type Carrier, type TraceContext } from './trace-context.ts'

type Api = typeof OpenTelemetry

const TRACER = '@tenon/serve'

/** The parts of a request, in their order, with the names of their spans. */
const PARTS = [
  ['computeInput', 'compute_input'],
  ['queue', 'queue'],
  ['computeInfer', 'compute_infer'],
  ['computeOutput', 'compute_output'],
] as const

/** The trace of one request. */
export interface RequestTrace {
  /** The trace context that the function of the model passes on. */
  readonly context: TraceContext | undefined
  /** Records how long the parts of the request took, in nanoseconds. The last one ends now. */
  addParts(times: InferenceTimes): void
  /** Begins a step of a pipeline. @param name that of its span. */
  step(name: string, model: Model): RequestTrace
  /** Ends the request. @param error why it failed. */
  end(error?: unknown): void
}

/**
 * Traces requests with OpenTelemetry, if the program has `@opentelemetry/api`. It does nothing until the program registers an SDK.
 * Without it, the context of a request is passed on as it came.
 */
export class Tracing {
  readonly #api: Api | undefined

  private constructor(api: Api | undefined) {
    this.#api = api
  }

  static async load(): Promise<Tracing> {
    try {
      return new Tracing(await import('@opentelemetry/api'))
    } catch {
      return new Tracing(undefined)
    }
  }

  /** Begins the trace of a request. @returns undefined if nobody looks at it. */
  start(model: Model, carrier: Carrier): RequestTrace | undefined {
    const context = carrier['traceparent'] === undefined ? undefined : readTraceContext(carrier)
    const api = this.#api
    if (api === undefined) return passedOn(context)
    const provider = api.trace.getTracerProvider()
    const hasSdk = !(provider instanceof api.ProxyTracerProvider) || provider.getDelegateTracer(TRACER) !== undefined
    if (!hasSdk) return passedOn(context)
    const parent = context === undefined ? api.ROOT_CONTEXT : api.propagation.extract(api.ROOT_CONTEXT, context)
    const tracer = provider.getTracer(TRACER)
    return startSpan(api, tracer, parent, { name: `infer ${model.name}`, kind: api.SpanKind.SERVER, model, context })
  }
}

interface SpanOptions {
  readonly name: string
  readonly kind: OpenTelemetry.SpanKind
  readonly model: Model
  /** The context that is passed on if the span has none. */
  readonly context: TraceContext | undefined
}

function startSpan(
  api: Api,
  tracer: OpenTelemetry.Tracer,
  parent: OpenTelemetry.Context,
  { name, kind, model, context }: SpanOptions,
): RequestTrace {
  const attributes = { 'model.name': model.name, 'model.version': model.version }
  const span = tracer.startSpan(name, { kind, attributes }, parent)
  const own = api.trace.setSpan(parent, span)
  const passed: Record<string, string> = {}
  api.propagation.inject(own, passed)
  return {
    context: readTraceContext(passed) ?? context,
    step: (label, of) => startSpan(api, tracer, own, { name: label, kind: api.SpanKind.INTERNAL, model: of, context }),
    addParts: (times) => {
      const total = PARTS.reduce((sum, [part]) => sum + times[part], 0)
      let at = Date.now() - total / 1e6
      for (const [part, label] of PARTS) {
        const child = tracer.startSpan(label, { startTime: at }, own)
        at += times[part] / 1e6
        child.end(at)
      }
    },
    end: (error) => {
      if (error !== undefined) {
        span.recordException(error instanceof Error ? error : String(error))
        span.setStatus({ code: api.SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

/** The trace of a request that this server does not record. */
function passedOn(context: TraceContext | undefined): RequestTrace | undefined {
  if (context === undefined) return undefined
  const trace: RequestTrace = { context, step: () => trace, addParts: ignore, end: ignore }
  return trace
}

function ignore(): void {}
