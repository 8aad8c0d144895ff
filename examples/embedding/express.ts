// The endpoint in an Express application: docs/embedding.md.
import express from 'express';
import { createIntakeHandler, createPollHandler } from 'leadtap';
import { observer, store, verifyToken } from './intake.js';
import { addLead } from './leads.js';

const app = express();
app.post('/leads/:id/:branch', ({ params: { id, branch } }, response) => {
  addLead(id, `Lead ${id}`, branch);
  response.json({ added: id });
});

const options = { basePath: '/api', store, verifyToken, observer };
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
