/** The version of the package, which the build writes here. Unbuilt sources do not have it. */
declare const PACKAGE_VERSION: string | undefined

/** The version of the package, or `source` if it runs unbuilt. */
export const version: string = typeof PACKAGE_VERSION === 'string' ? PACKAGE_VERSION : 'source'
