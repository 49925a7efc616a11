export * from '@tenon/tstring'
