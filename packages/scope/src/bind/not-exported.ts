import { LoadError } from '@tenon/core'

/** Returns the error for a function or variable that no library of a module exports. */
export const notExported = (paths: readonly string[], name: string): LoadError =>
  new LoadError(`${paths.join(', ') || 'the process'} must export ${name}, which the header declares`, {
    hint: name.includes('@')
      ? 'The command objdump -T lists the versions of the symbols of a library.'
      : 'The library may be older than the header, or built without this function. has(name) tells whether it is there.',
  })
