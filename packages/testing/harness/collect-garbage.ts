import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Asked for, so that a test measures what is held, and not what was not yet collected. */
export const collectGarbage: () => void = runInNewContext('gc');
