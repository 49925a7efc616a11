/** Whether an address to listen on is reached from this machine only. */
export const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** A host and a port as URLs have them. IPv6 addresses are in brackets. */
export const addressText = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`
