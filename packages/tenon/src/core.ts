/** All of `@tenon/core`, for those who have the umbrella only. */
export * from '@tenon/core'
