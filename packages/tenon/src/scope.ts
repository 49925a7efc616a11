/** All of `@tenon/scope`, for those who have the umbrella only. */
export * from '@tenon/scope'
