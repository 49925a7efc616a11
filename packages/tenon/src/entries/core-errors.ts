export * from '@tenon/core/errors'
