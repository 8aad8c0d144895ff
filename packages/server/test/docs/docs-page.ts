import Fastify from 'fastify';
import { docsRoutes } from '../../src/http/docs.ts';

let publicUrl = '';
const app = Fastify().register(docsRoutes, { version: '1.2.3', publicUrl: () => publicUrl });

/** The documentation page as a client with this base URL gets it. */
export async function getDocsPage(baseUrl = 'https://leads.acme.test/api'): Promise<string> {
  publicUrl = baseUrl;
  return (await app.inject('/docs')).body;
}
