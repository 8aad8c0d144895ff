// The endpoint in a node:http server: docs/embedding.md.
import { createServer } from 'node:http';
import { createIntakeHandler, createPollHandler } from 'leadtap';
import { addLead, options } from './leads.js';

const handlePoll = createPollHandler(options);
const handleIntake = createIntakeHandler(options);

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/api/automation/new-leads') return handlePoll(request, response);
  if (pathname === '/api/leads') return handleIntake(request, response);

  const [, leads, id, branch] = pathname.split('/');
  if (request.method === 'POST' && leads === 'leads' && id && branch) {
    await addLead(id, branch);
    return response.end(JSON.stringify({ added: id }));
  }
  return response.writeHead(404).end(JSON.stringify({ crm: 'no such page' }));
});

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
