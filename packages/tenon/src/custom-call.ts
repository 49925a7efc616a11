/** All of `@tenon/custom-call`, for those who have the umbrella only. */
export * from '@tenon/custom-call'
