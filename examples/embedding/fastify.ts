// The endpoint in a Fastify application: docs/embedding.md.
import Fastify from 'fastify';
import { leadsIntake, newLeads } from 'leadtap';
import { observer, store, verifyToken } from './intake.js';
import { addLead } from './leads.js';

const app = Fastify();
app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ crm: 'something broke' }));
app.setNotFoundHandler((_request, reply) => reply.code(404).send({ crm: 'no such page' }));
app.get('/broken', async () => {
  throw new Error('on purpose');
});
app.post<{ Params: { id: string; branch: string } }>('/leads/:id/:branch', async ({ params }) => {
  addLead(params.id, `Lead ${params.id}`, params.branch);
  return { added: params.id };
});

app.register(newLeads, { prefix: '/api', store, verifyToken, observer });
app.register(leadsIntake, { prefix: '/api', store, verifyToken, observer });

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }));
