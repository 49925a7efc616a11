import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { files } from '../generate/accessors.ts'

test.each(Object.entries(files))('src/generated/%s is the output of generate/accessors.ts', (name, text) => {
  expect(readFileSync(new URL(`../src/generated/${name}`, import.meta.url), 'utf8')).toBe(text)
})
