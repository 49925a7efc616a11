import type { Annotations, FunctionAnnotation } from './annotation-file.ts'
import { AnnotationsError } from './annotations-error.ts'

/** The parts of the name of a function in annotations: `memcpy@GLIBC_2.2.5` has the version of a symbol. */
export function parseVersion(name: string): { readonly own: string; readonly version: string | undefined } {
  const at = name.indexOf('@')
  return at === -1 ? { own: name, version: undefined } : { own: name.slice(0, at), version: name.slice(at + 1) }
}

/** The versions of symbols that annotations name, as `readModel()` takes them, by the names of the functions. */
export function symbolVersions({ functions = {} }: Annotations): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.keys(functions).flatMap((name) => {
      const { own, version } = parseVersion(name)
      return version === undefined ? [] : [[own, version]]
    }),
  )
}

/**
 * The annotations of functions by their names alone.
 *
 * @throws {AnnotationsError} if a function is named twice, or a version is not that of one function.
 */
export function withoutVersions(
  functions: Readonly<Record<string, FunctionAnnotation>>,
): Readonly<Record<string, FunctionAnnotation>> {
  const byName: Record<string, FunctionAnnotation> = {}
  for (const [key, annotation] of Object.entries(functions)) {
    const { own, version } = parseVersion(key)
    if (version !== undefined && !/^[^\s@.*]+@[\w.-]+$/.test(key))
      throw new AnnotationsError(
        ['functions', key],
        `must have the form name@VERSION`,
        'Name one function and the version of its symbol, such as memcpy@GLIBC_2.2.5.',
      )
    if (Object.hasOwn(byName, own))
      throw new AnnotationsError(['functions', key], `names the function ${own}, which has annotations elsewhere`)
    byName[own] = annotation
  }
  return byName
}
