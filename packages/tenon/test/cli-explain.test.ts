import { readdirSync, readFileSync } from 'node:fs'
import { TenonError } from '@tenon/core'
import { expect, test } from 'vitest'
import { runTenon } from './run-tenon.ts'

const pages = new URL('../../../docs/errors/', import.meta.url)

test('tenon explain prints the page of an error, from any directory', () => {
  const { code, stdout, stderr } = runTenon(['explain', 'TENON_SCOPE_CLOSED'], { cwd: '/' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toBe(readFileSync(new URL('scope-closed.md', pages), 'utf8'))
})

test('tenon explain --json prints the code and the page', () => {
  const { code, stdout, stderr } = runTenon(['explain', 'tenon_scope_closed', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const page = readFileSync(new URL('scope-closed.md', pages), 'utf8').trimEnd()
  expect(JSON.parse(stdout)).toEqual({ code: 'TENON_SCOPE_CLOSED', page })
})

test('the command that an error names prints its page', () => {
  const [npx, tenon, ...args] = new TenonError('TENON_LOAD', 'the library is missing').documentation.split(' ')
  expect([npx, tenon]).toEqual(['npx', 'tenon'])
  expect(runTenon(args).stdout).toMatch(/^# TENON_LOAD\n/)
})

test('the package contains the page of every error', () => {
  const packed = readdirSync(new URL('../dist/errors/', import.meta.url))
  expect(packed.toSorted()).toEqual(readdirSync(pages).toSorted())
})

test('tenon explain refuses unknown errors, and suggests the most similar one', () => {
  expect(runTenon(['explain', 'TENON_SCOPE_CLOSE'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/there is no error TENON_SCOPE_CLOSE\n.*TENON_SCOPE_CLOSED/) as string,
  })
  expect(runTenon(['explain', '../package']).stderr).toContain('The codes are TENON_ALIGNMENT, ')
  expect(runTenon(['explain'])).toMatchObject({ code: 2, stdout: '' })
})
