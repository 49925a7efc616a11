import { wrongType } from '../errors/check-arguments.ts'
import { checkOptions } from '../errors/check-options.ts'
import { threadDriver } from '../native/call/thread-driver.ts'
import { startReports } from './crash-reporter.ts'

/**
 * Has crashes of native calls reported: a fatal signal inside of one prints a page to standard error, and writes a JSON file, which
 * `tenon report` prints with functions and lines. Both have the kernel, the types of its operands and the JavaScript stack of the caller.
 * The process then ends as it would have without. `TENON_CRASH_REPORT=1` does the same.
 *
 * Call it before other functions of Tenon: it reports the crashes of this thread, and of the threads that make their first call of native
 * code afterwards. Each call takes some 20 µs more, in which the stack of JavaScript is written down.
 *
 * @param options `directory`: where files are written, the current directory by default. A second call replaces it.
 * @throws {UnsupportedError} on other systems than Linux with glibc on x64 and arm64. @throws {NativeError} if the system refuses the
 * handlers, or 1024 threads are reported.
 * @example
 * if (process.env.NODE_ENV === 'production') installCrashReporter({ directory: '/var/log/app' })
 */
export function installCrashReporter(options?: { readonly directory?: string }): void {
  const { directory = '.' } = checkOptions(options, ['directory'])
  if (typeof directory !== 'string' || directory === '') throw wrongType('directory', 'a path', directory)
  threadDriver()
  startReports(directory)
}
