/** Whether the tests run with the AddressSanitizer build of the native code, as `pnpm test:asan` starts them. */
export const isSanitized: boolean = process.env['TENON_VARIANT'] === 'asan'

/**
 * The number of freed bytes that a process does not give back to the system: AddressSanitizer keeps 256 MiB, to find uses after
 * free. A test that allows a process to grow adds them to its limit.
 */
export const quarantine: number = isSanitized ? 256 * 2 ** 20 : 0
