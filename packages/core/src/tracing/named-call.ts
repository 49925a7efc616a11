/** Gives the time of native code to functions with the names of kernels, for profilers of JavaScript. */

/** Flags of Node.js whose profiles name functions: `--cpu-prof`, `--prof`, `--perf-basic-prof`, `--inspect` and those with a suffix. */
const PROFILES = /(^|\s)--(cpu-prof|prof|perf-|inspect|interpreted-frames-native-stack)/

/**
 * Whether native code is called through a function with the name of the kernel. It is constant, so that calls are set up without that
 * function otherwise.
 */
export const profiling: boolean = isProfiling(process.env, process.execArgv)

export function isProfiling({ TENON_PROFILE, NODE_OPTIONS }: NodeJS.ProcessEnv, flags: readonly string[]): boolean {
  if (TENON_PROFILE === '0' || TENON_PROFILE === '1') return TENON_PROFILE === '1'
  return [...flags, NODE_OPTIONS ?? ''].some((text) => PROFILES.test(text))
}

type NamedCall = <T, A extends readonly unknown[]>(enter: (...args: A) => T, ...args: A) => T

/** The functions for the names that were used last. */
const known = new Map<string, NamedCall>()
const MOST_NAMES = 1024

/**
 * Calls a function from one with a name. Profilers print the name that a function has in its source, and not its property `name`, so the
 * function is compiled for the name.
 */
export function callNamed<T, A extends readonly unknown[]>(name: string, enter: (...args: A) => T, ...args: A): T {
  let call = known.get(name)
  if (call === undefined) {
    call = compile(name)
    const [oldest] = known.keys()
    if (known.size === MOST_NAMES) known.delete(oldest!)
    known.set(name, call)
  }
  return call(enter, ...args)
}

/** Text is run as a script, because `new Function()` is not allowed with `--disallow-code-generation-from-strings`. */
function compile(name: string): NamedCall {
  // Loaded when it is needed, because Node.js does not load it itself.
  const { runInThisContext } = process.getBuiltinModule('node:vm')
  const quoted = JSON.stringify(name)
  const source = `({ ${quoted}(enter, ...args) { return enter(...args) } })[${quoted}]`
  return runInThisContext(source, { filename: 'tenon:kernels' }) as NamedCall
}
