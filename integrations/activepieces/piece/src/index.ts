import { createPiece } from '@activepieces/pieces-framework';
import { leadtapAuth } from './auth.ts';
import { newLead } from './new-lead.ts';
import { newLeadInstant } from './new-lead-instant.ts';

const LOGO = [
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">',
  '<rect width="32" height="32" rx="7" fill="#2563eb"/>',
  '<path d="M8 10h12a4 4 0 0 1 4 4v2h-4v-2H8z" fill="#fff"/>',
  '<circle cx="22" cy="22" r="3" fill="#fff"/>',
  '</svg>',
].join('');

export const leadtap = createPiece({
  displayName: 'Leadtap',
  description: 'New leads of your lead-management system',
  logoUrl: `data:image/svg+xml,${encodeURIComponent(LOGO)}`,
  authors: ['leadtap'],
  auth: leadtapAuth,
  minimumSupportedRelease: '0.82.0',
  actions: [],
  triggers: [newLeadInstant, newLead],
});
