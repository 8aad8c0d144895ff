import { MAX_INTAKE_BYTES, MAX_INTAKE_LEADS, type OpenApiDocument, RATE_LIMITS } from '@leadtap/contract';
import { codeBlock, type Html, html, prose } from './html.ts';
import { schemaTable } from './reference.ts';

const EXAMPLE = '{"id":"web-4711","firstName":"Ada","email":"ada@example.com"}';

/** `POST {base_url}/leads`. The page is the same for all installations, so it says that not all of them accept leads. */
export function intakeSection(document: OpenApiDocument, address: string): Html {
  const { NewLead = {} } = document.components.schemas;
  return html`<section aria-labelledby="intake">
<h2 id="intake">Send leads</h2>
<p>${prose('An installation can also accept leads, at `POST /leads`. Its operator must have switched this on; otherwise the response is 404. The token needs the scope `leads:write`.')}</p>
${codeBlock(`curl -i -H "Authorization: Bearer $WRITE_TOKEN" -H 'Content-Type: application/json' \\\n  -d '${EXAMPLE}' \\\n  '${address}'`)}
<p>${prose(`Send one lead, or an array of up to ${MAX_INTAKE_LEADS.toLocaleString('en')}, in at most ${MAX_INTAKE_BYTES / 1024 / 1024} MiB; or one lead as an HTML form, with custom fields as \`customFields.name\`. Either all leads of a request are stored, or none. The response is 201, or 200 if all leads were updates, and has the \`id\`, the \`createdAt\` and the \`result\` of each lead. It is sent after the leads are durable.`)}</p>
<p>${prose(`If you get no response, or 408, 429, 500 or 503, send the same request again. So that it adds nothing twice, give each lead an \`id\`, or send an \`Idempotency-Key\` that is new for each request. Each user may send ${RATE_LIMITS.intake.quota} requests a minute; polls are not counted.`)}</p>
${schemaTable('Fields of a lead that you send', NewLead)}
</section>`;
}
