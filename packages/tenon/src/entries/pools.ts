// Models, drivers and isolated processes are exported here, too, as parts of the same memory.
export * from '@tenon/isolate'
export * from '@tenon/nnapi'
export * from '@tenon/pools'
