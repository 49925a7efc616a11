import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hintsOf } from '@tenon/config/hints'
import { beforeAll, describe, expect, test } from 'vitest'
import { root } from './reader.ts'

/** Functions of other software that hints name: NumPy's, Vue's, and those of JavaScript. */
const foreign = new Set(['np.save', 'x.astype', 'x.reshape', 'x.view', 'toRaw', 'transfer', 'f', 'f.call'])

const entries = [
  'binary',
  'core',
  'scope',
  'scope/linker',
  'scope/testing',
  'custom-call',
  'packed-func',
  'tstring',
  'pools',
  'pools/hidl',
]

const sources = globSync('packages/*/src/**/*.ts', { cwd: root })
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const hints = sources
  .flatMap(({ path, text }) => hintsOf(text).map((hint) => ({ path, ...hint })))
  // Labels of objects are returned as texts too. A hint is a sentence.
  .filter(({ text }) => /^[A-Z].*[.?]$/s.test(text) && text.includes(' '))

/** The functions that a hint calls, such as `ResourceScope.ofConfined`, or `closeAsync` for a member. */
const calledIn = (text: string): string[] =>
  [...text.matchAll(/(?<![\w$.])([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\(/g)]
    .map(([, name]) => name!)
    .filter((name) => !foreign.has(name))

const calls = hints.flatMap(({ path, line, text }) =>
  calledIn(text).map((name) => [name, `${path}:${line}`, path.split('/')[1]!] as const),
)

let exported: Map<string, unknown>
beforeAll(async () => {
  const modules = await Promise.all(entries.map((entry) => import(`@tenon/${entry}`) as Promise<object>))
  modules.push((await import('../src/index.ts')) as object)
  exported = new Map(modules.flatMap((module) => Object.entries(module)))
})

/** The public methods of all classes and interfaces. A comment with @internal in front of a method hides it. */
const methods = new Set(
  sources.flatMap(({ text }) =>
    [
      ...text.matchAll(
        /(?:\/\*\*(?<comment>(?:(?!\*\/).)*)\*\/\s+)?^ {2}(?:static |abstract |override |async )*(?<name>\w+)(?:<[^(]*>)?\(/gms,
      ),
    ]
      .filter(({ groups }) => !groups!['comment']?.includes('@internal'))
      .map(({ groups }) => groups!['name']!),
  ),
)

describe('hints', () => {
  test('are found in every package', () => {
    const packages = new Set(hints.map(({ path }) => path.split('/')[1]))
    expect([...packages]).toEqual([
      'binary',
      'core',
      'custom-call',
      'packed-func',
      'pools',
      'scope',
      'tenon',
      'tstring',
    ])
    expect(hints.length).toBeGreaterThan(150)
  })

  test.each(calls)('%s(), which %s names, is public, and the README of %s describes it', (name, _place, owner) => {
    const [first, second] = name.split('.') as [string, string?]
    // memory.tensor() and detach() are methods of some object. ResourceScope.ofConfined() and f32() are exports.
    const holder = second !== undefined && /^[A-Z]/.test(first) ? exported.get(first) : undefined
    if (holder !== undefined) expect(holder).toHaveProperty(second!)
    else expect(methods.has(second ?? first) || exported.has(name)).toBe(true)
    const readme = readFileSync(join(root, 'packages', owner, 'README.md'), 'utf8')
    expect(new RegExp(`\\b${second ?? first}\\b`).test(readme)).toBe(true)
  })

  test('begin with an instruction, not with a comment', () => {
    const comments = hints.filter(({ text }) => /^(A|An|It|There|This) (?!is a defect)/.test(text))
    expect(comments).toEqual([])
  })
})

describe('hints of the command', () => {
  const ofCommand = hints.filter(({ path }) => path.startsWith('packages/tenon/src/cli/'))

  test('name flags that a command has', () => {
    const commands = sources.filter(({ path }) => path.endsWith('-command.ts'))
    const named = ofCommand.flatMap(({ text }) => [...text.matchAll(/--([a-z][a-z-]*)/g)].map(([, flag]) => flag!))
    const isFlag = (flag: string): boolean =>
      flag === 'help' || commands.some(({ text }) => new RegExp(`^ {2}'?${flag}'?: \\{`, 'm').test(text))
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((flag) => !isFlag(flag))).toEqual([])
  })
})
