/** All of `@tenon/pools`, for those who have the umbrella only. */
export * from '@tenon/pools'
