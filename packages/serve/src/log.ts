let isGuarded = false

/** Writes one line of JSON to stderr. A program that reads it no longer does not end the server. */
export function logLine(level: 'info' | 'error', message: string, fields: Readonly<Record<string, unknown>>): void {
  if (!isGuarded) {
    isGuarded = true
    process.stderr.on('error', () => {})
  }
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`)
}
