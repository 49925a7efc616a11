/** The extensions of the protocol that a server has, as its metadata lists them. */
export function extensionsOf(control: { readonly isExplicit: boolean }): string[] {
  const always = ['binary_tensor_data', 'parameters', 'statistics', 'model_configuration', 'schedule_policy']
  return control.isExplicit ? [...always, 'model_repository'] : always
}
