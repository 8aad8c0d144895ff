import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import { type OpenApiDocument, openApiDocument } from '@leadtap/contract/openapi';
import { codeBlock, type Html, html } from './html.ts';
import { intakeSection } from './intake-section.ts';
import { pollingSection } from './polling-section.ts';
import {
  type DiagnosisEntry,
  diagnosisSection,
  headersSection,
  leadSection,
  parametersSection,
  problemsSection,
  rateLimitsSection,
} from './reference.ts';

/** The server replaces it with the base URL of the request. */
const BASE_URL = '%BASE_URL%';

const SECTIONS = [
  ['start', 'First request'],
  ['polling', 'Poll without losing a lead'],
  ['parameters', 'Parameters'],
  ['lead', 'The lead'],
  ['intake', 'Send leads'],
  ['headers', 'Response headers'],
  ['rate-limits', 'Rate limits'],
  ['problems', 'Problems'],
  ['diagnosis', 'Diagnosis'],
] as const;

function startSection(endpoint: string): Html {
  return html`<section aria-labelledby="start">
<h2 id="start">First request</h2>
<p>Put the token that the operator gave you into <code>LEADTAP_TOKEN</code> and request the newest leads:</p>
${codeBlock(`curl -i -H "Authorization: Bearer $LEADTAP_TOKEN" \\\n  '${endpoint}?limit=3'`)}
<p>The response is a JSON array of <a href="#lead">leads</a>. From then on, <a href="#polling">poll with <code>since</code></a>.</p>
</section>`;
}

/** The tabs of the console. The server removes them where the console is switched off. */
const CONSOLE_LINKS = html`<!--console--><a href="./#overview">Overview</a>
<a href="./#leads">Leads</a>
<a href="./#explore">Explore</a>
<a href="./#connect">Connect</a>
<!--/console-->`;

function banner(document: OpenApiDocument): Html {
  return html`<header>
<div class="bar">
<p class="brand">${DROP} Leadtap</p>
<nav class="tabs" aria-label="Console">
${CONSOLE_LINKS}<a href="docs" aria-current="page">Docs</a>
</nav>
<span class="version">${document.info.version}</span>
<button type="button" id="theme" hidden><span aria-hidden="true"></span></button>
</div>
<div class="banner">
<h1>New leads on tap</h1>
<p class="lede">One endpoint returns the new leads that you may see, to any automation platform that polls. Poll as often as the limits allow: no lead is ever skipped.</p>
<dl>
<div><dt>Base address</dt><dd><code>${BASE_URL}</code></dd></div>
<div><dt>Endpoint</dt><dd><code>GET ${NEW_LEADS_PATH}</code></dd></div>
<div><dt>Description</dt><dd><a href="openapi.json">openapi.json</a> (OpenAPI 3.1)</dd></div>
</dl>
</div>
</header>`;
}

const DROP = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z"/></svg>`;

const navigation = html`<nav class="contents" aria-label="On this page"><ul>
${SECTIONS.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>\n`)}</ul></nav>`;

/** `/docs`. The server adds style and script, so that it is one document without references to other files. */
export function docsPage(version: string, rules: readonly DiagnosisEntry[]): string {
  const document = openApiDocument(version, BASE_URL);
  const endpoint = `${BASE_URL}${NEW_LEADS_PATH}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${document.info.description}">
<title>Leadtap: the API</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%230b7285' d='M12 1s8 8.2 8 14a8 8 0 0 1-16 0C4 9.2 12 1 12 1z'/%3E%3C/svg%3E">
<style></style>
<script></script>
</head>
<body>
<a class="skip" href="#start">Skip to the content</a>
${banner(document)}
<div class="columns">
${navigation}
<main>
${startSection(endpoint)}
${pollingSection(endpoint)}
${parametersSection(document)}
${leadSection(document)}
${intakeSection(document, `${BASE_URL}${LEADS_PATH}`)}
${headersSection(document)}
${rateLimitsSection()}
${problemsSection()}
${diagnosisSection(rules)}
</main>
</div>
</body>
</html>
`.markup;
}
