import { describe, expect, test } from 'vitest'
import { BinaryFormatError, TenonError } from '../src/index.ts'

describe('TenonError', () => {
  test('has the page of its code and the version of the package', () => {
    const error = new BinaryFormatError('the file is empty')
    expect(error.documentation).toBe('npx tenon explain TENON_BINARY_FORMAT')
    expect(error.message).toBe('the file is empty\nSee: npx tenon explain TENON_BINARY_FORMAT')
    // Tests run the sources; the build writes the version of the manifest.
    expect(error.version).toBe('source')
  })

  test('walk() returns the first error of the chain that matches, or the last cause', () => {
    const system = Object.assign(new Error('no such file'), { code: 'ENOENT' })
    const middle = new Error('could not be opened', { cause: system })
    const error = new TenonError('TENON_LOAD', 'the library could not be loaded', { cause: middle })
    expect(error.walk()).toBe(system)
    expect(error.walk((cause) => cause === error)).toBe(error)
    expect(error.walk((cause) => (cause as { code?: string }).code === 'ENOENT')).toBe(system)
    expect(error.walk(() => false)).toBeUndefined()
    expect(new TenonError('TENON_LOAD', 'alone').walk()).toBeInstanceOf(TenonError)
  })

  test('walk() ends in a chain that has a circle, and at a cause that is not an error', () => {
    const first = new TenonError('TENON_LOAD', 'first')
    const second = new Error('second', { cause: first })
    Object.defineProperty(first, 'cause', { value: second })
    expect(first.walk()).toBe(second)
    expect(new TenonError('TENON_LOAD', 'text', { cause: 'words' }).walk()).toBe('words')
  })
})
