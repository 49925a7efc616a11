/** All of `@tenon/packed-func`, for those who have the umbrella only. */
export * from '@tenon/packed-func'
