import { resolve } from 'node:path'
import { NativeError, UnsupportedError } from '../errors/kinds.ts'
import { STATUS } from '../generated/status.ts'
import { coreFunctions, coreLibrary, lastError } from '../native/core-library.ts'
import { addressOf, keepAlive } from '../native/native-memory.ts'
import { recordCalls } from './call-records.ts'

/**
 * Starts to report crashes of native calls, in a directory. The driver of this thread is open.
 *
 * @throws {UnsupportedError} on systems without reports. @throws {NativeError} if the system refuses the handlers
 */
export function startReports(directory: string): void {
  const text = Buffer.from(resolve(directory))
  const about = Buffer.from(describeProcess())
  const status = coreFunctions().tn_crash_report_install(addressOf(text), text.length, addressOf(about), about.length)
  keepAlive(text)
  keepAlive(about)
  if (status === STATUS.OK.value) return recordCalls()
  const sentence = `crashes cannot be reported: ${lastError()}`
  if (status !== STATUS.UNSUPPORTED.value) throw new NativeError(sentence)
  throw new UnsupportedError(sentence, {
    hint: 'Run the kernel with Library.isolate(), whose errors describe crashes.',
  })
}

/** The members of the report that are known beforehand. */
function describeProcess(): string {
  const { version: node, platform, arch } = process
  return JSON.stringify({ tenon: coreLibrary().version, node, platform, arch }).slice(1, -1)
}

/** Does for a thread whose driver was opened what TENON_CRASH_REPORT and its process say. What does not work is a warning. */
export function reportCrashesOfThread(): void {
  const { TENON_CRASH_REPORT: value = '' } = process.env
  try {
    if (value !== '' && value !== '0') startReports(value === '1' ? '.' : value)
    else if (coreFunctions().tn_crash_report_is_installed() !== 0) recordCalls()
  } catch (error) {
    process.emitWarning(`TENON_CRASH_REPORT has no effect: ${(error as Error).message}`, { type: 'TenonWarning' })
  }
}
