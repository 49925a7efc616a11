export * from '@tenon/binary'
