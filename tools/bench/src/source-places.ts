import { Session, type Runtime } from 'node:inspector'

const holder = globalThis as { tenonBenchFunctions?: readonly unknown[] }

/**
 * Returns the place of the literal of each function. Functions of one place share their type feedback. Only the inspector
 * knows the places; it is disconnected before this returns.
 */
export function sourcePlaces(functions: readonly unknown[]): string[] {
  const session = new Session()
  session.connect()
  holder.tenonBenchFunctions = functions
  try {
    return functions.map((_, index) => {
      let place = ''
      // The session belongs to this thread, so it answers before `post` returns.
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
