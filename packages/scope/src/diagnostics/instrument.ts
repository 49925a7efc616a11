import { debugGuard } from './debug.ts'

/**
 * Whether each allocation of an arena is a block of its own: for guard mode, and for the AddressSanitizer build of the
 * core,
 * which sees then where each one ends, and that it is used after close.
 */
export const isInstrumented: boolean = debugGuard || process.env['TENON_VARIANT'] === 'asan'
