import { readdirSync, readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import * as binary from '@tenon/binary'
import * as core from '@tenon/core'
import * as coreErrors from '@tenon/core/errors'
import * as coreTesting from '@tenon/core/testing'
import * as customCalls from '@tenon/custom-call'
import * as koffiBridge from '@tenon/core/koffi'
import * as packed from '@tenon/packed-func'
import * as isolate from '@tenon/isolate'
import * as nnapi from '@tenon/nnapi'
import * as pools from '../src/entries/pools.ts'
import * as hidl from '@tenon/nnapi/hidl'
import * as scopes from '@tenon/scope'
import * as bind from '@tenon/scope/bind'
import * as linker from '@tenon/scope/linker'
import * as scopeTesting from '@tenon/scope/testing'
import * as arrow from '@tenon/arrow'
import * as tensorFlow from '@tenon/tensorflow'
import * as weights from '@tenon/weights'
import * as strings from '@tenon/tstring'
import { describe, expect, test } from 'vitest'
import * as build from '../src/entries/build.ts'
import * as bundler from '../src/entries/bundler.ts'
import * as project from '../src/entries/project.ts'
import * as testing from '../src/entries/testing.ts'
import * as tenon from '../src/index.ts'
import { cleanUp } from './grammar-makers.ts'
import { callables, printed } from './grammar-objects.ts'
import { refusals } from './grammar-options.ts'

type Class = abstract new (...args: never) => object

const entries = {
  tenon,
  'tenon/testing': testing,
  'tenon/build': build,
  'tenon/bundler': bundler,
  'tenon/project': project,
  'tenon/binary': binary,
  'tenon/core': core,
  'tenon/core/errors': coreErrors,
  'tenon/koffi': koffiBridge,
  'tenon/core/testing': coreTesting,
  'tenon/scope': scopes,
  'tenon/scope/bind': bind,
  'tenon/scope/linker': linker,
  'tenon/scope/testing': scopeTesting,
  'tenon/custom-call': customCalls,
  'tenon/packed-func': packed,
  'tenon/tensorflow': tensorFlow,
  'tenon/arrow': arrow,
  'tenon/weights': weights,
  'tenon/tstring': strings,
  'tenon/pools': pools,
  'tenon/pools/hidl': hidl,
  'tenon/isolate': isolate,
  'tenon/nnapi': nnapi,
  'tenon/nnapi/hidl': hidl,
}

const exported = Object.entries(entries).flatMap(([entry, names]) =>
  Object.entries(names as Record<string, unknown>).map(([name, value]) => ({ entry, name, value })),
)
const isClass = (value: unknown): value is Class =>
  typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class')
const isError = (value: Class): boolean => value.prototype instanceof Error
const classes = new Map(exported.flatMap(({ name, value }) => (isClass(value) ? [[name, value] as const] : [])))
const functions = exported.filter(({ value }) => typeof value === 'function' && !isClass(value))

/** The prototypes of a class and its bases. */
function prototypesOf(value: Class): object[] {
  const prototypes: object[] = []
  for (let at = value.prototype as object; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    prototypes.push(at)
  return prototypes
}

/** Whether a class or a base of it defines a member. */
const has = (value: Class, key: PropertyKey): boolean =>
  prototypesOf(value).some((prototype) => Object.hasOwn(prototype, key))

test('the walk finds the exports of all entries', () => {
  const built = readdirSync(new URL('../src/entries', import.meta.url))
  // Importing the process of a driver, which has two entries, starts it. The root is not in the folder.
  expect(Object.keys(entries).length).toBe(built.length - 2 + 1)
  expect(classes.size).toBeGreaterThan(80)
  expect(functions.length).toBeGreaterThan(100)
})

describe('ends', () => {
  test.each([...classes])(
    '%s has [Symbol.dispose]() if and only if it has close(), also asynchronously',
    (name, value) => {
      // A hold is released, because release() is the pair of acquire().
      if (name !== 'Hold') expect(has(value, Symbol.dispose)).toBe(has(value, 'close'))
      expect(has(value, Symbol.asyncDispose)).toBe(has(value, 'closeAsync'))
    },
  )
})

/** Names that the grammar replaces by others. */
const refusedNames = [
  'asFunction',
  'asyncWith',
  'asyncDispose',
  'destroy',
  'dispose',
  'execute',
  'executeFenced',
  'executeSync',
  'free',
  'lock',
  'release',
  'runSync',
]

/** Members with such a name, and the reasons. */
const allowedNames: Readonly<Record<string, string>> = {
  'Hold.release': 'the pair of acquire()',
}

/** Members that TypeScript hides from users: `protected` hooks of base classes, and `@internal` members. */
const hiddenMembers = new Set(['release', 'destroy', 'free'])

/** Whether a member is declared `protected` or `@internal` in every source that declares it. */
function isHidden(name: string): boolean {
  const pattern = new RegExp(
    `^ {2}(?!async )(?<modifiers>(?:(?:protected|override|abstract|static) )*)${name}\\(.*\\): `,
    'm',
  )
  return sources
    .filter(({ text }) => /^export (?:abstract )?class /m.test(text))
    .every(({ text }) => {
      const found = pattern.exec(text)
      if (found === null) return true
      const comment = text.slice(0, found.index).trimEnd().split('\n').at(-1)!
      return found.groups!['modifiers']!.includes('protected') || /@internal/.test(comment) || !isExported(text)
    })
}

const sources = [
  'binary',
  'build',
  'core',
  'custom-call',
  'isolate',
  'nnapi',
  'packed-func',
  'pools',
  'tensorflow',
  'arrow',
  'weights',
  'scope',
  'tenon',
  'tstring',
].flatMap((name) => {
  const directory = new URL(`../../${name}/src/`, import.meta.url)
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file: `${name}/src/${file}`, text: readFileSync(new URL(file, directory), 'utf8') }))
})

/** Whether a source declares a class that an entry exports. `Hold` may have release(). */
const isExported = (text: string): boolean =>
  [...text.matchAll(/^export (?:abstract )?class (\w+)/gm)].some(([, name]) => name !== 'Hold' && classes.has(name!))

describe('names', () => {
  test.each([...classes])('%s has no member with a refused name', (name, value) => {
    const members = refusedNames.filter((member) => has(value, member) && !hiddenMembers.has(member))
    expect(members.filter((member) => allowedNames[`${name}.${member}`] === undefined)).toEqual([])
  })

  test.each([...hiddenMembers])('%s() is protected or internal in every exported class', (name) => {
    expect(isHidden(name)).toBe(true)
  })

  const later = [...classes].filter(([, value]) => has(value, 'runAsync'))
  test.each(later)('%s has run(), because it has runAsync()', (_name, value) => {
    expect(has(value, 'run')).toBe(true)
  })

  test.each(functions)('$entry exports $name under its own name', ({ name, value }) => {
    expect((value as { readonly name: string }).name).toBe(name)
  })
})

describe('callables', () => {
  test('have the name of their function, and an asynchronous form', async () => {
    for (const [maker, { made, name }] of Object.entries(callables())) {
      const callable = made as { readonly name: string; readonly async: unknown }
      expect([maker, callable.name, typeof callable.async]).toEqual([maker, name, 'function'])
    }
    await cleanUp()
  })
})

describe('printing', () => {
  const instances = [...classes].filter(([, value]) => !isError(value))

  test.each(instances)('%s defines how console.log prints it', (_name, value) => {
    expect(has(value, Symbol.for('nodejs.util.inspect.custom'))).toBe(true)
  })

  test('every public object prints as one line without its fields', async () => {
    const rows = Object.entries(await printed())
    expect(rows.length).toBeGreaterThan(50)
    const wrong = rows
      .map(([name, value]) => [name, inspect(value)])
      .filter(([, text]) => /\n|\{ |\{\}|\(anonymous\)/.test(text!))
    expect(wrong).toEqual([])
    await cleanUp()
  })
})

describe('options', () => {
  const owners = [...new Set(refusals.map(({ owner }) => owner))]

  test.each(owners)('each call of checkOptions() in packages/%s has a row', (owner) => {
    const calls = sources
      .filter(({ file }) => file.startsWith(`${owner}/`) && !file.endsWith('/check-options.ts'))
      .flatMap(({ text }) => [...text.matchAll(/(?<!function )\bcheck(?:Prepare|Request)?Options(?:<[^(]*>)?\(/g)])
    expect(refusals.filter((row) => row.owner === owner).length).toBeGreaterThanOrEqual(calls.length)
  })

  test('packages without rows do not call checkOptions()', () => {
    const others = sources.filter(({ file }) => !owners.includes(file.split('/')[0]!))
    expect(others.filter(({ text }) => text.includes('checkOptions(')).map(({ file }) => file)).toEqual([])
  })

  test.each(refusals)('$name refuses an unknown option', async ({ call }) => {
    let thrown: unknown
    try {
      await call({ optoin: 1 } as never)
    } catch (error) {
      thrown = error
    }
    await cleanUp()
    expect(thrown).toBeInstanceOf(core.ArgumentError)
    // The options that name the tensors of a kernel have the names of its signature.
    expect((thrown as core.ArgumentError).sentence).toMatch(
      /must not have the option "optoin"|does not have an? (?:operand|result) named optoin/,
    )
    expect((thrown as core.ArgumentError).hint).toBeTypeOf('string')
  })
})

describe('errors', () => {
  // A ToolError is the message of a command, which prints it.
  const others = new Set(['TenonError', 'SimpleError', 'ToolError'])
  const errors = [...classes].filter(([name, value]) => isError(value) && !others.has(name))
  const pages = new Set(readdirSync(new URL('../../../docs/errors', import.meta.url)))

  /** The code of an error class: derived from its kind, or in the source of the class or of its nearest base. */
  function codeOf(value: Class): string | undefined {
    if (Object.prototype.isPrototypeOf.call(binary.SimpleError, value))
      return new (value as unknown as new (sentence: string) => core.TenonError)('text').code
    const declaration = new RegExp(`class ${value.name} extends [^]*?\\n\\}`)
    const found = sources.map(({ text }) => declaration.exec(text)?.[0]).find((text) => text !== undefined)
    const code = found && /'(TENON_\w+)'/.exec(found)?.[1]
    return code ?? (value === core.TenonError ? undefined : codeOf(Object.getPrototypeOf(value) as Class))
  }

  test.each(errors)('%s is a TenonError with a code and a page', (name, value) => {
    expect(value.prototype).toBeInstanceOf(core.TenonError)
    expect(value.name).toBe(name)
    const code = codeOf(value) ?? 'missing'
    expect(code).toMatch(/^TENON_[A-Z_]+$/)
    expect(pages).toContain(`${code.slice('TENON_'.length).toLowerCase().replaceAll('_', '-')}.md`)
  })
})
