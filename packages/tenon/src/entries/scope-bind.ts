export * from '@tenon/scope/bind'
