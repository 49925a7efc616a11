import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { toJavaScript } from '@tenon/config/example-code'
import { runtime } from '@tenon/core/internal'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageBlocks, readerDirectory, runInDirectory } from './reader.ts'

/** A span as the programs of these tests print it. */
interface PrintedSpan {
  readonly name: string
  readonly traceId: string
  readonly id: string
  readonly parent?: string
  readonly status: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly exceptions: readonly Readonly<Record<string, unknown>>[]
  /** The start and the end, in nanoseconds. */
  readonly times: readonly [number, number]
}

/** Prints the spans of a program as it ends. */
const sdk = `
  import { context, trace } from '@opentelemetry/api'
  import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
  import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
  const exporter = new InMemorySpanExporter()
  context.setGlobalContextManager(new AsyncLocalStorageContextManager())
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  const time = ([seconds, nanoseconds]) => seconds * 1e9 + nanoseconds
  const printed = (span) => ({
    name: span.name,
    traceId: span.spanContext().traceId,
    id: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId,
    status: span.status.code,
    attributes: span.attributes,
    exceptions: span.events.map(({ attributes }) => attributes),
    times: [time(span.startTime), time(span.endTime)],
  })
  process.on('exit', () => console.log(JSON.stringify(exporter.getFinishedSpans().map(printed))))
`

const opened = `
  import { trace } from '@opentelemetry/api'
  import { Library, tensor } from 'tenon'
  const library = Library.open('./libkernels.so')
  const signature = '(x: f32[n, d]) -> (y: f32[n, d]); eps: f32 = 1e-5'
  const kernel = library.kernel('rms_norm', { signature })
  const x = tensor([[1, 2, 3, 4]])
  const tracer = trace.getTracer('test')
`

let directory: string
beforeAll(async () => {
  directory = readerDirectory()
  const block = pageBlocks.find(
    ({ page, attributes }) => page === 'docs/profile-kernel.md' && attributes['file'] === 'call-spans.js',
  )
  writeFileSync(join(directory, 'call-spans.js'), await toJavaScript(block!.code))
  writeFileSync(join(directory, 'sdk.js'), sdk)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs statements with the module of the page, and returns their spans in the order of their ends. */
async function spansOf(statements: string): Promise<PrintedSpan[]> {
  const program = `import './sdk.js'; import './call-spans.js'; ${opened}${statements}`
  const { code, stdout, stderr } = await runInDirectory(
    directory,
    process.execPath,
    runtime.moduleArguments([], program),
  )
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout) as PrintedSpan[]
}

test('a call is a span below the active one, with its convention, types and times', async () => {
  const [call, parent, other] = await spansOf(`
    tracer.startActiveSpan('parent', (span) => { kernel(x); span.end() })
    kernel(x)
  `)
  expect([call!.name, parent!.name, other!.name]).toEqual(['rms_norm', 'parent', 'rms_norm'])
  expect([call!.parent, call!.traceId]).toEqual([parent!.id, parent!.traceId])
  expect(other!.parent).toBeUndefined()
  expect(call!.attributes).toEqual({
    'tenon.convention': 'typed',
    'tenon.types': ['float32[1, 4]'],
    'tenon.queue_ns': 0,
    'tenon.run_ns': expect.any(Number) as number,
    'tenon.copied_bytes': 0,
  })
  expect(call!.attributes['tenon.run_ns']).toBeGreaterThan(0)
  expect([call!.status, call!.exceptions]).toEqual([0, []])
})

test('the span of an asynchronous call ends after its promise has settled, and has the parent of its own start', async () => {
  const spans = await spansOf(`
    const begin = (name) => tracer.startActiveSpan(name, (span) => {
      const promise = kernel.async(x)
      span.end()
      return promise
    })
    await Promise.all([begin('first'), begin('second')])
  `)
  expect(spans.map(({ name }) => name)).toEqual(['first', 'second', 'rms_norm', 'rms_norm'])
  const [first, second, ...calls] = spans
  expect(calls.map(({ parent }) => parent).toSorted()).toEqual([first!.id, second!.id].toSorted())
  for (const { attributes, times } of calls) {
    expect(attributes['tenon.run_ns']).toBeGreaterThan(0)
    // The clocks of both differ by less than a millisecond.
    expect(times[1] - times[0]).toBeGreaterThanOrEqual((attributes['tenon.run_ns'] as number) - 1e6)
  }
})

test('the span of a call that fails has the error, also if it is asynchronous', async () => {
  const spans = await spansOf(`
    const fail = Library.open('./libpacked.so').packed('fail_as')
    try { fail('ValueError') } catch {}
    await fail.async('ValueError').catch(() => {})
  `)
  const calls = spans.filter(({ name }) => name === 'fail_as')
  expect(calls.map(({ status }) => status)).toEqual([2, 2])
  for (const { exceptions } of calls)
    expect(exceptions).toMatchObject([
      { 'exception.type': 'TENON_PACKED_FUNC', 'exception.stacktrace': expect.stringContaining('ValueError') },
    ])
})

test('the span of an isolated call has the time in the queue and the worker', async () => {
  const spans = await spansOf(`
    const isolated = await Library.isolate('./libkernels.so')
    const one = isolated.kernel('rms_norm', { signature })
    await Promise.all(Array.from({ length: 100 }, () => one.async(x)))
    await isolated.closeAsync()
  `)
  expect(spans).toHaveLength(100)
  const valuesOf = (name: string): number[] => spans.map(({ attributes }) => attributes[name] as number)
  expect(Math.max(...valuesOf('tenon.queue_ns'))).toBeGreaterThan(0)
  expect(Math.min(...valuesOf('tenon.run_ns'))).toBeGreaterThan(0)
  expect([...new Set(valuesOf('tenon.worker'))]).toEqual([expect.any(Number)])
  expect(new Set(valuesOf('tenon.copied_bytes'))).toEqual(new Set([16]))
})
