export * from '@tenon/weights'
