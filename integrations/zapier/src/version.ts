import { createRequire } from 'node:module';

/** The package file lies above `src` and above `dist` alike. */
export const VERSION: string = createRequire(import.meta.url)('../package.json').version;
