/** Writes the calls of a process as a file of Chrome's trace event format, which Perfetto and speedscope open: `TENON_TRACE`. */
import type { Channel } from 'node:diagnostics_channel'
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { CallTrace } from './call-trace.ts'

/** The bytes of events that are written at once, and the time in milliseconds that events wait at most while the event loop runs. */
const FLUSH_SIZE = 2 ** 16
const FLUSH_TIME = 500

/** The largest file in bytes. Tracing ends there, with a warning. */
const MOST_BYTES = 2 ** 30

/** The variable by which the threads and children of a process know its file: the id of the process, a colon and the path. */
const OWNER = 'TENON_TRACE_OWNER'

/** An event of the format. Times are in microseconds of the clock that all processes of the machine share. */
interface TraceEvent {
  readonly name: string
  readonly ph: 'X' | 'b' | 'e' | 'M'
  readonly cat?: string
  readonly ts?: number
  readonly dur?: number
  readonly pid: number
  readonly tid: number
  readonly id?: string
  readonly args?: Readonly<Record<string, unknown>>
}

/** The channels on which calls are over. */
interface Ends {
  readonly end: Channel
  readonly asyncEnd: Channel
}

/**
 * Writes an event for each call from now on. The array of the events has no end, which the format allows, so that the file of a process that
 * crashed is valid, too. Nothing is thrown: what cannot be written is a warning, and ends tracing.
 */
export function traceToFile(file: string, { end, asyncEnd }: Ends): void {
  // Loaded when it is needed, because it takes some milliseconds.
  const { isMainThread, threadId } = process.getBuiltinModule('node:worker_threads')
  const { pid } = process
  const { path, isShared } = pathOf(file, isMainThread, threadId)
  const clock = Number(process.hrtime.bigint()) / 1e3 - performance.now() * 1e3
  /** The ends of the runs of each worker. */
  const workerEnds = new Map<number, number>()
  let descriptor: number
  let texts: string[] = []
  let size = 0
  let total = 0
  let timer: NodeJS.Timeout | undefined
  let calls = 0

  const unsubscribe = (): void => {
    end.unsubscribe(endSync)
    asyncEnd.unsubscribe(endLater)
    clearTimeout(timer)
  }

  const stop = (reason: string): void => {
    unsubscribe()
    texts = []
    process.emitWarning(`Calls are no longer traced to ${path}, the file of TENON_TRACE: ${reason}`, {
      type: 'TenonWarning',
    })
  }

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (texts.length === 0) return
    const text = texts.join('')
    texts = []
    size = 0
    total += text.length
    try {
      writeFileSync(descriptor, text)
    } catch (error) {
      return stop((error as Error).message)
    }
    if (total > MOST_BYTES) stop(`it has ${total} bytes. Trace a shorter time, or fewer calls.`)
  }

  const add = (event: TraceEvent): void => {
    const text = `,\n${JSON.stringify(event)}`
    texts.push(text)
    size += text.length
    if (size >= FLUSH_SIZE) flush()
    else timer ??= setTimeout(flush, FLUSH_TIME).unref()
  }

  /**
   * Adds the run of a call that was made at a time. A worker runs calls one after the other, so a run begins at the earliest time that is
   * possible: after the queue, and after the run before. The time of its answer is not used, because the event loop may receive several answers at once.
   */
  const addWorker = (
    { kernel, convention, worker: process = 0, queueTime, runTime }: CallTrace,
    time: number,
  ): void => {
    if (process === 0 || runTime === 0) return
    if (!workerEnds.has(process))
      add({ name: 'process_name', ph: 'M', pid: process, tid: process, args: { name: `worker of ${pid}` } })
    const ts = Math.max(workerEnds.get(process) ?? 0, time + queueTime / 1e3)
    const dur = runTime / 1e3
    workerEnds.set(process, ts + dur)
    add({ name: kernel, cat: convention, ph: 'X', ts, dur, pid: process, tid: process })
  }

  const endSync = (message: unknown): void => {
    const trace = message as CallTrace
    if (trace.isAsync) return
    const now = clock + performance.now() * 1e3
    const ts = clock + trace.startTime * 1e3
    const place = { pid, tid: threadId }
    add({ name: trace.kernel, cat: trace.convention, ph: 'X', ts, dur: now - ts, ...place, args: argumentsOf(trace) })
    if (trace.worker === undefined) return
    const dur = Math.min(trace.queueTime / 1e3, now - ts)
    // Speedscope ends a slice without a length before it begins, and then shows none of the slices around it.
    if (dur > 0) add({ name: 'queue', cat: 'queue', ph: 'X', ts, dur, ...place })
    addWorker(trace, ts)
  }

  const endLater = (message: unknown): void => {
    const trace = message as CallTrace
    const now = clock + performance.now() * 1e3
    const ts = clock + trace.startTime * 1e3
    const common = { cat: trace.convention, pid, tid: threadId, id: `${threadId}:${++calls}` }
    add({ ...common, name: trace.kernel, ph: 'b', ts, args: argumentsOf(trace) })
    if (trace.worker !== undefined || trace.queueTime > 0) {
      add({ ...common, name: 'queue', ph: 'b', ts })
      add({ ...common, name: 'queue', ph: 'e', ts: Math.min(ts + trace.queueTime / 1e3, now) })
    }
    add({ ...common, name: trace.kernel, ph: 'e', ts: now })
    addWorker(trace, ts)
  }

  try {
    const { O_WRONLY, O_CREAT, O_APPEND } = constants
    descriptor = openSync(path, O_WRONLY | O_CREAT | O_APPEND)
    // Deno refuses to truncate a file that it opens to append, and the file may be a pipe.
    if (!isShared && fstatSync(descriptor).isFile()) ftruncateSync(descriptor)
    const name = isMainThread ? 'main' : `worker thread ${threadId}`
    const first: TraceEvent = { name: 'thread_name', ph: 'M', pid, tid: threadId, args: { name } }
    // The main thread begins the array, so that each further event has a comma before it.
    writeFileSync(descriptor, `${isShared ? ',' : '['}\n${JSON.stringify(first)}`)
  } catch (error) {
    return stop((error as Error).message)
  }
  end.subscribe(endSync)
  asyncEnd.subscribe(endLater)
  process.once('exit', () => {
    unsubscribe()
    flush()
    closeSync(descriptor)
  })
}

/** The arguments of a slice have no times, because speedscope adds up the slices that have the same name and arguments. */
function argumentsOf({ types, copiedBytes, error }: CallTrace): Record<string, unknown> {
  const failure = error === undefined ? {} : { error: error instanceof Error ? error.name : typeof error }
  return { types: types.map(String).join(', '), copiedBytes, ...failure }
}

/**
 * Returns the path for this thread. The main thread of the process that the variable was set for has the path itself, and its threads append
 * to it. Its children, and threads of a program whose main thread does not load the core, have files with their ids in the name.
 */
function pathOf(
  file: string,
  isMainThread: boolean,
  threadId: number,
): { readonly path: string; readonly isShared: boolean } {
  const { pid, env } = process
  const owner = env[OWNER]
  const prefix = `${pid}:`
  if (owner?.startsWith(prefix) === true) return { path: owner.slice(prefix.length), isShared: true }
  const isFirst = owner === undefined && isMainThread
  const id = isMainThread ? `${pid}` : `${pid}-${threadId}`
  const extension = extname(file)
  const path = isFirst ? file : `${file.slice(0, file.length - extension.length)}.${id}${extension}`
  if (isMainThread) env[OWNER] = `${prefix}${path}`
  return { path, isShared: false }
}
