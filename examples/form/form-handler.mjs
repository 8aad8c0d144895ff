// Sends a filled-in form.html to Leadtap: docs/getting-leads-in.md, "A web form".
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { sendLeads } from '@leadtap/client';

const { LEADTAP_URL: baseUrl, WRITE_TOKEN: token, PORT = '8080' } = process.env;
const form = readFileSync('form.html', 'utf8');
const page = (title, sentence) => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width" />
  <title>${title}</title>
  <p>${sentence}</p>
</html>
`;

createServer(async (request, response) => {
  response.setHeader('Content-Type', 'text/html; charset=utf-8').setHeader('Cache-Control', 'no-store');
  if (request.method !== 'POST') return response.end(form.replace('FORM_KEY', randomUUID()));
  if (!(request.headers['content-length'] < 50_000))
    return response.writeHead(413).end(page('Not sent', 'The text is too long.'));
  try {
    const filled = [...new URLSearchParams(await text(request))].filter(([, value]) => value.trim() !== '');
    const { key = randomUUID(), message, firstName, lastName, email, phone1 } = Object.fromEntries(filled);
    if (!(firstName ?? lastName) || !(email ?? phone1))
      return response
        .writeHead(422)
        .end(page('Not sent', 'Please go back, and give your name and an e-mail address or a phone number.'));
    const lead = { firstName, lastName, email, phone1, customFields: { source: 'web form', message } };
    await sendLeads(lead, {
      baseUrl,
      token,
      idempotencyKey: `form-${key}`,
      signal: AbortSignal.timeout(20_000),
    });
    response.end(page('Thank you', 'Thank you. We will call you.'));
  } catch (error) {
    console.error(error.message);
    response.writeHead(error.status === 422 ? 422 : 503);
    response.end(
      page('Not sent', 'Your message could not be sent. Please go back, check it, and send it again.'),
    );
  }
}).listen(PORT, '127.0.0.1');
