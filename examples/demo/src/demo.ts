/** Inspects a library, calls its kernels on arrays from files and from TypeScript, and shows how failures are reported. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { kernelLibrary } from '@tenon/kernels'
import { readNpy, type Tensor } from 'tenon'
import { callFromTypeScript } from './from-typescript.ts'
import { callPacked } from './packed-functions.ts'
import { checkClose, rmsNorm } from './reference.ts'
import { commandLine, tenon } from './tenon-command.ts'
import { formatNs } from './timing.ts'

const data = (name: string): string => fileURLToPath(new URL(`../data/${name}.npy`, import.meta.url))
const kernels = kernelLibrary('kernels')
const readFloats = (path: string): Tensor<'float32'> => readNpy(path).as('float32')
const say = (text: string): void => console.log(text)

function inspect(directory: string): void {
  say('\n1. What is in the library?')
  const args = ['inspect', kernels]
  say(commandLine(args))
  const report = JSON.parse(tenon(directory, [...args, '--json']).stdout) as {
    format: string
    arch: string
    needed: string[]
    kernels: { name: string; convention: string; signature: string }[]
  }
  const shown = report.kernels.find(({ name }) => name === 'rms_norm')
  say(`  ${report.format.toUpperCase()} library for ${report.arch}, needs ${report.needed.join(', ')}`)
  say(`  ${report.kernels.length} kernels, among them ${shown?.name} ${shown?.signature.split(' -- ')[0]}`)
}

function normaliseFiles(directory: string, iris: Tensor<'float32'>): void {
  say('\n2. Normalise the measurements of 150 irises, from file to file')
  const args = ['call', kernels, 'rms_norm', '--arg', data('iris'), '--eps', '1e-5', '--out', 'y=y.npy']
  say(commandLine(args))
  tenon(directory, args)
  const y = readFloats(join(directory, 'y.npy'))
  const [from, to] = [iris, y].map((source) =>
    source
      .slice(0)
      .toArray()
      .map((value) => value.toFixed(3)),
  )
  const expected = rmsNorm(iris.view(), 4, Math.fround(1e-5))
  const difference = checkClose(y.view(), expected, 1e-6)
  say(`  the first one: [${from!.join(', ')}] becomes [${to!.join(', ')}]`)
  say(`  all are within ${difference.toExponential(1)} of an independent computation in double precision`)
}

function fromTypeScript(iris: Tensor<'float32'>): void {
  say(
    '\n3. The same from TypeScript, and A[i] = B[i % 128] + C[i] on 32 images of digits, in the newest and the oldest',
  )
  say('   convention. One run includes the call. Both sides write to memory that was allocated before.')
  say('  kernel          largest difference   one run   the same in TypeScript')
  for (const outcome of callFromTypeScript(
    kernels,
    iris,
    readFloats(data('digits-mean')),
    readFloats(data('digits')),
  )) {
    const { name, difference, nativeNs, scriptNs } = outcome
    const cells = [
      difference.toExponential(1).padStart(18),
      formatNs(nativeNs).padStart(8),
      formatNs(scriptNs).padStart(23),
    ]
    say(`  ${name.padEnd(14)}  ${cells.join('  ')}`)
  }
}

function packedFunctions(directory: string, iris: Tensor<'float32'>): void {
  say('\n4. Packed functions of TVM without TVM, from the command line and from TypeScript')
  const library = kernelLibrary('packed')
  const args = ['call', library, 'sum', '--arg', 'int:1', '--arg', 'float:1.5']
  say(commandLine(args))
  say(`  ${tenon(directory, args).stdout.trimEnd()}`)
  for (const line of callPacked(library, iris)) say(`  ${line}`)
}

function failures(directory: string): void {
  say('\n5. Failures have a message and an exit code: 1 for the input, 2 for the command line, 3 for the kernel')
  const calls: readonly [code: number, args: string[]][] = [
    [1, ['call', kernels, 'broadcast_add', '--arg', 'b=y.npy', '--arg', `c=${data('digits')}`]],
    [3, ['call', kernels, 'fail_with', '--attr', 'code=s32:8', '--attr', 'message=str:the table is full']],
    [3, ['call', kernelLibrary('kernels_cpp'), 'throw_runtime_error', '--attr', 'message=str:thrown in C++']],
  ]
  for (const [code, args] of calls) {
    const { stderr } = tenon(directory, args, code)
    say(commandLine(args))
    say(stderr.trimEnd().replaceAll(/^/gm, '  '))
    say(`  exit code ${code}`)
  }
}

const system = `${process.platform} ${process.arch}, Node ${process.versions.node}`
const directory = mkdtempSync(join(tmpdir(), 'tenon-demo-'))
try {
  say(`Tenon: kernels compiled from C and C++, called from TypeScript (${system})`)
  const iris = readFloats(data('iris'))
  inspect(directory)
  normaliseFiles(directory, iris)
  fromTypeScript(iris)
  packedFunctions(directory, iris)
  failures(directory)
} finally {
  rmSync(directory, { recursive: true })
}
