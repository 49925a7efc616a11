import { parseArgs } from 'node:util'

import type { Abi } from '../../src/native/call/call-plan.ts'
import { type CompilerName, hostAbi } from './toolchains.ts'

export interface FuzzOptions {
  readonly signatures: number
  /** The number of the first signature, to run one of an earlier run again. */
  readonly first: number
  readonly abi: Abi
  readonly seed: number
  readonly compilers: readonly CompilerName[]
}

const abis: readonly Abi[] = ['sysv-x64', 'aapcs64', 'apple-arm64', 'win64']

/** @throws {Error} that names the option which is not valid. */
export function readOptions(args: readonly string[]): FuzzOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      signatures: { type: 'string', default: '1000' },
      first: { type: 'string', default: '0' },
      abi: { type: 'string', default: hostAbi ?? 'sysv-x64' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      compiler: { type: 'string' },
    },
  })
  const abi = oneOf('--abi', values.abi, abis)
  const compiler = values.compiler === undefined ? undefined : oneOf('--compiler', values.compiler, ['gcc', 'clang'])
  // Only clang knows Apple's convention on other systems.
  const known: readonly CompilerName[] = abi === 'apple-arm64' ? ['clang'] : ['gcc', 'clang']
  return {
    signatures: wholeNumber('--signatures', values.signatures, 1),
    first: wholeNumber('--first', values.first, 0),
    seed: wholeNumber('--seed', values.seed, 0),
    abi,
    compilers: compiler === undefined ? known : [compiler],
  }
}

function oneOf<Word extends string>(name: string, word: string, words: readonly Word[]): Word {
  const found = words.find((one) => one === word)
  if (found !== undefined) return found
  throw new Error(`${name} must be one of ${words.join(', ')}, got ${word}`)
}

function wholeNumber(name: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`${name} must be a whole number from ${least}, got ${text}`)
}
