/** The operator's page `/status`: the report as HTML, without inline styles or scripts. */

import type { ProblemCode } from '@leadtap/contract';
import { hasEnded } from '../hooks/store.ts';
import { CLIENT_CLOSED_REQUEST } from '../http/exchange.ts';
import { escapeHtml } from '../lib/escape.ts';
import { formatBytes, formatCount, formatDuration, formatTime } from '../lib/formats.ts';
import { type Html, html, NO_HTML } from './html.ts';
import {
  type ConsumerStatus,
  type ConsumersStatus,
  NO_SENDERS,
  type Refusal,
  type SenderStatus,
  type StatusReport,
} from './report.ts';
import { LOW_FREE_BYTES } from './rules.ts';
import { describeSender, listFields } from './sender-problems.ts';
import { countUpTo, fixOf, hostOf, nameOf, secondsSince } from './sentences.ts';

const DROP = html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2s7 7.6 7 12.6A7 7 0 0 1 5 14.6C5 9.6 12 2 12 2z"/></svg>`;
/** The same drop as the icon of the tab. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%230b7285' d='M12 1s8 8.2 8 14a8 8 0 0 1-16 0C4 9.2 12 1 12 1z'/%3E%3C/svg%3E";

/** status.js loads the page again and copies the differences; rows with the same `data-key` are kept. */
export function renderStatusPage(report: StatusReport, invocation: string): string {
  const problems = report.problems.filter(({ severity }) => severity !== 'unknown').length;
  const title = problems === 0 ? 'Leadtap status' : `(${problems}) Leadtap status`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="base.css">
<link rel="stylesheet" href="status.css">
<script src="status.js" defer></script>
</head>
<body>
<a class="skip" href="#consumers">Skip to the consumers</a>
<header><div>
<h1 class="brand">${DROP} Leadtap status <span class="version">${report.version}</span></h1>
<p class="refreshed"><noscript>Snapshot of </noscript>${exactTime(report.generatedAt, report)}<noscript> · <a href="">Reload</a></noscript></p>
</div></header>
<main>
${summarySection(report)}
${sendersSection(report)}
${consumersSection(report)}
${errorsSection(report)}
${refusalsSection(report)}
${systemSection(report)}
</main>
<footer><p class="links">The same as JSON: <a href="status.json">status.json</a>. For Prometheus: <a href="metrics">metrics</a>.</p></footer>
</body>
</html>
`.markup.replaceAll('<code>leadtap ', () => `<code>${escapeHtml(invocation)} `);
}

const timeText = (iso: string, { generatedAt }: StatusReport): string =>
  formatTime(Date.parse(iso), Date.parse(generatedAt));

/** status.js adds the local time. */
const exactTime = (iso: string, report: StatusReport, title?: string): Html =>
  html`<time class="exact" datetime="${iso}"${title === undefined ? NO_HTML : html` title="${title}"`}>${timeText(iso, report)}</time>`;

/** The time that has passed, with the exact time for the mouse and for screen readers. */
function ago(iso: string, report: StatusReport): Html {
  const exact = timeText(iso, report);
  return html`<time datetime="${iso}" title="${exact}">${formatDuration(secondsSince(report, iso))} ago<span class="hidden">, ${exact}</span></time>`;
}

function summarySection({ problems, good, note }: StatusReport): Html {
  const text = good ?? note;
  const kind = good === null ? 'unknown' : 'good';
  const sentence =
    text === null ? NO_HTML : html`<div class="finding ${kind}" data-key="${kind}"><p>${text}</p></div>`;
  const findings = problems.map(
    ({ kind, severity, message, fix, docs }) =>
      html`<div class="finding ${severity}" data-key="${kind}"><p>${message}</p><p class="fix">${withCode(fix)} <a class="docs" href="${docs.slice(1)}">About ${docs.replace(/^\/docs#(problem-)?/, '')}</a></p></div>`,
  );
  return html`<section class="summary" role="status" aria-label="Summary">${sentence}${findings}</section>`;
}

/** `` `…` `` is a command. */
const withCode = (text: string): Html[] =>
  text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));

const MAX_TITLE_LENGTH = 1000;
const MAX_SHOWN_LENGTH = 120;

function cut(text: string): string {
  const characters = [...text.slice(0, 2 * MAX_SHOWN_LENGTH)];
  return characters.length > MAX_SHOWN_LENGTH ? `${characters.slice(0, MAX_SHOWN_LENGTH).join('')}…` : text;
}

/** Names in any script, also from right to left, cannot change the order of the words around them. */
const nameText = (text: string): Html =>
  html`<bdi title="${text.slice(0, MAX_TITLE_LENGTH)}">${cut(text)}</bdi>`;

/** In one piece: a person compares and copies it. One that is too long for its place is cut, and shown by the mouse. */
const idText = (id: string): Html =>
  html`<bdi class="id" title="${id.slice(0, MAX_TITLE_LENGTH)}">${cut(id)}</bdi>`;

const badge = (text: string | number, isBad = false): Html =>
  html` <strong class="badge${isBad ? ' stale' : ''}">${text}</strong>`;

const NOTHING = html`–`;

/** Of a table: its class, and its rows with a key for status.js. */
interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly { readonly key: string; readonly kind?: string; readonly cells: readonly Html[] }[];
}

/** Narrow screens show rows as blocks. Some browsers then drop the table semantics, so the roles repeat them. */
function renderTable({ name, columns, rows }: Table): Html {
  const head = columns.map(
    (column) => html`<th role="columnheader" scope="col" data-key="${column}">${column}</th>`,
  );
  const body = rows.map(({ key, kind = '', cells: [first = NO_HTML, ...cells] }) => {
    const others = cells.map((cell, index) => {
      const nothing = cell === NOTHING ? html` class="nothing"` : NO_HTML;
      return html`<td role="cell" data-label="${columns[index + 1] ?? ''}"${nothing}>${cell}</td>`;
    });
    return html`<tr role="row" data-key="${key}" class="${kind}"><th role="rowheader" scope="row">${first}</th>${others}</tr>`;
  });
  return html`<table role="table" class="${name}">
<thead role="rowgroup"><tr role="row">${head}</tr></thead>
<tbody role="rowgroup">${body}</tbody>
</table>`;
}

/** The first rows, and the others behind a summary. */
function renderLongTable(table: Table, shown: number, what: string): Html {
  const { rows } = table;
  const first = renderTable({ ...table, rows: rows.slice(0, shown) });
  if (rows.length <= shown) return first;
  return html`${first}<details data-key="more"><summary>${formatCount(rows.length - shown)} ${what}</summary>${renderTable({ ...table, rows: rows.slice(shown) })}</details>`;
}

function consumersSection(report: StatusReport): Html {
  const { consumers } = report;
  const body = consumers === null ? html`<p>They could not be read.</p>` : consumersBody(consumers, report);
  const count = consumers?.recorded ? html` <span class="count">${countsOf(consumers)}</span>` : NO_HTML;
  return html`<section aria-labelledby="consumers"><h2 id="consumers">Consumers${count}</h2>${body}</section>`;
}

/** `12 active, 1 stale, 2 subscribed, 3 inactive`, without those that are 0. */
function countsOf({ active, stale, subscribed, inactive }: ConsumersStatus): Html {
  const bad = stale === 0 ? NO_HTML : html`, <strong class="bad">${formatCount(stale)} stale</strong>`;
  const others = Object.entries({ subscribed, inactive }).filter(([, count]) => count > 0);
  return html`${formatCount(active)} active${bad}${others.map(([state, count]) => html`, ${formatCount(count)} ${state}`)}`;
}

const SHOWN_SENDERS = 6;

function sendersSection(report: StatusReport): Html {
  const { total, problems, listed } = report.senders ?? NO_SENDERS;
  if (report.senders && total === 0) return NO_HTML;
  const rows = listed.map((sender) => ({
    key: sender.id,
    kind: sender.problems.length > 0 ? 'stale' : '',
    cells: senderCells(sender, report),
  }));
  const columns = ['Sender', 'User, company', 'Last lead', 'Leads, refused', 'State'];
  const shown = Math.max(SHOWN_SENDERS, listed.filter((sender) => sender.problems.length > 0).length);
  const table = renderLongTable({ name: 'senders', columns, rows }, shown, 'more');
  const refused = problems['leads-refused'];
  const bad = refused === 0 ? NO_HTML : html`, <strong class="bad">${formatCount(refused)} refused</strong>`;
  const count = html` <span class="count">${formatCount(total)}${bad}</span>`;
  return html`<section data-key="senders" aria-labelledby="senders"><h2 id="senders">Senders${report.senders ? count : NO_HTML}</h2>
${report.senders ? html`<p class="note">Leads and refused requests are those of the last 30 days.</p>${table}` : html`<p>They could not be read.</p>`}</section>`;
}

function senderCells(sender: SenderStatus, report: StatusReport): Html[] {
  const { name, tokenId, userId, companyId, source, lastAcceptedAt, accepted30d, refused30d } = sender;
  const token =
    name || tokenId === null ? nameText(nameOf({ name, tokenId })) : html`token ${idText(tokenId)}`;
  return [
    html`${token}${source === null ? NO_HTML : html` <span class="company">${source}</span>`}`,
    html`${idText(userId)} <span class="company">${nameText(companyId)}</span>`,
    lastAcceptedAt === null ? html`never` : ago(lastAcceptedAt, report),
    html`${formatCount(accepted30d)}${refused30d === 0 ? NO_HTML : badge(`${formatCount(refused30d)} refused`, sender.refused !== null)}`,
    html`${describeSender(sender, report)?.row ?? (sender.isRevoked ? 'its token was revoked' : '')}${questionsOf(sender)}`,
  ];
}

/** The page is private: alerts and users do not have them. */
const questionsOf = ({ refused }: SenderStatus): string =>
  refused === null || refused.questions.length === 0 ? '' : `: ${listFields(refused.questions)}`;

const WEBHOOK = 'Webhook';
const CONSUMER_COLUMNS = ['Consumer', 'User, company', 'Last poll', 'Usual interval', 'Position', 'Waiting'];
/** Those that need no attention: so many are shown at once. */
const SHOWN_CONSUMERS = 12;

function consumersBody(consumers: ConsumersStatus, report: StatusReport): Html {
  const { recorded, listed, active, stale, inactive, subscribed } = consumers;
  if (!recorded)
    return html`<p>Consumers are not recorded, because <code>LEADTAP_CONSUMERS=off</code>. Set it to <code>on</code> and start Leadtap again to see who polls.</p>`;
  if (listed.length === 0)
    return html`<p>No consumer has polled yet. Each token appears here a few seconds after its first poll.</p>`;
  const more = active + stale + inactive + subscribed - listed.length;
  const rest =
    more > 0
      ? html`<p class="note">${formatCount(more)} more: <code>leadtap consumers</code> lists all of them.</p>`
      : NO_HTML;
  const hasHooks = listed.some(({ hook }) => hook !== null);
  const rows = listed.map((consumer) => ({
    // One token may send leads to several URLs of a host.
    key: `${consumer.tokenId ?? ''} ${consumer.userId} ${hostOf(consumer) === null ? '' : consumer.firstPollAt}`.trimEnd(),
    kind: consumer.state,
    cells: [...consumerCells(consumer, report), ...(hasHooks ? [hookOf(consumer, report)] : [])],
  }));
  const columns = hasHooks ? [...CONSUMER_COLUMNS, WEBHOOK] : CONSUMER_COLUMNS;
  // Those that need attention are first in the list.
  const shown = Math.max(SHOWN_CONSUMERS, listed.filter(({ problems }) => problems.length > 0).length);
  return html`${renderLongTable({ name: 'consumers', columns, rows }, shown, 'more')}${rest}`;
}

function consumerCells(consumer: ConsumerStatus, report: StatusReport): Html[] {
  const { name, tokenId, userId, companyId, state, lastPollAt, usualIntervalSeconds: interval } = consumer;
  const host = hostOf(consumer);
  const token =
    name || tokenId === null ? nameText(nameOf({ name, tokenId })) : html`token ${idText(tokenId)}`;
  const title = host === null || host === name ? token : html`${token} → ${nameText(host)}`;
  const shownState = state === 'active' ? NO_HTML : html` <strong class="badge ${state}">${state}</strong>`;
  return [
    html`${title}${shownState}${skippedOf(consumer)}${expiryOf(consumer, report)}`,
    html`${idText(userId)} <span class="company">${nameText(companyId)}</span>`,
    ...(host === null
      ? [
          lastPollAt === null ? html`never` : html`${ago(lastPollAt, report)}${refusalOf(consumer)}`,
          html`${interval === null ? 'not known yet' : formatDuration(interval)}`,
        ]
      : [NOTHING, NOTHING]),
    positionOf(consumer, report),
    pendingOf(consumer, report),
  ];
}

const skippedOf = ({ skippedLeads }: ConsumerStatus): Html =>
  skippedLeads === 0 ? NO_HTML : badge(`${countUpTo(skippedLeads)} skipped`, true);

function expiryOf(consumer: ConsumerStatus, report: StatusReport): Html {
  const { tokenExpiresAt, tokenEnded, state, problems } = consumer;
  if (tokenEnded !== null) return badge(`token ${tokenEnded.replace('-', ' ')}`);
  if (tokenExpiresAt === null || state === 'inactive') return NO_HTML;
  const left = -secondsSince(report, tokenExpiresAt);
  if (left <= 0) return badge('token expired');
  return problems.includes('tokens-expiring') ? badge(`token expires in ${formatDuration(left)}`) : NO_HTML;
}

/** The status of a refused poll. A client that disconnected before the answer was not refused. */
const refusalOf = ({ lastStatus }: ConsumerStatus): Html =>
  lastStatus !== null && lastStatus >= 400 && lastStatus !== CLIENT_CLOSED_REQUEST
    ? badge(lastStatus)
    : NO_HTML;

/** The later of both positions, as in `leadtap consumers`: all later leads are pending. */
function positionOf({ deliveredThrough, confirmedThrough }: ConsumerStatus, report: StatusReport): Html {
  const textOf = (time: string | null) => (time === null ? 'nothing' : timeText(time, report));
  const title = `delivered: ${textOf(deliveredThrough)}, confirmed: ${textOf(confirmedThrough)}`;
  const position = [deliveredThrough ?? '', confirmedThrough ?? ''].sort().at(-1);
  return position ? exactTime(position, report, title) : html`<span title="${title}">none yet</span>`;
}

function pendingOf({ pendingLeads, pendingSince }: ConsumerStatus, report: StatusReport): Html {
  const oldest =
    pendingSince === null ? '' : `, oldest ${formatDuration(secondsSince(report, pendingSince))}`;
  return html`${countUpTo(pendingLeads)}${oldest}`;
}

/** Its webhook subscription: the last event, and the state if that is not active. */
function hookOf({ hook }: ConsumerStatus, report: StatusReport): Html {
  if (hook === null) return NOTHING;
  const { send, state, isAccepted, lastEventAt, lastStatus, failures, count } = hook;
  const sent = send === 'event' ? 'event' : 'leads';
  const tried = send === 'event' || isAccepted ? '' : ' tried';
  const event =
    lastEventAt === null ? html`no ${sent} yet` : html`${sent}${tried} ${ago(lastEventAt, report)}`;
  const several = count > 1 ? ` (${count} subscriptions)` : '';
  if (state === 'active' || hasEnded(state)) return html`${event}${several}`;
  const response = lastStatus === null ? 'no response' : `status ${lastStatus}`;
  const times = failures === 1 ? '' : `, ${formatCount(failures)} times`;
  return html`${event}, ${response}${times}${several}${badge(state, true)}`;
}

const problemLink = (code: ProblemCode): Html => html`<a href="docs#problem-${code}">${code}</a>`;

const SHOWN_ERRORS = 5;

function errorsSection(report: StatusReport): Html {
  if (report.errors.length === 0) return NO_HTML;
  const rows = report.errors.map(({ at, status, code, requestId, path }) => ({
    key: `${at} ${requestId}`,
    cells: [
      exactTime(at, report),
      html`${badge(status, true)} ${problemLink(code)}`,
      idText(requestId),
      html`${path}`,
    ],
  }));
  const columns = ['Time', 'Problem', 'Request id', 'Path'];
  return html`<section data-key="errors" aria-labelledby="errors"><h2 id="errors">Last errors</h2>
<p class="note">Search the log for the request id: its lines have the cause.</p>
${renderLongTable({ name: 'errors', columns, rows }, SHOWN_ERRORS, 'older')}</section>`;
}

function refusalsSection(report: StatusReport): Html {
  if (report.refusals.length === 0) return NO_HTML;
  const rows = report.refusals.map((refusal) => {
    const { code, status, count, lastAt } = refusal;
    return {
      key: code,
      cells: [
        html`${badge(status, status >= 500)} ${problemLink(code)}`,
        html`${formatCount(count)}`,
        ago(lastAt, report),
        refusedConsumers(refusal),
        html`<span class="fix">${withCode(fixOf(code, onlyUserOf(refusal)))}</span>`,
      ],
    };
  });
  const columns = ['Problem', 'Requests', 'Last', 'Consumers', 'What to do'];
  return html`<section data-key="refusals" aria-labelledby="refusals"><h2 id="refusals">Refusals</h2>
<p class="note">Requests to this instance that were answered with a problem.</p>
${renderTable({ name: 'refusals', columns, rows })}</section>`;
}

const countOthers = ({ count, consumers }: Refusal): number =>
  consumers.reduce((others, consumer) => others - consumer.count, count);

/** Of the only consumer, for a command that can be pasted. */
const onlyUserOf = (refusal: Refusal): string | undefined =>
  refusal.consumers.length === 1 && countOthers(refusal) === 0 ? refusal.consumers[0]?.userId : undefined;

function refusedConsumers(refusal: Refusal): Html {
  const entries = refusal.consumers.map(
    (consumer) =>
      html`<li>${nameText(nameOf(consumer))} (${nameText(consumer.userId)}): ${formatCount(consumer.count)}</li>`,
  );
  const others = countOthers(refusal);
  const rest =
    others === 0
      ? NO_HTML
      : html`<li>${entries.length === 0 ? 'not known' : 'others'}: ${formatCount(others)}</li>`;
  return html`<ul class="plain">${entries}${rest}</ul>`;
}

interface SystemFact {
  readonly name: string;
  readonly text: Html;
  readonly isBad?: boolean;
}

function systemSection(report: StatusReport): Html {
  const entries = [...systemFacts(report)].map(
    ({ name, text, isBad }) =>
      html`<div data-key="${name}"><dt>${name}</dt><dd${isBad ? html` class="bad"` : NO_HTML}>${text}</dd></div>`,
  );
  return html`<section aria-labelledby="system"><h2 id="system">System</h2><dl>${entries}</dl></section>`;
}

function* systemFacts(report: StatusReport): Generator<SystemFact> {
  const { database, leads, backup, redis, disk, hooks, hookHosts } = report;
  const state = database.reachable ? `${database.engine}, reachable` : 'unreachable';
  yield { name: 'Database', text: html`${state}`, isBad: !database.reachable };
  yield { name: 'Address', text: html`${database.address}` };
  if (database.bytes !== null) yield { name: 'Size', text: html`${formatBytes(database.bytes)}` };
  if (disk) {
    const text = html`${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}`;
    yield { name: 'Disk', text, isBad: disk.freeBytes < LOW_FREE_BYTES };
  }
  yield { name: 'Last backup', text: backupOf(backup, report) };
  if (database.reachable)
    yield { name: 'Last lead', text: leads.latestAt === null ? html`none` : ago(leads.latestAt, report) };
  if (redis?.reachable) yield { name: 'Redis', text: html`reachable, limits are shared` };
  else if (redis) yield { name: 'Redis', text: html`unreachable, limits per instance`, isBad: true };
  const states = (['active', 'failing', 'disabled'] as const).filter((one) => hooks && hooks[one] > 0);
  if (hooks && states.length > 0) {
    const counts = states.map((one) => `${formatCount(hooks[one])} ${one}`).join(', ');
    const text = hookHosts === null ? `${counts}, switched off (LEADTAP_HOOKS)` : counts;
    yield { name: 'Webhooks', text: html`${text}`, isBad: hooks.failing + hooks.disabled > 0 };
  }
  yield { name: 'Started', text: ago(report.startedAt, report) };
}

/** No alarm if there is none: operators have other means. */
function backupOf(backup: StatusReport['backup'], report: StatusReport): Html {
  if (backup === null) return html`not known here; PostgreSQL has its own`;
  if (backup.lastAt !== null) return ago(backup.lastAt, report);
  return html`none known; <code>leadtap backup FILE</code> makes one`;
}
