/** Writes one line of JSON to stderr. */
export function logLine(level: 'info' | 'error', message: string, fields: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`)
}
