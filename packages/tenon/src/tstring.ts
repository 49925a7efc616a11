/** All of `@tenon/tstring`, for those who have the umbrella only. */
export * from '@tenon/tstring'
