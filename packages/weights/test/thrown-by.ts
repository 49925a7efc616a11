import { TenonError } from '@tenon/core'
import { expect } from 'vitest'

/** The error of Tenon that an action throws. */
export function thrownBy(action: () => unknown): TenonError {
  try {
    action()
  } catch (error) {
    expect(error).toBeInstanceOf(TenonError)
    return error as TenonError
  }
  throw new Error('nothing was thrown')
}
