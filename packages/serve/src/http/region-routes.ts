import { UnsupportedError } from '@tenon/core'
import type { Registration } from '../shared-memory/region.ts'
import { unknownRegion } from '../shared-memory/regions.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import type { Handler } from './handler.ts'
import { readObject } from './read-object.ts'
import type { Router } from './router.ts'

const ok = (value: object): Answer => ({ status: 200, text: JSON.stringify(value) })

const empty: Answer = { status: 200, text: '' }

const described = ({ name, key, offset, byteSize }: Registration): object => ({
  name,
  key,
  offset,
  byte_size: byteSize,
})

/** The paths of the extensions for shared memory. */
export function addRegionRoutes(router: Router<Handler>, state: ServerState): void {
  const { regions } = state
  const system = '/v2/systemsharedmemory'
  for (const path of [`${system}/status`, `${system}/region/:region/status`]) {
    router.add('GET', path, 'shared-memory', ({ parts }) => ok(regions.list(parts['region']).map(described)))
  }
  router.add('POST', `${system}/region/:region/register`, 'shared-memory', async (exchange) => {
    const { key, offset = 0, byte_size: byteSize } = await readObject(exchange, state)
    regions.register(exchange.parts['region']!, key, offset, byteSize)
    return empty
  })
  for (const path of [`${system}/unregister`, `${system}/region/:region/unregister`]) {
    router.add('POST', path, 'shared-memory', ({ parts }) => {
      regions.unregister(parts['region'])
      return empty
    })
  }

  const cuda = '/v2/cudasharedmemory'
  router.add('GET', `${cuda}/status`, 'shared-memory', () => ok([]))
  router.add('GET', `${cuda}/region/:region/status`, 'shared-memory', ({ parts }) => {
    throw unknownRegion(parts['region']!)
  })
  router.add('POST', `${cuda}/region/:region/register`, 'shared-memory', () => {
    throw new UnsupportedError('this server shares no memory of GPUs with its clients')
  })
  // Clients unregister before they register, so there is nothing to do, and nothing wrong.
  for (const path of [`${cuda}/unregister`, `${cuda}/region/:region/unregister`])
    router.add('POST', path, 'shared-memory', () => empty)
}
