/** The extensions of the protocol that the server has, as its metadata lists them. */
export const EXTENSIONS: readonly string[] = [
  'binary_tensor_data',
  'parameters',
  'statistics',
  'model_configuration',
  'schedule_policy',
]
