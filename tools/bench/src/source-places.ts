import { Session, type Runtime } from 'node:inspector'

const holder = globalThis as { tenonBenchFunctions?: readonly unknown[] }

/**
 * Where each function's literal stands, as the engine knows it: functions of one place share their type feedback. Asked
 * through the inspector, which is the only one to tell; it is gone again when this returns.
 */
export function sourcePlaces(functions: readonly unknown[]): string[] {
  const session = new Session()
  session.connect()
  holder.tenonBenchFunctions = functions
  try {
    return functions.map((_, index) => {
      let place = ''
      // The session is in this thread: it answers before `post` returns.
      session.post('Runtime.evaluate', { expression: `tenonBenchFunctions[${index}]` }, (_failure, { result }) => {
        const query = { objectId: result.objectId!, ownProperties: true }
        session.post('Runtime.getProperties', query, (_error, answer) => {
          place = JSON.stringify(locationIn((answer as Runtime.GetPropertiesReturnType).internalProperties ?? []))
        })
      })
      return place
    })
  } finally {
    delete holder.tenonBenchFunctions
    session.disconnect()
  }
}

function locationIn(properties: readonly Runtime.InternalPropertyDescriptor[]): unknown {
  return properties.find(({ name }) => name === '[[FunctionLocation]]')?.value?.value
}
