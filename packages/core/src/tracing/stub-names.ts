/** Gives names to generated machine code in `perf`, which reads the names of code without a file from `perf-PID.map`. */
import { closeSync, constants, openSync, readdirSync, readlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { coreFunctions } from '../native/core-library.ts'

/** `--perf-basic-prof`, with which V8 writes the map, and `--perf-prof`, with which it writes a file for `perf inject`; also with a suffix. */
const PERF = /(?:^|\s)--perf-(?:basic-)?prof(?:-only-functions|=true)?(?:\s|$)/

/** The directory in which perf looks for maps. */
const DIRECTORY = '/tmp'

/** The bytes of the code of a stub. */
const STUB_BYTES = process.arch === 'arm64' ? 32 : 16

const isNamed = process.platform === 'linux' && isForPerf(process.execArgv, process.env['NODE_OPTIONS'])

export function isForPerf(flags: readonly string[], options = ''): boolean {
  return [...flags, options].some((text) => PERF.test(text))
}

/** Has stubs made in generated code, if perf reads names. Their code is that of the library otherwise, of which perf has no names of stubs. */
export function prepareStubNames(): void {
  if (isNamed) coreFunctions().tn_stubs_generate()
}

/** Names the stub at an address after its function. It costs nothing if the process runs without the flags of perf. */
export function nameStub(address: number, named: { readonly name: unknown }): void {
  if (!isNamed) return
  try {
    // The name of a function may be anything, or a getter.
    const name = String(named.name).replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '?') || '(anonymous)'
    const line = `${address.toString(16)} ${STUB_BYTES.toString(16)} stub ${name}\n`
    const descriptor = findMap()
    if (descriptor !== undefined) writeSync(Number(descriptor), line)
    else appendLine(line)
  } catch {
    // A profile without the name is better than no stub.
  }
}

/**
 * The descriptor of V8, which writes whole lines to the map, each with one call of the system. It has no O_APPEND, so lines that another
 * descriptor appends are overwritten by V8; those through its own descriptor move the offset that V8 writes at.
 */
function findMap(): string | undefined {
  if (lastMap === undefined || !isMap(lastMap)) lastMap = readdirSync('/proc/self/fd').find(isMap)
  return lastMap
}

/** The descriptor that was found last, which usually is that of the next stub. */
let lastMap: string | undefined

function isMap(descriptor: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).endsWith(`/perf-${process.pid}.map`)
  } catch {
    // The descriptor of a listing is closed after it.
    return false
  }
}

/** Adds a line to the map, which V8 does not write with `--perf-prof` alone. A link that somebody else has made is not followed. */
function appendLine(line: string): void {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  const path = join(DIRECTORY, `perf-${process.pid}.map`)
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
  try {
    writeSync(descriptor, line)
  } finally {
    closeSync(descriptor)
  }
}
