/** The same kernel in this process, in a worker, crashing there, and recovering. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Library, tensor, type Tensor } from 'tenon'
import { KernelCrashError } from 'tenon/isolate'
import { nativeLibrary } from './native.ts'

const [WORDS, WIDTH] = [30_000, 256]
/** A token that a defective tokenizer could produce. */
const BROKEN = 2_000_000_000

const say = (text: string): void => console.log(text)

function tokens(...values: number[]): Tensor {
  return tensor('int32', [values.length], values)
}

/** Runs a function and measures its time in milliseconds. */
async function timed<T>(run: () => T | Promise<T>): Promise<[result: T, ms: string]> {
  const start = performance.now()
  const result = await run()
  return [result, (performance.now() - start).toFixed(2)]
}

/** Runs a call that crashes. */
function crashOf(call: () => unknown): KernelCrashError {
  try {
    call()
  } catch (error) {
    if (error instanceof KernelCrashError) return error
    throw error
  }
  throw new Error('the kernel did not crash')
}

// In this process. A crash there is the end of the process, so another one shows it.
const library = Library.open(nativeLibrary())
const table = tensor('float32', [WORDS, WIDTH])
table.view().forEach((_, i, values) => (values[i] = i % 1000))
const expected = library.kernel('lookup')(table, tokens(7, 29_999))
const program = fileURLToPath(new URL('in-process.ts', import.meta.url))
const { signal } = spawnSync(process.execPath, [...process.execArgv, program, String(BROKEN)])
say(`in process:  the token ${BROKEN} ends the process with ${signal}`)

// In a worker, with the same arguments. The table is in shared memory, so it is not copied.
const isolated = await Library.isolate(nativeLibrary(), { deadline: 1000 })
const lookup = isolated.kernel('lookup')
const shared = tensor('float32', [WORDS, WIDTH], table.view(), { allocator: isolated.memory })
const rows = lookup(shared, tokens(7, 29_999))
say(
  `isolated:    the same rows: ${rows.equals(expected)}, ${isolated.metrics().copiedBytes} bytes copied for a table of ${table.type.byteSize}`,
)

const crash = crashOf(() => lookup(shared, tokens(BROKEN)))
say(`crashing:    ${crash.sentence}`)

const [again, ms] = await timed(() => lookup(shared, tokens(7, 29_999)))
say(`recovering:  the next call is right: ${again.equals(expected)} (${ms} ms with the start of a worker)`)
await isolated.closeAsync()

// A token that is only a little too large reads other memory of the worker. Guard mode finds it.
const guarded = await Library.isolate(nativeLibrary(), { guard: true })
const precise = crashOf(() => guarded.kernel('lookup')(table, tokens(WORDS)))
say(`guarded:     ${precise.sentence}`)
await guarded.closeAsync()
library.close()
