import { describe, expect, it, test } from 'vitest'
import { InternalError, MemoryError, packedFunc, type PackedFunc, type PackedFuncError } from '../src/index.ts'
import { kernel, thrownBy } from './support.ts'

const throwing = (name: string): PackedFunc => kernel(name, 'packed_throwing')

const sentence = (text: string): string => `the function threw a C++ exception: ${text}`

describe('a C++ exception that leaves a packed function', () => {
  it.each([
    ['throw_runtime_error', 'InternalError', 'out of luck (std::runtime_error)'],
    ['throw_string', 'InternalError', 'a string (std::string)'],
    ['throw_text', 'InternalError', 'a text (const char*)'],
    ['throw_int', 'InternalError', 'unknown (int)'],
    ['throw_bad_alloc', 'MemoryError', 'std::bad_alloc'],
  ])('of %s is an %s with its text and type', async (name, kind, text) => {
    const thrower = throwing(name)
    const error = thrownBy(() => thrower()) as PackedFuncError
    expect(error).toBeInstanceOf(kind === 'MemoryError' ? MemoryError : InternalError)
    expect([error.kind, error.sentence]).toEqual([kind, sentence(text)])
    expect(thrower.tryCall()).toEqual({ ok: false, kind, sentence: sentence(text) })
    await expect(thrower.async()).rejects.toMatchObject({ kind, sentence: sentence(text) })
    // More arguments than go through the argument stack at once, and calls of native code.
    expect(thrownBy(() => thrower(Array.from({ length: 3000 }, (_, i) => i)))).toMatchObject({ kind })
    expect(kernel('call').tryCall(thrower)).toEqual({ ok: false, kind, sentence: sentence(text) })
  })

  it('passes TypeScript functions, and leaves their frames whole', () => {
    const thrower = throwing('throw_runtime_error')
    const between = packedFunc(() => {
      try {
        thrower('text that is longer than seven', [1, 2])
      } catch (error) {
        expect(kernel('sum')(1, 2, 3)).toBe(6)
        throw error
      }
    })
    for (let i = 0; i < 100; i++) {
      const error = thrownBy(() => kernel('call')(between)) as PackedFuncError
      expect(error.sentence).toBe(sentence('out of luck (std::runtime_error)'))
    }
    expect(kernel('echo')('as before')).toBe('as before')
  })

  it('makes the result invalid', () => {
    const error = throwing('call_and_throw').tryCall(packedFunc(() => ['an object']))
    expect(error).toMatchObject({ kind: 'InternalError', sentence: sentence('after the call (std::logic_error)') })
  })
})

test.each([0, 1, 2, 3])('a C++ exception of task %d fails a parallel launch', (task) => {
  const launch = throwing('throw_in_task')
  for (let i = 0; i < 5; i++) {
    expect(launch.tryCall(task)).toMatchObject({ sentence: sentence('in a task (std::out_of_range)') })
    expect(launch(9)).toBe(null)
  }
})

test('a C++ exception ends an initialisation, and the next call tries again', () => {
  const once = throwing('throw_in_run_once')
  expect(once.tryCall(true)).toMatchObject({ sentence: sentence('in an initialisation (std::domain_error)') })
  expect([once(false), once(true)]).toEqual([null, null])
})
