/** PostgreSQL keeps no NUL in a text: what has one in its id is nobody's, and nobody need be asked. */
export const isText = (value: string): boolean => !value.includes('\0');
