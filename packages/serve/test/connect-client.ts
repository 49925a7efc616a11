import { vi } from 'vitest'
import { createClient, type Client, type ClientOptions } from '../src/client.ts'
import type { Models } from '../src/client/client.ts'

/** How requests are sent: with node:http, or with fetch() as in browsers. */
export type Transport = 'node:http' | 'fetch'

/** Makes a client that sends its requests in one way. */
export function connectClient<Served extends Models>(
  transport: Transport,
  url: string,
  options: ClientOptions,
): Client<Served> {
  if (transport === 'node:http') return createClient<Served>(url, options)
  const { getBuiltinModule } = process
  const spy = vi
    .spyOn(process, 'getBuiltinModule')
    .mockImplementation(((name: string) =>
      name === 'node:http' ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule)
  try {
    return createClient<Served>(url, options)
  } finally {
    spy.mockRestore()
  }
}
