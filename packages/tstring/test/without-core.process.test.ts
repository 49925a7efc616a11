import { gcAllocator, LoadError } from '@tenon/core'
import { expect, it, vi } from 'vitest'
import { StringTensor } from '../src/index.ts'

vi.mock('@tenon/core/internal', async (original) => {
  const missing = (): never => {
    throw new LoadError('the native core of Tenon could not be loaded')
  }
  return { ...(await original<object>()), coreLibrary: missing, coreFunctions: missing }
})

it('throws LoadError if the C core cannot be loaded', () => {
  expect(() => StringTensor.from(['zero'], { storage: 'malloc' })).toThrow(LoadError)
  expect(() => StringTensor.from([], { storage: 'malloc' })).toThrow(LoadError)
  expect(() => StringTensor.ofSegment(gcAllocator.allocate(8), { layout: 'tflite' })).toThrow(LoadError)
})
