/**
 * The command `pnpm fuzz calls [--signatures N] [--abi sysv-x64|aapcs64|apple-arm64|win64] [--seed N] [--first N]
 * [--compiler gcc|clang]`. Calls random functions that compilers have compiled, lets them call back, and compares every
 * value. The calling convention of this machine is also tested in this process, through the calls of the product.
 */
import { catchMistakes } from './catch-mistakes.ts'
import { fuzzDirectly } from './direct.ts'
import { DirectCore } from './direct-core.ts'
import { DirectProgram } from './direct-program.ts'
import { type Failure, formatFailure } from './failure.ts'
import { type FuzzOptions, readOptions } from './options.ts'
import { fuzzProduct } from './product.ts'
import { signatureRange } from './signatures.ts'
import { hostAbi } from './toolchains.ts'

/** The signatures of one program. */
const CHUNK = 250

/** The signatures in whose plans mistakes are made. */
const MISTAKEN = 100

const ROUNDS = 4

const options = readOptions(process.argv.slice(2))
const { abi, seed, signatures, compilers } = options
process.stdout.write(`${signatures} signatures, ${abi}, ${compilers.join(' and ')}, --seed ${seed}\n`)
const cores: DirectCore[] = []
try {
  for (const compiler of compilers) cores.push(await DirectCore.build(abi, compiler))
  const isRight = (await fuzzAll(options)) && (await findMistakes(options))
  process.exitCode = isRight ? 0 : 1
} finally {
  for (const core of cores) await core.close()
}

async function fuzzAll({ first }: FuzzOptions): Promise<boolean> {
  const start = performance.now()
  const failures: Failure[] = []
  for (let done = 0; done < signatures; done += CHUNK) {
    const chunk = signatureRange(seed, first + done, Math.min(CHUNK, signatures - done))
    for (const core of cores) {
      const { compiler } = core
      if (abi === hostAbi) failures.push(...(await fuzzProduct(chunk, { compiler, seed, rounds: ROUNDS })))
      const program = await DirectProgram.build(core, chunk)
      failures.push(...(await fuzzDirectly(program, { seed, rounds: ROUNDS })))
      await program.close()
    }
    process.stdout.write(`${done + chunk.size} signatures, ${failures.length} failures\n`)
  }
  for (const failure of failures.slice(0, 10)) process.stdout.write(`${formatFailure(failure)}\n`)
  const failed = new Set(failures.map(({ index }) => index)).size
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  process.stdout.write(`${signatures} signatures, ${failed} failed, ${seconds} s\n`)
  return failed === 0
}

async function findMistakes({ first }: FuzzOptions): Promise<boolean> {
  const program = await DirectProgram.build(cores[0]!, signatureRange(seed, first, MISTAKEN))
  const reports = await catchMistakes(program, seed)
  for (const { name, made, found } of reports) process.stdout.write(`${name}: in ${made} plans, found in ${found}\n`)
  return reports.every(({ found }) => found > 0)
}
