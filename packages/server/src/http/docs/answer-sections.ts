import {
  NEW_LEADS_PATH,
  type OpenApiDocument,
  PROBLEM_CODES,
  PROBLEMS,
  type ProblemCode,
  RATE_LIMITS,
} from '@leadtap/contract';
import { type Html, html, prose } from './html.ts';
import { named, table } from './table.ts';

function statusesWith(header: string, document: OpenApiDocument): string {
  const all = Object.entries(document.paths[NEW_LEADS_PATH].get.responses);
  const some = all.filter(([, response]) => header in response.headers).map(([status]) => status);
  return some.length === all.length ? 'on every answer' : `on ${some.join(', ')}`;
}

export function headersSection(document: OpenApiDocument): Html {
  const rows = Object.entries(document.components.headers).map(([name, { description, example }]) => [
    named(name, statusesWith(name, document)),
    prose(description),
    html`<code>${String(example)}</code>`,
  ]);
  return html`<section aria-labelledby="headers">
<h2 id="headers">Response headers</h2>
<p>Every answer to a valid token carries the rate-limit headers, except 405, where no token is looked at. Case does not matter in the names.</p>
${table({ kind: 'fields', caption: 'Headers of the answers', columns: ['Header', 'Meaning', 'Example'], rows })}
</section>`;
}

export function rateLimitsSection(): Html {
  return html`<section aria-labelledby="rate-limits">
<h2 id="rate-limits">Rate limits</h2>
<p>Each user may make <strong>${RATE_LIMITS.minute.quota} requests a minute</strong> and <strong>${RATE_LIMITS.hour.quota} an hour</strong>, whatever number of tokens the user has. ${prose('Every request with a valid token counts, `HEAD` and 304 included; a request that was refused with 429 does not.')}</p>
<p>${prose('Over a limit the answer is 429 with a whole number of seconds in `Retry-After`. Wait that long, then send the same request: it passes both limits, and no lead is lost. `RateLimit` tells on every answer what is left.')}</p>
</section>`;
}

function problem(code: ProblemCode): Html {
  const { status, title, meaning, integrator } = PROBLEMS[code];
  return html`<article class="problem" aria-labelledby="${code}">
<h3 id="${code}"><a href="#${code}">${code}</a> <span class="status s${Math.floor(status / 100)}">${status}</span></h3>
<p class="title">${title}</p>
<p>${prose(meaning)}</p>
<p><strong>What to do:</strong> ${prose(integrator)}</p>
</article>
`;
}

export function problemsSection(): Html {
  return html`<section aria-labelledby="problems">
<h2 id="problems">Problems</h2>
<p>${prose('Every answer with a status of 400 or above is a problem as RFC 9457 writes it, `application/problem+json`. Program against its `code`; show people its `detail`; quote its `requestId` when you ask for help. The checks come in this order: token (401), rate limit (429), user (404), plan (403), query (400).')}</p>
${PROBLEM_CODES.map(problem)}</section>`;
}
