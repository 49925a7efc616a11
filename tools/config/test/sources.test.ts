import { expect, test } from 'vitest'

import { hintsOf } from '../src/hints.ts'
import { markdownBlocks } from '../src/markdown.ts'
import { methodsByClass } from '../src/public-methods.ts'

test('hintsOf() finds hints in properties, variables, arguments and returned texts, with their lines', () => {
  const source = `
    const formHint = 'Write a form.'
    throw new LoadError('text', { hint: known ?? (isOld ? 'Update it.' : \`Use \${name} instead.\`) })
    throw wrongType('x', 'a number', x, 'Convert it.')
    throw new UsageError('text', 'Run it.')
    throw wrongType('x', 'a number', x)
    const hintFor = () => { return 'Read it.' }
  `
  expect(hintsOf(source)).toEqual([
    { text: 'Write a form.', line: 2 },
    { text: 'Update it.', line: 3 },
    { text: 'Use   instead.', line: 3 },
    { text: 'Convert it.', line: 4 },
    { text: 'Run it.', line: 5 },
    { text: 'Read it.', line: 7 },
  ])
})

test('markdownBlocks() reads the language, the attributes and the line of each fenced block', () => {
  const page = 'Text\n\n```ts file=worker.js\nconst x = 1\n```\n\n~~~\n```\n~~~\n\n```ts no-run="needs a GPU"\n```\n'
  expect(markdownBlocks(page)).toEqual([
    { language: 'ts', attributes: { file: 'worker.js' }, code: 'const x = 1\n', line: 3 },
    { language: '', attributes: {}, code: '```\n', line: 7 },
    { language: 'ts', attributes: { 'no-run': 'needs a GPU' }, code: '', line: 11 },
  ])
})

test('methodsByClass() tells public methods from hidden ones', () => {
  const source = `
    export class Scope {
      /** Closes it. */
      close(): void {}
      /** @internal */
      take(): void {}
      /** @internal */
      readonly field = 1
      open(): void {}
      protected release(): void {}
      private forget(): void {}
      #own(): void {}
      get size(): number { return 0 }
      constructor() {}
      static of(): Scope { return new Scope() }
    }
  `
  const { public: open, hidden } = methodsByClass(source).get('Scope')!
  expect([...open]).toEqual(['close', 'open', 'of'])
  expect([...hidden]).toEqual(['take', 'release', 'forget'])
})
