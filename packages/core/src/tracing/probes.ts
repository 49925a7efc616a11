/** Passes the calls of a process to tracers of the system, such as bpftrace and perf, through probes of the core: `TENON_PROBES`. */
import type { Channel } from 'node:diagnostics_channel'
import { coreFunctions } from '../native/core-library.ts'
import { addressOf } from '../native/native-memory.ts'
import type { CallTrace } from './call-trace.ts'

/** The names of kernels and conventions that are kept as texts of C. */
const MOST_TEXTS = 1024

/** The channels on which calls begin and end. */
interface Ends {
  readonly start: Channel
  readonly end: Channel
  readonly asyncEnd: Channel
}

/** A text of C, which lives as long as its bytes. */
interface Text {
  readonly bytes: Uint8Array
  readonly address: number
}

function textOf(text: string): Text {
  const bytes = Buffer.from(`${text}\0`)
  return { bytes, address: addressOf(bytes) }
}

function checkProbes(): void {
  if (coreFunctions().tn_probes_exist() === 1) return
  const reason = 'this build of the core has no probes, because it was compiled where sys/sdt.h is missing'
  process.emitWarning(`TENON_PROBES has no effect: ${reason}`, { type: 'TenonWarning' })
}

/** Passes the probes of the begin and the end of each call from now on. A warning says that the core was built without probes. */
export function passProbes({ start, end, asyncEnd }: Ends): void {
  const texts = new Map<string, Text>()
  const addressOfText = (text: string): number => {
    const known = texts.get(text) ?? textOf(text)
    // A text that is used is the last one to be removed.
    texts.delete(text)
    texts.set(text, known)
    if (texts.size > MOST_TEXTS) texts.delete(texts.keys().next().value!)
    return known.address
  }
  const numbers = new WeakMap<CallTrace, number>()
  let calls = 0
  let isChecked = false
  start.subscribe((message) => {
    if (!isChecked) checkProbes()
    isChecked = true
    const trace = message as CallTrace
    numbers.set(trace, ++calls)
    coreFunctions().tn_probe_begin(addressOfText(trace.kernel), addressOfText(trace.convention), calls)
  })
  const finish = (trace: CallTrace): void => {
    const { kernel, convention, queueTime, runTime, error } = trace
    const call = numbers.get(trace) ?? 0
    const failed = error === undefined ? 0 : 1
    coreFunctions().tn_probe_end(addressOfText(kernel), addressOfText(convention), call, queueTime, runTime, failed)
  }
  end.subscribe((message) => void ((message as CallTrace).isAsync || finish(message as CallTrace)))
  asyncEnd.subscribe((message) => finish(message as CallTrace))
}
