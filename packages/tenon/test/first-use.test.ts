import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { methodsByClass } from '@tenon/config/public-methods'
import * as binary from '@tenon/binary'
import * as core from '@tenon/core'
import { TenonError } from '@tenon/core'
import * as customCalls from '@tenon/custom-call'
import * as packed from '@tenon/packed-func'
import * as pools from '../src/entries/pools.ts'
import * as hidl from '@tenon/nnapi/hidl'
import * as scopes from '@tenon/scope'
import * as linker from '@tenon/scope/linker'
import * as arrow from '@tenon/arrow'
import * as tensorFlow from '@tenon/tensorflow'
import * as weights from '@tenon/weights'
import * as strings from '@tenon/tstring'
import { afterAll, expect, test } from 'vitest'
import { cleanUp } from './grammar-makers.ts'
import * as tenon from '../src/index.ts'
import { printed } from './grammar-objects.ts'
import { root } from './reader.ts'

// Some calls write a file with the name x.
const before = process.cwd()
const directory = mkdtempSync(join(tmpdir(), 'tenon-first-use-'))
process.chdir(directory)
afterAll(() => {
  process.chdir(before)
  rmSync(directory, { recursive: true })
  cleanUp()
})

const classes = new Map(
  globSync('packages/*/src/**/*.ts', { cwd: root }).flatMap((path) => [
    ...methodsByClass(readFileSync(join(root, path), 'utf8')),
  ]),
)

/** Methods that end an object, change its owner or keep it open. The other calls need it, and the end of the test closes it. */
const ends = new Set(['acquire', 'close', 'closeAsync', 'detach', 'handoff', 'handOff', 'release', 'unregister'])

/** The names of the public methods of an object. A class may override what its base class hides. */
function methodsOf(object: object): string[] {
  const names = new Set<string>()
  const hidden = new Set(ends)
  for (let at = object; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at) as object) {
    if (!Object.hasOwn(at, 'constructor')) continue
    const known = classes.get((at.constructor as { readonly name: string }).name)
    for (const name of known?.public ?? []) names.add(name)
    for (const name of known?.hidden ?? []) hidden.add(name)
  }
  return [...names].filter(
    (name) => !hidden.has(name) && typeof (object as Record<string, unknown>)[name] === 'function',
  )
}

/** Methods that do not check their arguments, with the reason. */
const unchecked: Readonly<Record<string, string>> = {
  // segment.get() and segment.set() check the segment, and call these in a few nanoseconds.
  read: 'Layout',
  write: 'Layout',
}

const values: readonly unknown[][] = [
  [],
  [null],
  ['x'],
  [''],
  [{}],
  [[]],
  [[null]],
  [-1],
  [1.5],
  [0n],
  [Symbol('s')],
  [() => undefined],
]

/** The objects that keep the object of the call open, by the first word of their text. */
const opens = new Set(['CudaStream', 'CudaEvent', 'DeviceMemory', 'Burst'])

/** Returns the error of a call, or undefined. A promise that does not settle soon waits for something valid. */
async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    const called = call()
    const soon = new Promise((resolve) => setTimeout(resolve, 50))
    const result = called instanceof Promise ? await Promise.race([called, soon]) : called
    if (typeof result === 'object' && opens.has(String(result).split(' ')[0]!)) (result as Disposable)[Symbol.dispose]()
    return undefined
  } catch (error) {
    return error
  }
}

const show = (value: unknown): string =>
  typeof value === 'function'
    ? 'a function'
    : typeof value === 'string'
      ? `'${value}'`
      : String(Object(value) === value ? JSON.stringify(value) : String(value))

/** Whether an error is one of ours, or has a code of Node.js, as those of files have. */
const isExplained = (error: unknown): boolean =>
  error === undefined || error instanceof TenonError || typeof (error as Error & { code?: unknown }).code === 'string'

test('every method of a public object explains wrong arguments', { timeout: 120_000 }, async () => {
  const raw: string[] = []
  let count = 0
  for (const [name, object] of Object.entries(await printed())) {
    if (object === null || (typeof object !== 'object' && typeof object !== 'function')) continue
    for (const method of methodsOf(object)) {
      if (name.endsWith(unchecked[method] ?? ' ')) continue
      for (const args of values) {
        count += 1
        const error = await errorOf(() => (object as Record<string, (...args: unknown[]) => unknown>)[method]!(...args))
        if (!isExplained(error)) raw.push(`${name}.${method}(${args.map(show).join(', ')}): ${String(error)}`)
      }
    }
  }
  expect(count).toBeGreaterThan(1000)
  expect(raw).toEqual([])
})

/** Functions that start processes or threads, and defineKind(), which changes classes. */
const processWide = new Set(['spawnDriver', 'serveDriver', 'connectDriver', 'workerDriver', 'defineKind'])

/** The records of NNAPI's HIDL interface, which programs make, are not checked before they are converted. */
const isRecord = (name: string): boolean =>
  /hidl$/i.test(name) || /^(?:de|en)code(?:NativeHandle|BufferDescription)$/.test(name)

test('every exported function explains wrong arguments', { timeout: 120_000 }, async () => {
  const raw: string[] = []
  const modules = [
    tenon,
    core,
    scopes,
    linker,
    customCalls,
    packed,
    strings,
    tensorFlow,
    arrow,
    weights,
    pools,
    hidl,
    binary,
  ]
  const exported = new Map(modules.flatMap((module) => Object.entries(module as Record<string, unknown>)))
  for (const [name, value] of exported) {
    const isClass = typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value))
    if (typeof value !== 'function' || isClass || processWide.has(name) || isRecord(name)) continue
    for (const args of values) {
      const error = await errorOf(() => (value as (...args: unknown[]) => unknown)(...args))
      if (!isExplained(error)) raw.push(`${name}(${args.map(show).join(', ')}): ${String(error)}`)
    }
  }
  expect(exported.size).toBeGreaterThan(200)
  expect(raw).toEqual([])
})
