import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const page = join(import.meta.dirname, '../../../docs/serving-security.md')

test('the statements of the page about security name tests that exist', () => {
  const links = [...readFileSync(page, 'utf8').matchAll(/\[([^\]]+)\]\(([^)#]+\.test\.ts)\)/g)]
  expect(links.length).toBeGreaterThan(25)
  const wrong = links.filter(([, name, path]) => !readFileSync(join(dirname(page), path!), 'utf8').includes(name!))
  expect(wrong.map(([link]) => link)).toEqual([])
})
