import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { KernelDeadlineError, NativeError, QueueFullError, ScopeClosedError, type TenonError } from '@tenon/core'
import { CONSTANTS, STATUS, type RemoteAnswer, type RemoteWorker } from '@tenon/core/internal'
import { coreFileOf, debuggerCommand } from './core-file.ts'
import { type CrashReport, FAULTS, reportCrash } from './crash-report.ts'
import { CrashLoopError, KernelCrashError, KernelMemoryError, WorkerLostError } from './errors.ts'
import type { Execution } from './execution.ts'
import type { RestartLimits } from './restart-policy.ts'
import { programOf } from './host-program.ts'
import type { Settings } from './settings.ts'
import type { WorkerDetails } from './worker-call.ts'
import { outputSince, restOfOutput } from './worker-output.ts'
import type { ProcessEnd } from './worker-process.ts'
import type { Worker } from './worker.ts'

/** The time in ms between two values of `performance.now()`, in whole microseconds, because more digits are noise. */
export function elapsedTime(since: number, now: number): number {
  return Math.round((now - since) * 1000) / 1000
}

/** How far a call came before its deadline. */
export type DeadlineStage = 'queued' | 'cancelled' | 'killed'

/** The details of an error of a call that this worker has. */
export function detailsOf(worker: Worker, { call, outputMark }: Execution): WorkerDetails {
  const { index, process, host } = worker
  return { kernel: call.kernel.name, worker: { index, process }, output: outputSince(host.memory, outputMark) }
}

/** The subject of an error of a call: its kernel, or the load of its library, which runs the library's constructors. */
function subjectOf({ call: { kernel }, isLoad }: Execution, worker: Worker | undefined): string {
  if (isLoad || worker?.isLoading(kernel) !== true) return kernel.name
  return `loading ${basename(kernel.library)} for ${kernel.name}`
}

/**
 * @param worker the worker that has the call, whose memory can still be read.
 * @param isRestarting whether the call had no worker because those that crashed had not been replaced.
 */
export function deadlineError(
  execution: Execution,
  stage: DeadlineStage,
  now: number,
  worker?: Worker,
  isRestarting = false,
): KernelDeadlineError {
  const { call, deadline, startedAt } = execution
  const { name } = call.kernel
  const isQueued = stage === 'queued'
  const end = stage === 'cancelled' || stage === 'killed' ? ` and was ${stage}` : ''
  const details = worker === undefined ? { kernel: name, output: '' } : detailsOf(worker, execution)
  return new KernelDeadlineError(
    `${subjectOf(execution, worker)} did not ${isQueued ? 'begin' : 'finish'} within ${deadline} ms${end}`,
    {
      hint: isRestarting
        ? 'The workers crashed, and start again after restart.backoff ms at most: find the crash, or set a longer deadline.'
        : isQueued
          ? 'Use more workers, make fewer calls at a time, or set a longer deadline.'
          : 'Set a longer deadline, or let the kernel read tn_cancelled() and return.',
      details: { ...details, deadline, elapsed: elapsedTime(startedAt, now), stage },
    },
  )
}

/** A call failed after an allocation was refused, or its worker was found above the limit. */
export function memoryError(
  execution: Execution,
  details: WorkerDetails,
  limit: number,
  measured: { readonly refusedBytes: number } | { readonly used: number },
  cause?: unknown,
): KernelMemoryError {
  const { name } = execution.call.kernel
  const isRefused = 'refusedBytes' in measured
  const sentence = isRefused
    ? `${name} needed ${measured.refusedBytes} bytes more than the ${limit} bytes that its worker may have`
    : `${name} used ${measured.used} bytes, and its worker may have ${limit} bytes`
  return new KernelMemoryError(sentence, {
    hint: 'Set a higher limit with the option memory.',
    details: { ...details, limit, ...measured, source: isRefused ? 'rlimit' : 'watch' },
    ...(cause === undefined ? {} : { cause }),
  })
}

/**
 * Makes the error of a call whose worker has ended, while the memory of the worker can be read.
 *
 * @param execution the call that had begun, or undefined if none had.
 */
export function crashError(
  worker: Worker,
  execution: Execution | undefined,
  end: ProcessEnd,
  settings: Settings,
): KernelCrashError | KernelMemoryError {
  const { memory, output } = worker.host
  const { refusedBytes } = memory
  const { index, process, previous, fault } = worker
  const mark = execution?.outputMark ?? 0
  const details: WorkerDetails = {
    kernel: execution?.call.kernel.name ?? '',
    worker: { index, process },
    output: outputSince(memory, mark) + restOfOutput(output),
  }
  const isLoading = execution !== undefined && worker.isLoading(execution.call.kernel)
  const modules = worker.codeModules(isLoading)
  const operands = execution?.call.operands
  const report = reportCrash({ end, header: memory.copyHeader(), modules, operands, fault })
  if (!worker.isReady) return startError(report, details)
  const debug = settings.coreDumps && end.kind === 'signal' ? debugDetails(worker, end, settings) : {}
  const subject = execution === undefined ? 'a worker' : subjectOf(execution, worker)
  const crash = new KernelCrashError(`${subject} ${report.sentence}`, {
    hint: isLoading ? LOAD_HINT : hintOf(report.details, previous, settings),
    details: {
      ...details,
      ...report.details,
      ...argumentsOf(execution),
      ...debug,
      previous: [...previous],
    },
  })
  if (execution === undefined || refusedBytes === 0 || settings.memory === 0) return crash
  return memoryError(execution, details, settings.memory, { refusedBytes }, crash)
}

/** The core file of a worker, and the command that opens it. */
function debugDetails(
  { process, startedAt }: Worker,
  { value }: ProcessEnd,
  settings: Settings,
): { readonly coreFile?: string; readonly debugger?: string } {
  const coreFile = coreFileOf(process, value, performance.timeOrigin + startedAt)
  const command = debuggerCommand(process, programOf(settings), coreFile)
  return {
    ...(coreFile === undefined ? {} : { coreFile }),
    ...(command === undefined ? {} : { debugger: command }),
  }
}

/** The arguments of the call. Those that cannot be described, such as a revoked Proxy, are left out. */
function argumentsOf(execution: Execution | undefined): { readonly arguments?: readonly string[] } {
  try {
    const described = execution?.call.describeArguments?.()
    return described === undefined ? {} : { arguments: described }
  } catch {
    return {}
  }
}

/** The error of a worker that ended before it was ready, which is no fault of a kernel. */
function startError({ sentence, details }: CrashReport, worker: WorkerDetails): KernelCrashError {
  const reason = worker.output.trim().split('\n').at(-1)
  const hint = existsSync('/proc/self/exe')
    ? 'Read details.output.'
    : 'Mount /proc, through which the dynamic loader finds the libraries beside the program of the worker.'
  return new KernelCrashError(`a worker could not start, because it ${sentence}${reason ? `: ${reason}` : ''}`, {
    hint,
    details: { ...worker, ...details, previous: [] },
  })
}

const LOAD_HINT =
  'Find the constructor of the library, which runs while the library is loaded, in details.backtrace or details.output.'

/** The addresses below it are those of fields and elements at a null pointer: systems map no page there. */
const FIRST_PAGE = 4096

/** What to do about a worker that ended in this way. */
function hintOf(
  { signal, exitCode, stackOverflow, address }: CrashReport['details'],
  previous: readonly string[],
  { guard, recycle }: Settings,
): string {
  if (exitCode !== undefined) return 'Let the kernel return an error instead of ending its process or its thread.'
  if (stackOverflow === true) return 'Use less recursion, or smaller local variables, in the kernel.'
  if (signal === 'SIGKILL') return 'Look in the log of the system for a lack of memory.'
  const isNull = address !== undefined && Number(address) < FIRST_PAGE
  const mayGuard = !guard && !isNull && (signal === undefined || FAULTS.has(signal))
  const first = mayGuard
    ? 'Use guard: true to find accesses outside of operands.'
    : isNull
      ? 'Find the null pointer with details.backtrace.'
      : 'Read details.backtrace.'
  if (previous.length === 0 || recycle === 1) return first
  return `${first} An earlier call on this worker may have damaged its memory: see details.previous, and use recycle: 1.`
}

/** A call lost its worker twice before it had begun. */
export function lostError(
  execution: Execution,
  details: Readonly<Record<string, unknown>>,
  cause: unknown,
): WorkerLostError {
  const { name } = execution.call.kernel
  return new WorkerLostError(`${name} lost its worker before it had begun`, {
    hint: 'Make the call again. The cause is the end of the worker.',
    details: { ...details, kernel: name, output: '' },
    cause,
  })
}

/** The worker whose memory a call needs has ended. */
export function goneError(execution: Execution, worker: RemoteWorker): WorkerLostError {
  const { name } = execution.call.kernel
  return new WorkerLostError(`${name} needs memory of process ${worker.process}, which has ended`, {
    hint: 'Make the pointers that are passed again, in the new process.',
    details: { kernel: name, worker, output: '' },
  })
}

/** @param isStart whether the last worker ended before it was ready. */
export function loopError(
  kernel: string,
  crashes: number,
  { limit, window }: RestartLimits,
  cause: unknown,
  isStart: boolean,
): CrashLoopError {
  if (isStart) {
    const { sentence = String(cause), hint = 'Look at the cause.' } = cause as Partial<TenonError>
    return new CrashLoopError(`the workers cannot be started: ${sentence}`, {
      hint: `${hint} Then call restart(), or isolate the library again.`,
      details: { kernel, output: '', crashes, window, last: cause },
      cause,
    })
  }
  return new CrashLoopError(
    `the workers must not crash more than ${limit} times within ${window} ms, got ${crashes} crashes`,
    {
      hint: 'Look at the cause, and call restart() to start the workers again.',
      details: { kernel, output: '', crashes, window, last: cause },
      cause,
    },
  )
}

/** The queue has no room for a call. @param queue the most calls that wait */
export function fullError({ call }: Execution, queue: number): QueueFullError {
  return new QueueFullError(`the queue of the workers must have at most ${queue} calls`, {
    hint: 'Wait for the promises of earlier calls, use more workers, or set the option queue.',
    details: { queue, kernel: call.kernel.name },
  })
}

/** Each worker that can run a call waits for a function of this thread, which makes the call. */
export function stuckError({ call }: Execution): NativeError {
  const { name } = call.kernel
  return new NativeError(`${name} cannot run, because all workers wait for the function that calls it`, {
    hint: 'Use more workers, or call the asynchronous form and return.',
    details: { status: 'DEADLOCK', kernel: name },
  })
}

export function closedError(): ScopeClosedError {
  return new ScopeClosedError('the workers are closed', {
    hint: 'Make calls before closeAsync(), or isolate the library again.',
  })
}

const { SYSTEM, OUT_OF_MEMORY, NOT_FOUND } = STATUS

/** Whether a worker could not prepare a call for a reason that each further call may have. */
export function isExhausted({ preparation, known }: Execution, { error, status }: RemoteAnswer): boolean {
  if (error !== CONSTANTS.TN_HOST_REQUEST_ERROR) return false
  // The memory was announced for an earlier call, and the worker could not keep it.
  const lacksMemory = status === NOT_FOUND.value && known?.failure === undefined
  return preparation !== undefined || status === SYSTEM.value || status === OUT_OF_MEMORY.value || lacksMemory
}
