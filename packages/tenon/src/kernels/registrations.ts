import { registeredNames } from '@tenon/custom-call'

/** The names of the handlers that libraries have registered while this package loaded them, by the paths of the libraries. */
const byPath = new Map<string, readonly string[]>()

/**
 * Loads a library, and records the handlers that the library registers itself.
 *
 * @param path identifies the library. A library registers its handlers only when it is loaded for the first time.
 */
export function recordRegistrations<Opened>(path: string, load: () => Opened): Opened {
  const before = new Set(registeredNames().map(keyOf))
  const opened = load()
  const added = registeredNames().filter((one) => !before.has(keyOf(one)))
  const names = new Set([...registrationsOf(path), ...added.map(({ name }) => name)])
  if (names.size > 0) byPath.set(path, [...names].toSorted())
  return opened
}

/** The names of the handlers that the library at a path has registered itself, sorted. */
export function registrationsOf(path: string): readonly string[] {
  return byPath.get(path) ?? []
}

function keyOf({ name, platform }: { readonly name: string; readonly platform: string }): string {
  return `${platform}\0${name}`
}
