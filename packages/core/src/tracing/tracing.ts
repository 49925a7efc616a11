import { channel, type Channel } from 'node:diagnostics_channel'
import type { CallTrace } from './call-trace.ts'
import { passProbes } from './probes.ts'
import { whileStarting } from './queue-time.ts'
import { traceToFile } from './trace-file.ts'

/** Publishes the events of calls. */
interface Tracing {
  /** Whether anything subscribes. Each call asks first, and costs nothing otherwise. */
  isTraced(): boolean
  /** Runs a synchronous call between its events. @throws what the call throws */
  traceCall<T>(trace: CallTrace, run: () => T): T
  /**
   * Makes a call that asked {@link Tracing.isTraced} again, between its events. It is not traced this time, so that the code of a call has one
   * form. It must ask before it runs code of the user.
   */
  traceAgain<T>(trace: CallTrace, call: () => T): T
  /** Starts an asynchronous call between `start` and `end`, and publishes the other events when its promise settles. */
  traceLater<T>(trace: CallTrace, begin: () => Promise<T>): Promise<T>
}

/**
 * The functions of Node.js's tracing channel are not used, because they store the result of a call in its message. The constants of a function are part of the compiled code: see `makeSteps()`.
 */
function makeTracing(): Tracing {
  const channels = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((event) =>
    channel(`tracing:tenon:call:${event}`),
  ) as [Channel, Channel, Channel, Channel, Channel]
  const [start, end, asyncStart, asyncEnd, failed] = channels
  /** The clock is loaded by the first call that is traced. */
  let clock: typeof performance | undefined
  const now = (): number => (clock ??= performance).now()
  const { TENON_TRACE: file, TENON_PROBES: probes } = process.env
  if (file !== undefined && file !== '') traceToFile(file, { end, asyncEnd })
  if (probes === '1') passProbes({ start, end, asyncEnd })

  /** Whether anything subscribes to one of the channels. Asking all five in each call would take 4 ns. */
  let isActive = false
  const look = (): void => {
    isActive = channels.some(({ hasSubscribers }) => hasSubscribers)
  }
  for (const one of channels) onChange(one, look)
  look()

  /** Whether the next call that asks is traced already. */
  let isAgain = false

  const elapsed = ({ startTime }: CallTrace): number => Math.round((now() - startTime) * 1e6)

  const fail = (trace: CallTrace, error: unknown): void => {
    trace.error = error
    failed.publish(trace)
  }

  /** Runs between `start` and `end`, in the asynchronous contexts that subscribers have bound to `start`. */
  const between = <T>(trace: CallTrace, run: () => T): T =>
    start.runStores(trace, () => {
      trace.startTime = now()
      try {
        return run()
      } catch (error) {
        fail(trace, error)
        throw error
      } finally {
        if (!trace.isAsync && trace.worker === undefined) trace.runTime = elapsed(trace)
        end.publish(trace)
      }
    })

  const isFirst = (): boolean => {
    if (!isAgain) return true
    isAgain = false
    return false
  }

  const settle = (trace: CallTrace): void => {
    if (trace.worker === undefined) trace.runTime = elapsed(trace) - trace.queueTime
    asyncStart.publish(trace)
    asyncEnd.publish(trace)
  }

  return {
    isTraced: () => isActive && isFirst(),
    traceCall: between,
    traceAgain: (trace, call) =>
      between(trace, () => {
        isAgain = true
        try {
          return call()
        } finally {
          // The call may have thrown before it asked.
          isAgain = false
        }
      }),
    traceLater: (trace, begin) =>
      between(trace, () => {
        try {
          return whileStarting(trace, begin)
        } catch (error) {
          return Promise.reject(error as Error)
        }
      }).then(
        (value) => {
          settle(trace)
          return value
        },
        (error: unknown) => {
          fail(trace, error)
          settle(trace)
          throw error
        },
      ),
  }
}

/** The methods that change what subscribes to a channel. */
const CHANGES = ['subscribe', 'unsubscribe', 'bindStore', 'unbindStore'] as const

/** Calls a function after each change of what subscribes to a channel. Channels have no event for it, so their methods are wrapped. */
function onChange(one: Channel, changed: () => void): void {
  for (const method of CHANGES) {
    // Another copy of the core may have wrapped it. The method of the prototype differs before and after the first subscriber.
    const wrapped = Object.getOwnPropertyDescriptor(one, method)?.value as ((...args: unknown[]) => unknown) | undefined
    const value = function (this: Channel, ...args: unknown[]): unknown {
      const own = wrapped ?? (Object.getPrototypeOf(this) as Record<typeof method, typeof wrapped>)[method]!
      try {
        return Reflect.apply(own, this, args)
      } finally {
        changed()
      }
    }
    Object.defineProperty(one, method, { value, configurable: true, writable: true })
  }
}

const tracing = makeTracing()
export const isTraced: Tracing['isTraced'] = tracing.isTraced
export const traceCall: Tracing['traceCall'] = tracing.traceCall
export const traceAgain: Tracing['traceAgain'] = tracing.traceAgain
export const traceLater: Tracing['traceLater'] = tracing.traceLater
