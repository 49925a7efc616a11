import { isAbsolute } from 'node:path'
import { LoadError } from '../errors/kinds.ts'
import { libraryVariable, type LibraryVariable } from '../errors/library-variables.ts'

/**
 * The library that a variable names, or undefined if the variable is empty or ignored: with `TENON_IGNORE_ENVIRONMENT=1`, and in a process
 * that was started with `--permission`.
 *
 * @throws {LoadError} if the name is not an absolute path, which would depend on the working directory.
 */
export function libraryOfEnvironment(
  variable: LibraryVariable,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const path = libraryVariable(variable, environment)
  if (path === undefined || isAbsolute(path)) return path
  throw new LoadError(`${variable} must be an absolute path, got ${path}`, {
    hint: 'Write the whole path of the library.',
    details: { variable, path, expected: 'an absolute path', received: path },
  })
}
