/** What `TENON_DEBUG` asks for: words separated by commas. */
const words = new Set((process.env['TENON_DEBUG'] ?? '').split(',').map((word) => word.trim()))

/** Remember where each scope was opened, and report at exit those that are open. */
export const debugLeaks: boolean = words.has('leaks')

/** Give every allocation pages of its own that end at a protected one. */
export const debugGuard: boolean = words.has('guard')
