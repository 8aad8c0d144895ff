import { findOnPath, type Program } from './find-program.ts';

/** Checks rules of Prometheus. */
export const PROMTOOL: Program = {
  name: 'promtool',
  debian: 'prometheus',
  homebrew: 'prometheus',
  find: () => findOnPath('promtool'),
};
