/** Parts of Connect that other pages link to, beside the pages of the platforms. */
export const ANY_URL_ID = 'any-url';
export const APPS = 'apps';
export const PROGRAMS = 'programs';
