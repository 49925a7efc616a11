/** Whether a value is a revoked proxy, which throws an error of the engine wherever it is used. No trap of a proxy runs. */
export function isRevoked(value: unknown): boolean {
  try {
    Array.isArray(value)
    return false
  } catch {
    return true
  }
}
