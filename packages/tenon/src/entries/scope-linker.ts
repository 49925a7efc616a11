export * from '@tenon/scope/linker'
