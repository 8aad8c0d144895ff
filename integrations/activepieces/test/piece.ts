import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The built piece, loaded in the way in which Activepieces loads it. */
export const { leadtap } = require('../piece/dist/index.js') as typeof import('../piece/dist/index.js');
export const { newLead } = require('../piece/dist/new-lead.js') as typeof import('../piece/dist/new-lead.js');
export const { newLeadInstant } =
  require('../piece/dist/new-lead-instant.js') as typeof import('../piece/dist/new-lead-instant.js');
export const { leadtapAuth } = require('../piece/dist/auth.js') as typeof import('../piece/dist/auth.js');
export const { FULL_PAGE } =
  require('../piece/dist/read-page.js') as typeof import('../piece/dist/read-page.js');

export type { Lead } from '../piece/dist/read-page.js';
export type { Connection } from '../piece/dist/request.js';
