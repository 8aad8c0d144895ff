// The endpoint in a Fastify application: docs/embedding.md.
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { createIntakeHandler, createPollHandler, type RequestHandler } from 'leadtap';
import { addLead, options } from './leads.js';

const app = Fastify();
app.setErrorHandler((_error, _request, reply) => reply.code(500).send({ crm: 'something broke' }));
app.setNotFoundHandler((_request, reply) => reply.code(404).send({ crm: 'no such page' }));
app.get('/broken', async () => {
  throw new Error('on purpose');
});
app.post<{ Params: { id: string; branch: string } }>('/leads/:id/:branch', async ({ params }) => {
  await addLead(params.id, params.branch);
  return { added: params.id };
});

/** The handler writes the response itself. */
const mount = (handle: RequestHandler) => (request: FastifyRequest, reply: FastifyReply) => {
  reply.hijack();
  handle(request.raw, reply.raw);
};

app.register(async (routes) => {
  // The handlers read the body themselves.
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', (_request, _body, done) => done(null));
  routes.all('/api/automation/new-leads', mount(createPollHandler(options)));
  routes.all('/api/leads', mount(createIntakeHandler(options)));
});

console.log(await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }));
