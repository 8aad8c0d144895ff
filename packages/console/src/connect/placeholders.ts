/** What stands for the address of the service in the file with the steps. */
export const PLACEHOLDERS = { baseUrl: '%baseUrl%', host: '%host%', path: '%path%' } as const;
