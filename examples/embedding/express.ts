// The endpoint in an Express application: docs/embedding.md.
import express from 'express';
import { createIntakeHandler, createPollHandler } from 'leadtap';
import { addLead, options } from './leads.js';

const app = express();
app.post('/leads/:id/:branch', async ({ params: { id, branch } }, response) => {
  await addLead(id, branch);
  response.json({ added: id });
});

app.all('/api/automation/new-leads', createPollHandler(options));
// Before express.json() and other body parsers: the handler reads the body itself.
app.all('/api/leads', createIntakeHandler(options));
app.use(express.json());

app.use((_request, response) => {
  response.status(404).json({ crm: 'no such page' });
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
