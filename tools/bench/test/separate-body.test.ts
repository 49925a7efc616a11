import { expect, test } from 'vitest'
import { separateBody } from '../src/separate-body.ts'
import { sourcePlaces } from '../src/source-places.ts'

test('separateBody() compiles equal sources separately, with the values of their scopes', () => {
  const [one, two] = [1, 2].map((value) => separateBody('() => value + 1', { value }))
  expect([one!(1), two!(1)]).toEqual([2, 3])
  expect(new Set(sourcePlaces([one, two])).size).toBe(2)
})
