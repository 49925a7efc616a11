import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../src/client.ts'
import { defineModel, definePipeline, type Model, type TraceContext } from '../src/index.ts'
import { readTraceContext } from '../src/tracing/trace-context.ts'
import { Caller } from './caller.ts'
import { Served } from './support.ts'

const [traceId, parentId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7']
const traceparent = `00-${traceId}-${parentId}-01`

/** A model that keeps the traces of its runs. */
function tracing(seen: TraceContext[][]): Model {
  return defineModel({
    name: 'traced',
    signature: '(x: f32[n]) -> (y: f32[n])',
    run: ({ x }, { traces }) => {
      seen.push([...traces])
      if (x.shape[0] === 0) throw new Error('nothing to do')
      return x
    },
  })
}

describe('traces without OpenTelemetry', () => {
  test('the context of a request reaches the function, over HTTP and gRPC', async () => {
    const seen: TraceContext[][] = []
    const caller = await Caller.start([tracing(seen)])
    const client = createClient(`http://127.0.0.1:${caller.served.server.port}`)
    onTestFinished(() => client.closeAsync())
    await client.infer('traced', { x: [1] }, { traceparent, tracestate: 'a=b' })
    await client.infer('traced', { x: [1] })
    await caller.infer('traced', new Float32Array(1), { traceparent })
    expect(seen).toEqual([[{ traceparent, tracestate: 'a=b' }], [], [{ traceparent }]])
  })

  test.each([
    `01-${traceId}-${parentId}-01`,
    `00-${traceId}-${parentId}`,
    `00-${traceId}-${parentId}-01-x`,
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${parentId}-01`,
    '',
  ])('traceparent %j is ignored', (text) => {
    expect(readTraceContext({ traceparent: text })).toBeUndefined()
  })
})

describe('spans of OpenTelemetry', () => {
  const start = (): InMemorySpanExporter => {
    const exporter = new InMemorySpanExporter()
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    return exporter
  }
  afterEach(() => {
    trace.disable()
    propagation.disable()
    context.disable()
  })
  const named = (spans: readonly ReadableSpan[], name: string): ReadableSpan => spans.find((one) => one.name === name)!

  test('a request is a span of the server below that of the client, with its parts', async () => {
    const exporter = start()
    const seen: TraceContext[][] = []
    const { server } = await Served.start([tracing(seen)])
    const client = createClient(`http://127.0.0.1:${server.port}`)
    onTestFinished(() => client.closeAsync())
    await client.infer('traced', { x: [1] }, { traceparent })
    const spans = exporter.getFinishedSpans()
    const infer = named(spans, 'infer traced')
    expect(infer.parentSpanContext?.spanId).toBe(parentId)
    const { spanId, traceId: own } = infer.spanContext()
    expect([own, infer.attributes]).toEqual([traceId, { 'model.name': 'traced', 'model.version': '1' }])
    // The function passes the span of the server on.
    expect(seen).toEqual([[{ traceparent: `00-${traceId}-${spanId}-01` }]])
    for (const part of ['compute_input', 'queue', 'compute_infer', 'compute_output']) {
      expect([part, named(spans, part).parentSpanContext?.spanId]).toEqual([part, spanId])
    }
    expect(spans).toHaveLength(5)
  })

  test('a request that fails is a span with its error', async () => {
    const exporter = start()
    const served = await Served.start([tracing([])])
    const request = { inputs: [{ name: 'x', datatype: 'FP32', shape: [0], data: [] }] }
    expect((await served.infer('traced', request))[0]).toBe(500)
    const [span] = exporter.getFinishedSpans()
    expect([span?.status.code, span?.events.map(({ name }) => name)]).toEqual([SpanStatusCode.ERROR, ['exception']])
  })

  test('a pipeline is one trace, in which each step is a span of its own with its parts', async () => {
    const exporter = start()
    const seen: TraceContext[][] = []
    const pipeline = definePipeline({
      name: 'p',
      signature: '(x: f32[n]) -> (y: f32[n])',
      steps: [
        { model: 'traced', inputs: { x: 'x' }, outputs: { y: 't' } },
        { model: 'traced', inputs: { x: 't' }, outputs: { y: 'y' } },
      ],
    })
    const { server } = await Served.start([pipeline, tracing(seen)])
    const client = createClient(`http://127.0.0.1:${server.port}`)
    onTestFinished(() => client.closeAsync())
    await client.infer('p', { x: [1] }, { traceparent })
    const spans = exporter.getFinishedSpans()
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]))
    const root = named(spans, 'infer p')
    const steps = [named(spans, 'step 1 traced'), named(spans, 'step 2 traced')]
    for (const [i, step] of steps.entries()) {
      const { spanId } = step.spanContext()
      expect(step.parentSpanContext?.spanId).toBe(root.spanContext().spanId)
      expect(step.attributes).toEqual({ 'model.name': 'traced', 'model.version': '1' })
      // The function of the step passes the span of the step on.
      expect(seen[i]).toEqual([{ traceparent: `00-${traceId}-${spanId}-01` }])
      expect(spans.filter((span) => span.parentSpanContext?.spanId === spanId)).toHaveLength(4)
    }
    await expect(client.infer('p', { x: [] })).rejects.toThrow('step 1 (traced) of the pipeline p')
    const failed = exporter.getFinishedSpans().filter((span) => span.status.code === SpanStatusCode.ERROR)
    expect(failed.map(({ name }) => name)).toEqual(['step 1 traced', 'infer p'])
  })
})
