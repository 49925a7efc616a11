export * from '@tenon/scope'
