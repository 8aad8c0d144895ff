import type { Lead } from '@leadtap/client';
import { type LeadFieldName, NEW_LEADS_PATH } from '@leadtap/contract';
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { WhoHasIt } from '../connections/who-has-it.tsx';
import { fieldLabels } from '../contract-texts.json';
import { feedState } from '../feed.ts';
import { explain } from '../problem.tsx';
import { close } from '../router.ts';
import { baseUrl } from '../service.ts';
import { session } from '../session.ts';
import { Address, CopyButton, formatCount, LongText, nameOf, toJson, visible } from '../text.tsx';
import { formatExact, formatShort, Time } from '../time.tsx';
import { findLinked, linked, openedLead } from './selection.ts';
import { Status } from './status.tsx';

type Group = readonly [title: string, fields: readonly LeadFieldName[]];

const GROUPS: readonly Group[] = [
  ['Contact', ['phone1', 'phone2', 'email']],
  ['Address', ['address', 'postalCode', 'addressNotes']],
  ['Appointment', ['appointmentDateTime', 'timeslot', 'sameDay']],
  ['Belongs to', ['companyName', 'branchName', 'departmentName']],
];

/** They are in the heading. The JSON has all fields. */
const IN_HEADING: readonly LeadFieldName[] = ['fullName', 'firstName', 'lastName', 'status', 'statusValue'];

const FEED: Group = [
  'Feed',
  ['id', 'createdAt', 'updatedAt', 'automation_trigger_id', 'automation_created_at'],
];

const GROUPED = new Set<string>([...IN_HEADING, ...[...GROUPS, FEED].flatMap(([, fields]) => fields)]);

/** Every field of a lead is shown: those without a group of their own as well. */
const MORE: Group = [
  'More',
  (Object.keys(fieldLabels) as LeadFieldName[]).filter((name) => !GROUPED.has(name)),
];

const HEADING = 'lead-heading';

/** Moves the focus into the detail, after it was rendered. */
export const focusDetail = (): void => {
  requestAnimationFrame(() => document.getElementById(HEADING)?.focus());
};

export function LeadDetail(): JSX.Element {
  const lead = openedLead.value;
  return (
    <article class="detail" aria-labelledby={HEADING}>
      <button type="button" class="back" onClick={close}>
        <span aria-hidden="true">← </span>All leads
      </button>
      {lead ? <Fields lead={lead} /> : <NoLead />}
    </article>
  );
}

/** For the lead of an address that is not among the newest ones. */
const NoLead = () => (
  <div class="empty" id={HEADING} tabIndex={-1}>
    {renderSearch()}
  </div>
);

function renderSearch(): JSX.Element | null {
  const { state = 'asked', error } = linked.value ?? {};
  if (error)
    return (
      <p role="alert">
        {explain(error).title}.{' '}
        <button type="button" onClick={findLinked}>
          Try again
        </button>
      </p>
    );
  if (feedState.value.kind === 'stopped') return null;
  if (state === 'asked') return <p class="soft">Looking for this lead…</p>;
  return (
    <>
      <p>This token sees no lead with this address.</p>
      <p class="soft">
        It may have been deleted, or belong to a branch, department or company that the token does not see.
      </p>
    </>
  );
}

/** Whether fields without a value are shown, too. */
const showsEmpty = signal(false);

function isEmptyField(lead: Lead, name: LeadFieldName): boolean {
  const value = lead[name];
  if (value === false) return lead.appointmentDateTime === null;
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

function Fields({ lead }: { readonly lead: Lead }): JSX.Element {
  const groups = [...GROUPS, MORE, FEED].map(([title, names]) => {
    const filled = names.filter((name) => !isEmptyField(lead, name));
    return { title, names, filled };
  });
  const emptyCount = groups.reduce((count, { names, filled }) => count + names.length - filled.length, 0);
  return (
    <>
      <header>
        <h1 id={HEADING} tabIndex={-1}>
          <LongText>{nameOf(lead.fullName)}</LongText>
        </h1>
        <Status status={lead.status} />
        <CopyMenu lead={lead} key={lead.automation_trigger_id} />
      </header>
      <WhoHasIt lead={lead} key={`who ${lead.automation_trigger_id}`} />
      <div class="groups">
        {groups.map(({ title, names, filled }) => {
          const shown = showsEmpty.value ? names : filled;
          if (shown.length === 0) return null;
          return (
            <section key={title} aria-label={title}>
              <h2>{title}</h2>
              <dl>
                {shown.map((name) => (
                  <div key={name}>
                    <dt title={name}>{fieldLabels[name]}</dt>
                    <dd>{renderField(lead, name)}</dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
      {emptyCount > 0 && (
        <p class="empty-fields">
          <button
            type="button"
            aria-expanded={showsEmpty.value}
            onClick={() => {
              showsEmpty.value = !showsEmpty.value;
            }}
          >
            {showsEmpty.value ? 'Hide' : 'Show'} {formatCount(emptyCount, 'empty field')}
          </button>
        </p>
      )}
      <details class="json">
        <summary>JSON, as automations get it</summary>
        <pre>{toJson(lead)}</pre>
      </details>
    </>
  );
}

const NONE = <span class="soft">none</span>;

function renderField(lead: Lead, name: LeadFieldName): ComponentChildren {
  if (name === 'status') return <Status status={lead.status} />;
  if (name === 'customFields') return <CustomFields fields={lead.customFields} />;
  if (name === 'images') return <Images urls={lead.images} />;
  if (name === 'sameDay') return lead.sameDay ? 'yes' : 'no';
  const value = lead[name];
  if (value === null || value === '') return NONE;
  switch (name) {
    case 'phone1':
    case 'phone2':
      return (
        <a href={`tel:${value.replace(/[^\d+]/g, '')}`}>
          <bdi>{visible(value)}</bdi>
        </a>
      );
    case 'email':
      return (
        <a href={`mailto:${encodeURIComponent(value).replaceAll('%40', '@')}`}>
          <Address>{value}</Address>
        </a>
      );
    case 'appointmentDateTime':
    case 'createdAt':
    case 'updatedAt':
    case 'automation_created_at':
      return <Instant text={value} isDate={name === 'appointmentDateTime'} />;
    case 'id':
    case 'statusValue':
    case 'automation_trigger_id':
      return <code>{visible(value)}</code>;
    default:
      return <LongText>{value}</LongText>;
  }
}

/** In words. The exact time, in the zone of the visitor and as it is in the JSON, on demand. */
function Instant({ text, isDate }: { readonly text: string; readonly isDate: boolean }): JSX.Element {
  const time = Date.parse(text);
  return (
    <details class="instant">
      <summary>
        {isDate && `${formatShort(time)}, `}
        <Time at={time} />
      </summary>
      {formatExact(time)}
      <br />
      <code>{text}</code>
    </details>
  );
}

function CustomFields({ fields }: { readonly fields: Lead['customFields'] }) {
  const entries = Object.entries(fields);
  if (entries.length === 0) return NONE;
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li key={name}>
          <span class="soft">
            <bdi>{visible(name)}</bdi>:
          </span>{' '}
          <LongText>{typeof value === 'string' ? value : JSON.stringify(value)}</LongText>
        </li>
      ))}
    </ul>
  );
}

/** Links only: the page loads nothing of other servers. */
function Images({ urls }: { readonly urls: readonly string[] }) {
  if (urls.length === 0) return NONE;
  return (
    <ul>
      {urls.map((url) => (
        <li key={url}>
          {/^https?:\/\//i.test(url) ? (
            <a href={url} target="_blank" rel="noopener noreferrer">
              {visible(url)}
            </a>
          ) : (
            visible(url)
          )}
        </li>
      ))}
      <li class="soft">Opened only when you click.</li>
    </ul>
  );
}

/** One button for what can be copied of the lead. It closes with Esc, and when the focus leaves it. */
function CopyMenu({ lead }: { readonly lead: Lead }): JSX.Element {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => menu.current?.removeAttribute('open');
  const curl = (token: string) => {
    // `createdAt` is unique, so this returns the lead itself.
    const since = new Date(Date.parse(lead.createdAt) - 1).toISOString();
    return `curl -H "Authorization: Bearer ${token}" '${baseUrl}${NEW_LEADS_PATH}?since=${since}&limit=1'`;
  };
  return (
    <details
      class="copy-menu"
      ref={menu}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node && menu.current?.contains(relatedTarget))) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !menu.current?.open) return;
        event.stopPropagation();
        close();
        menu.current.querySelector('summary')?.focus();
      }}
    >
      <summary>Copy</summary>
      <div class="menu">
        <CopyButton text={() => toJson(lead)}>JSON</CopyButton>
        <CopyButton text={() => location.href}>Link to this lead</CopyButton>
        <CopyButton text={() => curl('$TOKEN')}>curl</CopyButton>
        <CopyButton text={() => curl(session.value?.token ?? '')}>curl with the token</CopyButton>
      </div>
    </details>
  );
}
