// Sends the webhooks of another system to Leadtap: docs/getting-leads-in.md, "A webhook from another system".
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { sendLeads } from '@leadtap/client';

const { LEADTAP_URL: baseUrl, WRITE_TOKEN: token, WEBHOOK_SECRET: secret, PORT = '8080' } = process.env;

const toLead = ({ event, contact }) => ({
  id: `shop-${event.id}`,
  fullName: contact.name,
  email: contact.email,
  phone1: contact.phone,
});

function readLead(body) {
  try {
    return toLead(JSON.parse(body));
  } catch (error) {
    console.error(`not the webhook that toLead expects: ${error.message}`);
    return undefined;
  }
}

createServer(async (request, response) => {
  try {
    const body = await buffer(request);
    const signature = createHmac('sha256', secret).update(body).digest();
    const given = String(request.headers['x-signature']).replace('sha256=', '');
    const decoded = Buffer.from(given, given.length === 64 ? 'hex' : 'base64');
    if (decoded.length !== signature.length || !timingSafeEqual(decoded, signature))
      return response.writeHead(401).end();
    const lead = readLead(body);
    if (!lead) return response.writeHead(422).end('This is not the webhook that toLead expects.');
    await sendLeads(await lead, { baseUrl, token, signal: AbortSignal.timeout(20_000) });
    response.end();
  } catch (error) {
    console.error(error.message);
    response.writeHead(error.status === 422 ? 422 : 503).end();
  }
}).listen(PORT);
