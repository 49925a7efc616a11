import { registeredNames, type RegisteredName } from '@tenon/custom-call'

/** The names of the handlers that libraries have registered while this package loaded them, by the keys of the libraries. */
const byLibrary = new Map<string, readonly string[]>()

/**
 * Loads a library, and records the handlers that the library registers itself.
 *
 * @param key identifies the file of the library. A library registers its handlers only when it is loaded for the first time.
 */
export function recordRegistrations<Opened>(key: string, load: () => Opened): Opened {
  const before = new Set(registeredHandlers().map(keyOf))
  const opened = load()
  const added = registeredHandlers().filter((one) => !before.has(keyOf(one)))
  const names = new Set([...registrationsOf(key), ...added.map(({ name }) => name)])
  if (names.size > 0) byLibrary.set(key, [...names].toSorted())
  return opened
}

/** The names of the handlers that a library has registered itself, sorted. */
export function registrationsOf(key: string): readonly string[] {
  return byLibrary.get(key) ?? []
}

/** The names of typed handlers. Those of untyped functions do not tell how to call them. */
const registeredHandlers = (): RegisteredName[] => registeredNames().filter(({ convention }) => convention === 'typed')

function keyOf({ name, platform }: RegisteredName): string {
  return `${platform}\0${name}`
}
