const words = new Set((process.env['TENON_DEBUG'] ?? '').split(',').map((word) => word.trim()))

/** Whether to remember where each scope was opened, and to report at exit the scopes that are still open. */
export const debugLeaks: boolean = words.has('leaks')

/** Whether each allocation gets pages of its own that end at a protected page. */
export const debugGuard: boolean = words.has('guard')

/**
 * Whether each allocation of an arena gets a block of its own: in guard mode, and with the AddressSanitizer build of the
 * core, which then detects overflows and uses after close.
 */
export const isInstrumented: boolean = debugGuard || process.env['TENON_VARIANT'] === 'asan'
