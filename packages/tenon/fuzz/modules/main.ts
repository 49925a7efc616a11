/**
 * The command `pnpm fuzz modules [--signatures N] [--seed N]`, which generates a library of functions with random signatures, binds it with
 * `tenon bind`, and calls every function through the module, in this process and in a worker. The library checks a hash of all arguments.
 */
import { parseArgs } from 'node:util'

import { runFunctions } from './run-functions.ts'

const { values } = parseArgs({
  options: {
    signatures: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
})
const [count, seed] = [Number(values.signatures), Number(values.seed)]
process.stdout.write(`${count} functions, --seed ${seed}\n`)
for (const compiler of ['gcc', 'clang']) {
  const { summary, types, output, isolated, isolatable } = runFunctions(seed, count, compiler)
  process.stdout.write(
    `${compiler}: ${summary.trim().split('\n').slice(-2).join('; ')}\n${types}${output}in a worker: ${isolated}`,
  )
  const isRight = types === '' && output === `${count} functions\n` && isolated === `${isolatable} functions\n`
  if (!isRight) process.exitCode = 1
}
