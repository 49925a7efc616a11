import { TenonError } from '@tenon/core'
import { expect, test } from 'vitest'
import { TensorFlowError } from '../src/errors/tensorflow-error.ts'

const failure = { text: 'axis 3\n of 2', operation: 'Concat', path: '/lib.so', payloads: { 'type.x/Y': 'z' } }

test('a TensorFlowError has the name of its code, and the message unchanged', () => {
  const error = new TensorFlowError({ code: 3, ...failure })
  expect(error).toBeInstanceOf(TenonError)
  expect(error.codeName).toBe('INVALID_ARGUMENT')
  expect(error.text).toBe('axis 3\n of 2')
  expect(error.message).toContain('Concat answered INVALID_ARGUMENT: axis 3 of 2')
  expect(error.details).toMatchObject({ operation: 'Concat', path: '/lib.so', status: 3, payloads: failure.payloads })
})

test('a code without a name is UNKNOWN and keeps its number', () => {
  const error = new TensorFlowError({ code: 99, ...failure, text: '' })
  expect(error.codeName).toBe('UNKNOWN')
  expect(error.message).toContain('UNKNOWN (code 99): no message')
})
