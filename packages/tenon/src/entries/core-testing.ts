export * from '@tenon/core/testing'
