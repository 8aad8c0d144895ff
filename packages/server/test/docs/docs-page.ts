import { inject } from 'light-my-request';
import { docsEndpoints } from '../../src/http/docs.ts';
import { createRouter } from '../../src/http/endpoint.ts';

/** The documentation page as a client with this base URL gets it. */
export async function getDocsPage(baseUrl = 'https://leads.acme.test/api'): Promise<string> {
  const listener = createRouter(docsEndpoints({ version: '1.2.3' }), { publicUrl: baseUrl });
  return (await inject(listener, '/docs')).body;
}
