import type { ServerState } from '../service/server-state.ts'

/** The extensions of the protocol that a server has, as its metadata lists them. */
export function extensionsOf({ control, regions }: Pick<ServerState, 'control' | 'regions'>): string[] {
  const always = [
    'binary_tensor_data',
    'parameters',
    'statistics',
    'model_configuration',
    'schedule_policy',
    'sequence',
    'sequence(string_id)',
  ]
  return [
    ...always,
    ...(control.isExplicit ? ['model_repository'] : []),
    ...(regions.isAllowed ? ['system_shared_memory'] : []),
  ]
}
