import { debugs, guardMode } from '@tenon/core/internal'

/** Whether to remember where each scope was opened, and to report at exit the scopes that are still open. */
export const debugLeaks: boolean = debugs('leaks')

/**
 * Whether each allocation of an arena gets a block of its own: in guard mode, and with the AddressSanitizer build of the
 * core, which then detects overflows and uses after close.
 */
export const isInstrumented: boolean = guardMode || process.env['TENON_VARIANT'] === 'asan'
