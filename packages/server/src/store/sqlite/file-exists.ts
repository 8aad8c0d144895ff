import { statSync } from 'node:fs';
import { asStoreError } from './errors.ts';

/** Throws where that cannot be found out: a folder that may not be entered does not mean that there is no file. */
export function fileExists(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw asStoreError(error);
  }
}
