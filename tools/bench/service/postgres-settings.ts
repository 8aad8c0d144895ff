/** PostgreSQL as it comes: 128 MB is its own default. The servers of the tests have less. */
export const POSTGRES_SETTINGS = { shared_buffers: '128MB' };
