import { PieceAuth, Property } from '@activepieces/pieces-framework';
import { readPage } from './read-page.ts';

/** The connection: an address and a token, tried out before it is saved. */
export const leadtapAuth = PieceAuth.CustomAuth({
  required: true,
  description: 'Ask the operator of Leadtap for both. Your user needs the Professional plan.',
  props: {
    baseUrl: Property.ShortText({
      displayName: 'Base address',
      description: 'Such as https://leads.example.com or https://example.com/api',
      required: true,
    }),
    token: PieceAuth.SecretText({ displayName: 'Access token', required: true }),
  },
  validate: async ({ auth }) => {
    try {
      await readPage(auth, { limit: '1' });
      return { valid: true };
    } catch (error) {
      return { valid: false, error: error instanceof Error ? error.message : String(error) };
    }
  },
});
