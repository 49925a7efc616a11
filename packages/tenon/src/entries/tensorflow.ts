export * from '@tenon/tensorflow'
