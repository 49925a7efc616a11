export * from '@tenon/packed-func'
