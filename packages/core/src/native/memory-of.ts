/** The key of the memory of an object that is accepted wherever its memory is, such as a struct of a bound library. */
export const MEMORY: unique symbol = Symbol('memory')

/** Returns the memory of an object that has some, and every other value as it is. */
export function memoryOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && MEMORY in value ? value[MEMORY] : value
}
