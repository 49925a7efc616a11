import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hintsOf } from '@tenon/config/hints'
import { describe, expect, test } from 'vitest'
import { calledIn, isPublic, sources } from './public-api.ts'
import { root } from './reader.ts'

/** Functions of other software that hints name: NumPy's, Vue's, and those of JavaScript and of C. */
const foreign = new Set([
  'np.save',
  'x.astype',
  'x.reshape',
  'x.view',
  'array.subarray',
  'tn_cancelled',
  'toRaw',
  'transfer',
  'Worker',
  'f',
  'f.call',
])

const hints = sources
  .flatMap(({ path, text }) => hintsOf(text).map((hint) => ({ path, ...hint })))
  // Labels of objects are returned as texts too. A hint is a sentence.
  .filter(({ text }) => /^[A-Z].*[.?]$/s.test(text) && text.includes(' '))

const calls = hints.flatMap(({ path, line, text }) =>
  // Notes of the signature language, such as @alias(x), are no functions.
  calledIn(text.replaceAll(/@\w+\(/g, ''))
    .filter((name) => !foreign.has(name))
    .map((name) => [name, `${path}:${line}`, path.split('/')[1]!] as const),
)

/** The texts of the guides. */
const guides = globSync('docs/*.md', { cwd: root }).map((path) => readFileSync(join(root, path), 'utf8'))

describe('hints', () => {
  test('are found in every package', () => {
    const packages = new Set(hints.map(({ path }) => path.split('/')[1]))
    expect([...packages]).toEqual([
      'arrow',
      'binary',
      'build',
      'core',
      'custom-call',
      'isolate',
      'nnapi',
      'packed-func',
      'pools',
      'scope',
      'serve',
      'tenon',
      'tensorflow',
      'tstring',
      'weights',
    ])
    expect(hints.length).toBeGreaterThan(150)
  })

  test.each(calls)(
    '%s(), which %s names, is public, and the README of %s or a guide describes it',
    (name, _place, owner) => {
      expect(isPublic(name)).toBe(true)
      const readme = readFileSync(join(root, 'packages', owner, 'README.md'), 'utf8')
      const word = new RegExp(`\\b${name.split('.').at(-1)}\\b`)
      expect([readme, ...guides].some((page) => word.test(page))).toBe(true)
    },
  )

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
