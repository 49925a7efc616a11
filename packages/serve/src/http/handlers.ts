import { extensionsOf } from '../protocol/extensions.ts'
import { isObject } from '../protocol/is-object.ts'
import { wrong } from '../protocol/wrong-field.ts'
import { readOverrides } from '../repository/read-overrides.ts'
import type { ServerState } from '../service/server-state.ts'
import type { Answer } from './answer.ts'
import type { Exchange } from './exchange.ts'
import type { Handler } from './handler.ts'
import { generate, generateStream } from './generate.ts'
import { inferHandler } from './infer.ts'
import { inferStream } from './infer-stream.ts'
import { modelConfig, modelMetadata, modelStatistics } from './metadata.ts'
import { addRegionRoutes } from './region-routes.ts'
import { readObject } from './read-object.ts'
import { Router } from './router.ts'
import { addTrafficRoutes } from './traffic-routes.ts'

/** The paths of the protocol. @param hasMetrics whether those of the monitoring are among them. */
export function routesOf(state: ServerState, hasMetrics: boolean): Router<Handler> {
  const { registry } = state
  const router = new Router<Handler>()
  const ofModel = (verb: string, rest: string, handler: Handler): void => {
    router.add(verb, `/v2/models/:model${rest}`, 'infer', handler)
    router.add(verb, `/v2/models/:model/versions/:version${rest}`, 'infer', handler)
  }
  const found = ({ parts }: Exchange) => registry.find(parts['model']!, parts['version'])

  // The first route is found in the least time.
  ofModel('POST', '/infer', inferHandler(state))
  ofModel('POST', '/infer_stream', (exchange) => inferStream(state, exchange))
  ofModel('POST', '/generate', (exchange) => generate(state, exchange))
  ofModel('POST', '/generate_stream', (exchange) => generateStream(state, exchange))
  router.add('GET', '/v2', 'caller', () =>
    ok({ name: state.name, version: state.version, extensions: extensionsOf(state) }),
  )
  addHealthRoutes(router, state)
  router.add('GET', '/v2/models/stats', 'caller', ({ record: { caller } }) => {
    const seen = registry.all().filter(({ model }) => caller.sees(model.name))
    return ok({ model_stats: seen.map(modelStatistics) })
  })
  router.add('POST', '/v2/repository/index', 'caller', async (exchange) => {
    const { ready } = await readObject(exchange, state)
    const { caller } = exchange.record
    return ok(state.control.index(ready === true).filter(({ name }) => caller.sees(name)))
  })
  router.add('POST', '/v2/repository/models/:model/load', 'load', async (exchange) => {
    const name = exchange.parts['model']!
    const { parameters = {} } = await readObject(exchange, state)
    if (!isObject(parameters)) throw wrong('parameters', 'an object', parameters)
    await state.control.load(name, readOverrides(name, parameters))
    return { status: 200, text: '' }
  })
  router.add('POST', '/v2/repository/models/:model/unload', 'load', async ({ parts }) => {
    await state.control.unload(parts['model']!)
    return { status: 200, text: '' }
  })
  addTrafficRoutes(router, state)
  addRegionRoutes(router, state)
  if (hasMetrics) addMetricsRoute(router, state)
  ofModel('GET', '', (exchange) => ok(modelMetadata(found(exchange), registry.versions(exchange.parts['model']!))))
  ofModel('GET', '/ready', (exchange) => {
    const served = found(exchange)
    const ready = state.life.isReadyFor(served)
    return { ...readiness(ready), text: JSON.stringify({ name: served.model.name, ready }) }
  })
  ofModel('GET', '/config', (exchange) => ok(modelConfig(found(exchange))))
  ofModel('GET', '/stats', (exchange) => ok({ model_stats: [modelStatistics(found(exchange))] }))
  return router
}

/** The paths of a listener for the monitoring. */
export function monitoringRoutes(state: ServerState): Router<Handler> {
  const router = new Router<Handler>()
  addHealthRoutes(router, state)
  addMetricsRoute(router, state)
  return router
}

function addHealthRoutes(router: Router<Handler>, { life }: ServerState): void {
  router.add('GET', '/v2/health/live', 'nothing', () => ok({ live: true }))
  router.add('GET', '/v2/health/ready', 'nothing', () => readiness(life.isReady))
}

function addMetricsRoute(router: Router<Handler>, { metrics }: ServerState): void {
  router.add('GET', '/metrics', 'metrics', async () => ({ status: 200, ...(await metrics.text()) }))
}

const ok = (value: object): Answer => ({ status: 200, text: JSON.stringify(value) })

/** KServe reads `ready`, and the text of the protocol says `live`. */
const readiness = (isReady: boolean): Answer => ({
  status: isReady ? 200 : 503,
  text: JSON.stringify({ live: true, ready: isReady }),
})
