import { expect } from 'vitest'
import type { Finished } from './run-tenon.ts'

/** Expects one message and at most one hint, without data and without a stack trace. */
export function expectRefusal(
  { code, stdout, stderr }: Finished,
  expectedCode: number,
  message: string,
  hint?: string,
): void {
  expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' })
  const [first, second, ...rest] = stderr.trimEnd().split('\n')
  expect(first).toContain(`tenon call: `)
  expect(first).toContain(message)
  if (second !== undefined) expect(second).toMatch(/^hint: /)
  if (hint !== undefined) expect(second).toContain(hint)
  expect(rest).toEqual([])
}
