const words = new Set((process.env['TENON_DEBUG'] ?? '').split(',').map((word) => word.trim()))

/** Returns whether the variable `TENON_DEBUG`, a list with commas, has a word. */
export const debugs = (word: string): boolean => words.has(word)

/**
 * Whether memory gets pages of its own that end at a protected page, and calls check the bytes around it. It is constant, so
 * that calls are set up without the check in the other mode.
 */
export const guardMode: boolean = debugs('guard')
