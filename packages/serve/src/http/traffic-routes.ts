import { ArgumentError } from '@tenon/core'
import { InvalidRequestError } from '../errors.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import type { Handler } from './handler.ts'
import { readObject } from './read-object.ts'
import type { Router } from './router.ts'

const PATH = '/v2/repository/models/:model/traffic'

/** Adds the paths that read and change how requests without a version are distributed among the versions of a model. */
export function addTrafficRoutes(router: Router<Handler>, state: ServerState): void {
  const { control } = state
  const answer = (name: string): Answer => {
    const text = JSON.stringify({ name, traffic: control.traffic(name) ?? null })
    return { status: 200, text }
  }
  router.add('GET', PATH, 'load', ({ parts }) => answer(parts['model']!))
  router.add('POST', PATH, 'load', async (exchange) => {
    control.checkExplicit()
    const name = exchange.parts['model']!
    const { traffic } = await readObject(exchange, state)
    if (traffic === undefined) {
      throw new InvalidRequestError('the request must have the field traffic', {
        hint: 'Send {"traffic": {"1": 90, "2": 10}}, or {"traffic": null} for the highest version.',
      })
    }
    try {
      control.setTraffic(name, traffic === null ? undefined : traffic)
    } catch (error) {
      if (!(error instanceof ArgumentError)) throw error
      const hint = error.hint === undefined ? {} : { hint: error.hint }
      throw new InvalidRequestError(error.sentence, { ...hint, cause: error })
    }
    return answer(name)
  })
}
