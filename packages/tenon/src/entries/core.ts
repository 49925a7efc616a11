export * from '@tenon/core'
