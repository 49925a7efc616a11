export * from '@tenon/scope/testing'
