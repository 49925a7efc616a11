/**
 * The command `pnpm fuzz door [--signatures N] [--abi sysv-x64|aapcs64|apple-arm64|win64] [--seed N] [--first N]
 * [--compiler gcc|clang]`. Calls random functions that compilers have compiled, lets them call back, and compares every
 * value. The calling convention of this machine is also tested in this process, through the calls of the product.
 */
import { catchMistakes } from './catch-mistakes.ts'
import { fuzzDirectly } from './direct.ts'
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
const isRight = (await fuzzAll(options)) && (await findMistakes(options))
process.exitCode = isRight ? 0 : 1

async function fuzzAll({ first }: FuzzOptions): Promise<boolean> {
  const start = performance.now()
  const failures: Failure[] = []
  for (let done = 0; done < signatures; done += CHUNK) {
    const chunk = signatureRange(seed, first + done, Math.min(CHUNK, signatures - done))
    for (const compiler of compilers) {
      if (abi === hostAbi) failures.push(...(await fuzzProduct(chunk, { compiler, seed, rounds: ROUNDS })))
      const program = await DirectProgram.build(abi, compiler, chunk)
      try {
        failures.push(...(await fuzzDirectly(program, { seed, rounds: ROUNDS })))
      } finally {
        await program.close()
      }
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
  const program = await DirectProgram.build(abi, compilers[0]!, signatureRange(seed, first, MISTAKEN))
  try {
    const reports = await catchMistakes(program, seed)
    for (const { name, made, found } of reports) process.stdout.write(`${name}: in ${made} plans, found in ${found}\n`)
    return reports.every(({ found }) => found > 0)
  } finally {
    await program.close()
  }
}
