export * from '@tenon/isolate'
